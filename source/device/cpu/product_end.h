// SPDX-License-Identifier: Apache-2.0
// A device's epilogue as the vector kernels take it.
#ifndef PLUMB_DEVICE_CPU_PRODUCT_END_H_
#define PLUMB_DEVICE_CPU_PRODUCT_END_H_

#include <cmath>

#include "device/shared/epilogue.h"
#include "plumb/status.h"
#include "simd/channel_affine.h"
#include "simd/product.h"

namespace plumb::cpu {

inline simd::ProductEnd EndOfProduct(const Epilogue& epilogue) {
  using Kind = simd::ProductEnd::Kind;
  simd::ProductEnd end;
  end.sum = epilogue.sum;
  switch (epilogue.kind) {
    case Epilogue::Kind::kNone: break;
    case Epilogue::Kind::kRelu: end.kind = Kind::kClip, end.beta = INFINITY; break;
    case Epilogue::Kind::kLeakyRelu: end.kind = Kind::kLeakyRelu, end.alpha = epilogue.alpha; break;
    case Epilogue::Kind::kClip: end.kind = Kind::kClip, end.alpha = epilogue.alpha, end.beta = epilogue.beta; break;
    case Epilogue::Kind::kSwish: end.kind = Kind::kSwish; break;
  }
  return end;
}

// For kernels that end in a clamp, and leave 0 in the lanes behind the last channel.
inline Result<simd::Clamp> ClampOfEpilogue(const Epilogue& epilogue) {
  switch (epilogue.kind) {
    case Epilogue::Kind::kNone: return simd::Clamp{};
    case Epilogue::Kind::kRelu: return simd::Clamp{0, INFINITY};
    case Epilogue::Kind::kClip:
      if (epilogue.alpha <= 0 && epilogue.beta >= 0) return simd::Clamp{epilogue.alpha, epilogue.beta};
      return Status::NotSupported("a Clip that excludes 0 would fill the lanes behind the last channel");
    default: return Status::NotSupported("only a clamp is fused");
  }
}

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_PRODUCT_END_H_
