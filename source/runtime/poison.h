// SPDX-License-Identifier: Apache-2.0
// Networks whose kernels are tried for reading memory that nobody wrote.
#ifndef PLUMB_RUNTIME_POISON_H_
#define PLUMB_RUNTIME_POISON_H_

namespace plumb {

// Networks that this thread makes while it lives fill, before each step, what the step is about to write and its
// workspace with NaN. What they compute is the same unless a kernel reads there first.
class PoisonedNetworks {
 public:
  PoisonedNetworks();
  ~PoisonedNetworks();
  PoisonedNetworks(const PoisonedNetworks&) = delete;
  PoisonedNetworks& operator=(const PoisonedNetworks&) = delete;
  static bool Wanted();
};

}  // namespace plumb

#endif  // PLUMB_RUNTIME_POISON_H_
