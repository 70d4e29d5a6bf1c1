// SPDX-License-Identifier: Apache-2.0
// What ncnn's int8 products compute where they hand on integers, as its source says and 1.0.20261020 was seen to do.
// Its scales are factors, the inverse of ours; its bias is a float; its integers begin at -127.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_rules.h"
#include "op/core/fixed_factor.h"

#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
#define PLUMB_HAS_RCPPS
#endif

namespace plumb {
namespace {

// 1 / x.
using Inverse = float (*)(float x);

float ExactInverse(float x) { return 1 / x; }

#ifdef PLUMB_HAS_RCPPS
// To 12 bits, in which CPUs differ.
float RoughInverse(float x) { return _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(x))); }
#endif

// sum (1 / (x_factor * w_factor)) + bias, times y_factor, halves away from zero; `kFma`: the bias in one rounding.
template <bool kFma, Inverse kInverse>
bool NcnnProduct(const IntegerStep& step, std::vector<int64_t>* integers) {
  const bool biased = !step.bias.empty();
  if (step.zero != 0 || step.x.zero != 0 || step.weight_scales.size() != step.scales.size()) return false;
  const float x_factor = 1 / step.x.scale, y_factor = 1 / step.scale;
  for (size_t i = 0; i < integers->size(); ++i) {
    const size_t c = step.scale_index(static_cast<int64_t>(i));
    const double sum = step.sums.data<double>()[i] - (biased ? step.bias[c] : 0);
    if (!(std::fabs(sum) <= static_cast<double>(kInt32Max))) return false;
    const float w_factor = 1 / step.weight_scales[c], in = kInverse(x_factor * w_factor);
    const float bias = biased ? step.real_bias[c] : 0, terms = static_cast<float>(sum), product = terms * in;
    const float real = kFma ? std::fma(terms, in, bias) : product + bias;
    const float steps = std::round(real * y_factor);
    if (!(std::fabs(steps) < 0x1p31f)) return false;
    (*integers)[i] = std::clamp<int64_t>(static_cast<int64_t>(steps), std::max<int64_t>(step.low, -127), step.high);
  }
  return true;
}

#ifdef PLUMB_HAS_RCPPS
bool NcnnDepthwise(const IntegerStep& step, std::vector<int64_t>* integers) {
  const Tensor* weight = step.product.kind == OpKind::kConvolution ? step.product.Resource("weight") : nullptr;
  return weight != nullptr && weight->shape().DimOrOne(1) == 1 && weight->shape()[0] > 1 &&
         NcnnProduct<false, RoughInverse>(step, integers);
}
#endif

}  // namespace

std::vector<IntegerRule> NcnnRules() {
  return {
      {IntegerForm::kProduct, "ncnn's rule (f32, its bias a float, halves away from zero, from -127 on)",
       NcnnProduct<false, ExactInverse>},
      {IntegerForm::kProduct, "ncnn's rule by FMA (f32, its bias a float, halves away from zero, from -127 on)",
       NcnnProduct<true, ExactInverse>},
#ifdef PLUMB_HAS_RCPPS
      {IntegerForm::kProduct, "ncnn's rule for depth-wise convolutions on x86 (1 / x by RCPPS, as this machine has it)",
       NcnnDepthwise},
#endif
  };
}

}  // namespace plumb
