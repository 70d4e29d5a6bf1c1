// SPDX-License-Identifier: Apache-2.0
// LoneWinograd: steps of a run that Winograd's algorithm explains though too few speak for it: runtimes choose it layer
// by layer. One whose errors are spread as the algorithm spreads them (judge/other_products.h) is so computed and
// aligned; the others are then grey, since the runtime is known to choose it. Where none is, they stay wrong.
#ifndef PLUMB_CHECK_WALK_LONE_WINOGRAD_H_
#define PLUMB_CHECK_WALK_LONE_WINOGRAD_H_

#include <set>

#include "check/judge/other_products.h"

namespace plumb {

class LoneWinograd {
 public:
  // Both outlive it.
  LoneWinograd(const OtherProducts* products, const BlobTable* blobs) : products_(products), blobs_(blobs) {}

  // Of each such step, before any is named.
  void Note(size_t position, const StepRecord& record);
  // Changes the report of a step for which no cause was found.
  void Name(size_t position, StepRecord* record) const;

 private:
  const OtherProducts* products_;
  const BlobTable* blobs_;
  std::set<size_t> spread_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_WALK_LONE_WINOGRAD_H_
