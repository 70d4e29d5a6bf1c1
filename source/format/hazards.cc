// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <climits>
#include <cmath>
#include "plumb/align.h"

#include "graph/resources.h"
#include "op/affine.h"

namespace plumb {
namespace {

struct Counts {
  int64_t nan = 0, infinite = 0, subnormal = 0, beyond_half = 0, beyond_int32 = 0;
};

Counts CountFloats(const Tensor& tensor) {
  Counts counts;
  const float* values = tensor.data<float>();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const float magnitude = std::fabs(values[i]);
    if (magnitude >= 0x1p-126f && magnitude < 65520.0f) continue;  // from 65520 on, f16 rounds to infinity
    if (std::isnan(magnitude))
      ++counts.nan;
    else if (std::isinf(magnitude))
      ++counts.infinite;
    else if (magnitude >= 65520.0f)
      ++counts.beyond_half;
    else if (magnitude > 0)
      ++counts.subnormal;
  }
  return counts;
}

Counts CountInts(const Tensor& tensor) {
  Counts counts;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const int64_t value = tensor.data<int64_t>()[i];
    if (value > INT32_MAX || value < INT32_MIN) ++counts.beyond_int32;
  }
  return counts;
}

void Describe(const std::string& what, const Tensor& tensor, std::vector<std::string>* lines) {
  if (tensor.dtype() != DType::kF32 && tensor.dtype() != DType::kI64) return;
  const Counts counts = tensor.dtype() == DType::kF32 ? CountFloats(tensor) : CountInts(tensor);
  const auto add = [&](const char* id, int64_t count, const char* text) {
    if (count > 0) lines->push_back(fmt::format("{}: {} has {} {}", id, what, count, text));
  };
  add("AL08", counts.nan, "NaN");
  add("AL08", counts.infinite, "infinite values");
  add("AL08", counts.subnormal, "subnormal values, which many devices take for 0");
  add("AL09", counts.beyond_half, "values beyond 65504, which become infinite in fp16");
  add("AL10", counts.beyond_int32, "values beyond int32, which devices that carry int64 as int32 change");
}

}  // namespace

std::vector<std::string> WeightHazards(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Layer& layer : graph.layers) {
    const std::string frame = fmt::format("layer {} '{}' ({})", layer.index, layer.name, layer.type);
    for (const auto& [slot, tensor] : layer.resources) {
      if (slot == kBatchStatistics) continue;  // what was folded is none of the layer's weights
      Describe(fmt::format("{}: {}", frame, slot), tensor, &lines);
    }
  }
  for (const auto& [name, tensor] : graph.constants) Describe(fmt::format("constant '{}'", name), tensor, &lines);
  return lines;
}

}  // namespace plumb
