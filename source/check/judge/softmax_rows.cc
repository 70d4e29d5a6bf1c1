// SPDX-License-Identifier: Apache-2.0
#include "check/judge/softmax_rows.h"

#include <algorithm>
#include <cmath>

#include "op/softmax.h"

namespace plumb {
namespace {

// The axis that a row of attention lies along, or -1: the output is no such thing.
int AxisOfAttention(const LayerGroup& group, const Layer& layer, int rank) {
  if (layer.kind == OpKind::kSoftmax) {
    const auto axis = NormalizeAxis(ParamOf<SoftmaxParam>(layer).axis, rank);
    return axis.ok() ? *axis : -1;
  }
  const bool behind = std::any_of(group.members.begin(), group.members.end(),
                                  [](const Layer* member) { return member->kind == OpKind::kSoftmax; });
  return layer.kind == OpKind::kMatMul && behind ? rank - 1 : -1;
}

}  // namespace

int64_t CountLostRows(const LayerGroup& group, const LayerGroup::Port& port, const Tensor& device,
                      const Tensor& reference) {
  constexpr double kTiny = 1e-6;  // of the largest: it may have been flushed
  if (device.dtype() != DType::kF32 || reference.dtype() != DType::kF64) return 0;
  const Layer& layer = *group.members[static_cast<size_t>(port.member)];
  const int axis = AxisOfAttention(group, layer, device.shape().rank());
  if (axis < 0 || device.shape() != reference.shape() || device.NumElements() == 0) return 0;
  const int64_t size = device.shape()[axis], inner = device.shape().CountFrom(axis + 1);
  const float* found = device.data<float>();
  const double* expected = reference.data<double>();
  int64_t lost = 0;
  for (int64_t row = 0; row < device.NumElements() / size; ++row) {
    const int64_t first = row / inner * size * inner + row % inner;
    double largest = 0;
    int64_t i = 0;
    for (; i < size && found[first + i * inner] == 0; ++i)
      largest = std::max(largest, std::fabs(expected[first + i * inner]));
    lost += i == size && std::isfinite(largest) && largest > kTiny;
  }
  return lost;
}

}  // namespace plumb
