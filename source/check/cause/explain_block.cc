// SPDX-License-Identifier: Apache-2.0
// A cause: weights of one block count more or less than they should. Weights in blocks of 16, 32 or 256 share a scale;
// where a kernel takes a wrong one, one output differs, in every row by the same multiple of what that block brings.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "check/cause/explainers.h"
#include "op/core/op.h"

namespace plumb {
namespace {

constexpr double kBlockExplained = 1e-3;  // of the squares may be left: activations may have been rounded on their way
constexpr int64_t kFewestRows = 4;

// A group of one product, its activations [rows, k] and weights [k, outputs], both read from outside.
struct BlockProduct {
  Tensor x, w;
  int64_t k = 0, outputs = 0, rows = 0;
};

std::optional<BlockProduct> ProductOf(const Question& q) {
  const LayerGroup& group = q.record.group;
  const Layer* product = nullptr;
  for (const Layer* layer : group.members) {
    if (layer->kind != OpKind::kMatMul) continue;
    if (product != nullptr || layer->inputs.size() != 2) return std::nullopt;
    product = layer;
  }
  if (product == nullptr || q.record.device.size() != 1) return std::nullopt;
  BlockProduct p;
  for (size_t i = 0; i < group.inputs.size() && i < q.record.inputs.size(); ++i) {
    const Tensor& input = q.record.inputs[i];
    if (!IsFloat(input.dtype())) continue;
    if (group.inputs[i].blob == product->inputs[1]) p.w = input;
    if (p.x.empty() && group.inputs[i].blob != product->inputs[1] && input.NumElements() > 1) p.x = input;
  }
  if (p.x.empty() || p.w.empty() || p.w.shape().rank() < 2) return std::nullopt;
  const int rank = p.w.shape().rank();
  p.k = p.w.shape()[rank - 2];
  p.outputs = p.w.shape()[rank - 1];
  if (p.k < 1 || p.outputs < 1 || p.w.NumElements() != p.k * p.outputs || p.x.NumElements() % p.k != 0) return {};
  p.rows = p.x.NumElements() / p.k;
  const bool whole = q.record.device[0].NumElements() == p.rows * p.outputs;
  return whole && p.rows >= kFewestRows ? std::optional<BlockProduct>(p) : std::nullopt;
}

}  // namespace

std::optional<Answer> ExplainAsBlock(const Question& q) {
  const auto p = ProductOf(q);
  if (!p) return std::nullopt;
  const Tensor &device = q.record.device[0], &right = q.record.replay.values[0], &tau = q.record.replay.tau[0];
  int64_t output = -1;
  std::vector<double> errors(static_cast<size_t>(p->rows));
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    const double error = device.ValueAt(i) - right.ValueAt(i);
    if (!std::isfinite(error)) return std::nullopt;
    if (std::fabs(error) <= tau.ValueAt(i)) continue;
    if (output >= 0 && output != i % p->outputs) return std::nullopt;  // several differ: no matter of one block
    output = i % p->outputs;
    errors[static_cast<size_t>(i / p->outputs)] = error;
  }
  if (output < 0) return std::nullopt;
  double all = 0;
  for (const double error : errors) all += error * error;
  for (const int64_t block : {256, 32, 16}) {
    for (int64_t begin = 0; begin + block <= p->k; begin += block) {
      double xy = 0, xx = 0;
      for (int64_t row = 0; row < p->rows; ++row) {
        double part = 0;
        for (int64_t i = begin; i < begin + block; ++i)
          part += p->x.ValueAt(row * p->k + i) * p->w.ValueAt(i * p->outputs + output);
        xy += part * errors[static_cast<size_t>(row)];
        xx += part * part;
      }
      if (xx == 0 || all - xy * xy / xx > kBlockExplained * all) continue;
      return Answer(fmt::format("the weights {} to {} of output {} count {} times: the scale of one block", begin,
                                begin + block - 1, output, Number(1 + xy / xx, 3)));
    }
  }
  return std::nullopt;
}

}  // namespace plumb
