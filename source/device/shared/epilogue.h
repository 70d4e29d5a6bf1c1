// SPDX-License-Identifier: Apache-2.0
// What the sums of products of every device have in common: what follows the sum, and how weights lie in a model.
#ifndef PLUMB_DEVICE_SHARED_EPILOGUE_H_
#define PLUMB_DEVICE_SHARED_EPILOGUE_H_

#include <cstdint>

namespace plumb {

// What happens to a sum of products before it is stored, in this order: + bias, + what dst holds (sum), activation.
struct Epilogue {
  enum class Kind { kNone, kRelu, kLeakyRelu, kClip, kSwish };
  Kind kind = Kind::kNone;
  float alpha = 0;  // kLeakyRelu: slope; kClip: low
  float beta = 0;   // kClip: high
  bool sum = false;
};

// Weights in memory: element strides of group, output channel, input channel (both within the group); rows of the
// kernel are dense.
struct WeightStrides {
  int64_t group = 0, out = 0, in = 0;
};

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_EPILOGUE_H_
