// SPDX-License-Identifier: Apache-2.0
// Proposals for masks: what kernels make of a row whose keys a mask hides all, a mask that one head does not get; and
// dropout as it is in training.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "check/cause/computed_otherwise.h"
#include "check/cause/known_ways_util.h"
#include "op/softmax.h"

namespace plumb {
namespace {

// Sets the rows (values, or their bounds) to 0 whose scores all lie below any that a key has which is not hidden.
void ClearHiddenRows(const Tensor& scores, int axis, Tensor* tensor) {
  constexpr double kHidden = -1e3;
  const int64_t size = scores.shape()[axis], inner = scores.shape().CountFrom(axis + 1);
  const double* x = scores.data<double>();
  for (int64_t row = 0; size > 0 && row < scores.NumElements() / size; ++row) {
    const int64_t first = row / inner * size * inner + row % inner;
    int64_t hidden = 0;
    while (hidden < size && x[first + hidden * inner] < kHidden) ++hidden;
    for (int64_t i = 0; hidden == size && i < size; ++i) tensor->data<double>()[first + i * inner] = 0;
  }
}

// Flash attention and kernels with masks of their own write zeros there.
void HiddenRowsAsZeros(const ProposalContext& c, Proposals* proposals) {
  const auto axis = NormalizeAxis(ParamOf<SoftmaxParam>(c.layer).axis, c.input.rank());
  if (!axis.ok()) return;
  Proposal proposal{"with weights of 0 where the mask hides every key of a row", "weights that add up to 1", c.layer};
  const auto scores = std::make_shared<std::optional<Tensor>>();  // asked for before their bounds are
  proposal.reads = [scores](size_t, const Tensor& input) -> Result<Tensor> {
    if (scores->has_value() || input.dtype() != DType::kF64) return input;
    PLUMB_ASSIGN_OR_RETURN(*scores, input.Clone());  // Softmax may write into the memory of what it reads
    return input;
  };
  proposal.writes = [scores, at = *axis](Tensor* values, Tensor* tau) {
    for (Tensor* tensor : {values, tau}) {
      if (scores->has_value() && tensor != nullptr && tensor->dtype() == DType::kF64)
        ClearHiddenRows(**scores, at, tensor);
    }
    scores->reset();
  };
  proposals->push_back(std::move(proposal));
}

// Scores as an input of an addition has them, and their bound.
struct KeptScores {
  std::optional<Tensor> values, tau;
};

// One head of four axes has what it adds the mask to.
Proposal WithoutMaskInHead(const ProposalContext& c, size_t scores, const std::string& mask, int64_t head) {
  Proposal proposal{
      fmt::format("without adding {} in head {}", mask, head), "in every head", c.layer, {}, "mask of a head"};
  const auto kept = std::make_shared<KeptScores>();
  proposal.reads = [kept, scores](size_t slot, const Tensor& input) -> Result<Tensor> {
    if (slot != scores || input.dtype() != DType::kF64) return input;
    PLUMB_ASSIGN_OR_RETURN((kept->values.has_value() ? kept->tau : kept->values), input.Clone());
    return input;
  };
  const Shape shape = c.blobs.at(c.layer.outputs[0]).shape;
  proposal.writes = [kept, shape, head](Tensor* values, Tensor* tau) {
    const int64_t heads = shape[1], inner = shape.CountFrom(2);
    const bool known = kept->values.has_value() && kept->values->shape() == shape && values->dtype() == DType::kF64;
    for (int64_t i = 0; known && i < values->NumElements(); ++i) {
      if (i / inner % heads != head) continue;
      values->data<double>()[i] = kept->values->data<double>()[i];
      if (tau != nullptr) tau->data<double>()[i] = kept->tau.has_value() ? kept->tau->data<double>()[i] : 0;
    }
    *kept = {};
  };
  return proposal;
}

void MaskOfHeads(const ProposalContext& c, Proposals* proposals) {
  constexpr int64_t kMostHeads = 64;
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  if (out.rank() != 4 || out[1] < 2 || out[1] > kMostHeads || !c.cheap) return;
  for (size_t slot = 0; slot < c.layer.inputs.size(); ++slot) {
    const bool other = c.layer.inputs.size() == 2;
    if (c.blobs.at(c.layer.inputs[slot]).shape != out || (!other && c.layer.Resource("element") == nullptr)) continue;
    if (other && c.blobs.at(c.layer.inputs[1 - slot]).shape == out && c.layer.inputs[0] == c.layer.inputs[1]) continue;
    const std::string mask = other ? fmt::format("'{}'", c.layer.inputs[1 - slot]) : "the constant";
    for (int64_t head = 0; head < out[1]; ++head) proposals->push_back(WithoutMaskInHead(c, slot, mask, head));
  }
}

// The share of elements that the device dropped, others being the reference's times 1 / (1 - rate); 0: none such.
double DropoutRate(const Tensor& device, const Tensor& own) {
  constexpr double kFewest = 8, kSame = 1e-4;
  double dropped = 0, kept = 0, products = 0, squares = 0;
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    const double x = device.ValueAt(i), y = own.ValueAt(i);
    if (y == 0 || !std::isfinite(x) || !std::isfinite(y)) continue;
    dropped += x == 0;
    kept += x != 0;
    if (x != 0) products += x * y, squares += y * y;
  }
  const double scale = products / squares, rate = 1 - 1 / scale, count = kept + dropped;
  if (dropped < kFewest || kept < kFewest || !(scale > 1) || !std::isfinite(scale)) return 0;
  if (std::fabs(dropped / count - rate) > 5 * std::sqrt(rate * (1 - rate) / count) + 1 / count) return 0;
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    const double x = device.ValueAt(i), y = scale * own.ValueAt(i);
    if (x != 0 && !(std::fabs(x - y) <= kSame * (std::fabs(x) + std::fabs(y)) + 1e-30) && std::fabs(y) > 1e-6) return 0;
  }
  return rate;
}

// Of the layer that makes the step's result.
void Dropout(const ProposalContext& c, Proposals* proposals) {
  const ReplayedStep& step = c.step;
  const bool last = c.member + 1 == c.group.members.size() && step.device.size() == 1;
  if (!last || step.replay.values[0].dtype() != DType::kF64 || !IsFloat(step.device[0].dtype())) return;
  if (step.device[0].shape() != step.replay.values[0].shape()) return;
  const double rate = DropoutRate(step.device[0], step.replay.values[0]);
  if (rate == 0) return;
  const std::string few = Number(rate, 3);
  Proposal proposal{fmt::format("with dropout left active (rate {})", few), "without", c.layer};
  proposal.writes = [device = step.device[0], scale = 1 / (1 - std::strtod(few.c_str(), nullptr))](Tensor* values,
                                                                                                   Tensor* tau) {
    for (int64_t i = 0; i < values->NumElements(); ++i) {
      const double by = device.ValueAt(i) == 0 ? 0 : scale;
      values->data<double>()[i] *= by;
      if (tau != nullptr) tau->data<double>()[i] *= 1.5 * by;  // rounded once more
    }
  };
  proposals->push_back(std::move(proposal));
}

}  // namespace

void ProposeForMasks(const ProposalContext& context, Proposals* proposals) {
  if (context.layer.kind == OpKind::kSoftmax) HiddenRowsAsZeros(context, proposals);
  if (context.layer.kind == OpKind::kAdd) MaskOfHeads(context, proposals);
  Dropout(context, proposals);
}

}  // namespace plumb
