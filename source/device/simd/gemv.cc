// GemvAdd: four vectors of columns are summed in registers over all rows, then single vectors, then the tail.
#include "device/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/simd/gemv.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "device/simd/dispatch.h"
#include "device/simd/gemv.h"
#include "device/simd/loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

void RunGemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(Lanes(d));
  int64_t j = 0;
  for (; j + 4 * lanes <= n; j += 4 * lanes) {
    V32 a = LoadU(d, y + j), b = LoadU(d, y + j + lanes);
    V32 c = LoadU(d, y + j + 2 * lanes), e = LoadU(d, y + j + 3 * lanes);
    for (int64_t k = 0; k < rows; ++k) {
      const V32 by = Set(d, x[k]);
      const float* row = w + k * n + j;
      a = MulAdd(by, LoadU(d, row), a);
      b = MulAdd(by, LoadU(d, row + lanes), b);
      c = MulAdd(by, LoadU(d, row + 2 * lanes), c);
      e = MulAdd(by, LoadU(d, row + 3 * lanes), e);
    }
    StoreU(a, d, y + j);
    StoreU(b, d, y + j + lanes);
    StoreU(c, d, y + j + 2 * lanes);
    StoreU(e, d, y + j + 3 * lanes);
  }
  for (; j < n; j += lanes) {
    V32 a = LoadUpTo(d, y + j, n - j);
    for (int64_t k = 0; k < rows; ++k) a = MulAdd(Set(d, x[k]), LoadUpTo(d, w + k * n + j, n - j), a);
    StoreUpTo(a, d, y + j, n - j);
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunGemvAdd);

void GemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y) {
  PLUMB_SIMD_CALL(RunGemvAdd)(x, rows, w, n, y);
}

}  // namespace plumb::simd
#endif
