// SPDX-License-Identifier: Apache-2.0
// ROPE: pairs of the first n_dims entries of each row are turned by position * base^(-2 i / n_dims). ggml's angles are
// products of f32 one after the other, so they are made so here; the pairs stand side by side, or (NEOX) one half
// behind the other. Angles beyond the trained context are bent as YaRN does (arXiv:2309.00071).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "format/onnx/map/ggml_steps.h"
#include "format/onnx/map/rotary_steps.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names
namespace {

constexpr int32_t kPlain = 0, kNeox = 2;

struct Rope {
  int32_t dims, context;
  float base, scale, extrapolated, magnitude, fast, slow;
};

// The pair that turns that often over the trained context.
float PairOf(const Rope& rope, float turns) {
  constexpr float kPi = 3.14159265358979323846f;
  return static_cast<float>(rope.dims) * std::log(static_cast<float>(rope.context) / (turns * 2 * kPi)) /
         (2 * std::log(rope.base));
}

// What a pair keeps of the angle without interpolation.
float KeptOf(const Rope& rope, int32_t pair) {
  if (rope.extrapolated == 0) return 0;
  const float low = std::max(0.0f, std::floor(PairOf(rope, rope.fast)));
  const float high = std::min(static_cast<float>(rope.dims - 1), std::ceil(PairOf(rope, rope.slow)));
  const float ramp = (static_cast<float>(pair) - low) / std::max(0.001f, high - low);
  return (1 - std::min(1.0f, std::max(0.0f, ramp))) * rope.extrapolated;
}

Status FillRopeTables(const Rope& rope, const std::vector<int64_t>& positions, const Tensor* factors, Tensor* cos,
                      Tensor* sin) {
  const int32_t pairs = rope.dims / 2;
  const auto step = static_cast<float>(
      std::pow(static_cast<double>(rope.base), static_cast<double>(-2.0f / static_cast<float>(rope.dims))));
  float magnitude = rope.magnitude;
  if (rope.extrapolated != 0) magnitude *= 1.0f + 0.1f * std::log(1.0f / rope.scale);
  float *cosines = cos->data<float>(), *sines = sin->data<float>();
  for (size_t at = 0; at < positions.size(); ++at) {
    auto angle = static_cast<float>(positions[at]);
    for (int32_t pair = 0; pair < pairs; ++pair, angle *= step) {
      const float full = factors == nullptr ? angle : angle / static_cast<float>(factors->ValueAt(pair));
      const float kept = KeptOf(rope, pair), inner = rope.scale * full;
      const float theta = kept == 0 ? inner : inner * (1 - kept) + full * kept;
      *cosines++ = static_cast<float>(std::cos(static_cast<double>(theta))) * magnitude;
      *sines++ = static_cast<float>(std::sin(static_cast<double>(theta))) * magnitude;
    }
  }
  return Status::Ok();
}

}  // namespace

Status MapGgmlROPE(NodeContext& c) {
  const int32_t mode = GgmlInt(c, 2);
  if ((mode != kPlain && mode != kNeox) || GgmlInt(c, 15) != 0)
    return Status::NotSupported(fmt::format("mode {} with offset {} is not known", mode, GgmlInt(c, 15)));
  const Rope rope = {GgmlInt(c, 1),   GgmlInt(c, 4),   GgmlFloat(c, 5), GgmlFloat(c, 6),
                     GgmlFloat(c, 7), GgmlFloat(c, 8), GgmlFloat(c, 9), GgmlFloat(c, 10)};
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  const Shape shape = c.ShapeOf(x);
  if (rope.dims < 2 || rope.dims % 2 != 0 || rope.dims > shape[3])
    return Status::CorruptModel(fmt::format("{} of {} entries are to be turned", rope.dims, shape[3]));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> positions, c.Ints(1, "the positions"));
  if (static_cast<int64_t>(positions.size()) != shape[1]) {
    return Status::CorruptModel(fmt::format("{} positions for {}", positions.size(), shape.ToString()));
  }
  Tensor factors;
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(factors, c.Constant(2, "the frequency factors"));
    if (factors.NumElements() < rope.dims / 2)
      return Status::CorruptModel(
          fmt::format("{} frequency factors for {} pairs", factors.NumElements(), rope.dims / 2));
  }
  const Shape table{1, shape[1], 1, rope.dims / 2};
  PLUMB_ASSIGN_OR_RETURN(Tensor cos, Tensor::Create(DType::kF32, table));
  PLUMB_ASSIGN_OR_RETURN(Tensor sin, Tensor::Create(DType::kF32, table));
  PLUMB_RETURN_IF_ERROR(FillRopeTables(rope, positions, factors.empty() ? nullptr : &factors, &cos, &sin));
  PLUMB_ASSIGN_OR_RETURN(const Value y, RotatePairs(c, x, c.Const(cos), c.Const(sin), mode == kPlain));
  return SetGgml(c, y);
}

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
