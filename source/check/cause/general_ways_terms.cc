// SPDX-License-Identifier: Apache-2.0
// Proposals for sums over other terms than the graph has: whole vectors alone, a block that is left out, written over
// the others or counted twice; kernels turned over one axis; pairs of weights exchanged.
#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <set>

#include "check/cause/general_ways.h"
#include "op/convolution.h"
#include "op/inner_product.h"
#include "op/matmul.h"
#include "op/pooling.h"
#include "op/reduce.h"

namespace plumb {
namespace {

// The axis of an input along which a layer sums, as [outer][size][inner].
struct SummedAxis {
  size_t slot = 0;
  int64_t size = 0, inner = 1;
  const char* what = "terms";
};

std::optional<SummedAxis> OfMatMul(const ProposalContext& c) {
  const bool one = c.layer.inputs.size() == 1;
  const bool weight_first = one && ParamOf<MatMulParam>(c.layer).weight_position == 0;
  const int rank = c.input.rank(), axis = weight_first ? rank - 2 : rank - 1;
  if (rank < 2) return std::nullopt;
  return SummedAxis{0, c.input[axis], c.input.CountFrom(axis + 1)};
}

std::optional<SummedAxis> SummedAxisOf(const ProposalContext& c) {
  switch (c.layer.kind) {
    case OpKind::kMatMul: return OfMatMul(c);
    case OpKind::kInnerProduct: {
      const Tensor* weight = c.layer.Resource("weight");
      const int outs = ParamOf<InnerProductParam>(c.layer).num_output;
      if (weight == nullptr || outs < 1 || weight->NumElements() % outs != 0) return std::nullopt;
      return SummedAxis{0, weight->NumElements() / outs};
    }
    case OpKind::kConvolution:
    case OpKind::kConvolution1D: {
      const auto shape = ResolveConvolution(c.layer, c.input);
      if (!shape.ok() || shape->group != 1) return std::nullopt;
      return SummedAxis{0, shape->in_channels, c.input.CountFrom(2), "input channels"};
    }
    case OpKind::kDeconvolution: return SummedAxis{0, c.input.DimOrOne(1), c.input.CountFrom(2), "input channels"};
    case OpKind::kReduceSum:
    case OpKind::kReduceSumSquare:
    case OpKind::kReduceL1:
    case OpKind::kReduceL2:
    case OpKind::kReduceMean: {
      const auto reduced = ReducedDims(ParamOf<ReduceParam>(c.layer), c.input.rank());
      if (!reduced.ok()) return std::nullopt;
      int first = c.input.rank();
      while (first > 0 && (*reduced)[static_cast<size_t>(first) - 1]) --first;
      return SummedAxis{0, c.input.CountFrom(first)};
    }
    case OpKind::kPooling: {
      const auto shape = ResolvePooling(c.layer, c.input);
      const bool whole = shape.ok() && shape->average && shape->window.h.out * shape->window.w.out == 1;
      return whole ? std::optional<SummedAxis>({0, c.input.CountFrom(2)}) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// Terms [begin, end) count `times`, all others as often as `others` says.
struct TermsCount {
  int64_t begin = 0, end = 0;
  double times = 0, others = 1;
  std::string words;
};

std::vector<TermsCount> OtherCounts(const SummedAxis& axis) {
  const int64_t n = axis.size;
  std::vector<TermsCount> counts;
  const auto without = [&](int64_t begin, int64_t end, const std::string& words) {
    if (begin < end && end - begin < n) counts.push_back({begin, end, 0, 1, words});
  };
  std::set<int64_t> told;
  for (const int64_t width : {2, 4, 8, 16, 32, 64, 128, 256}) {
    const int64_t rest = n % width, whole = n - rest;
    if (width >= n) break;
    if (rest > 0 && told.insert(whole).second) {
      without(whole, n, fmt::format("with the first {} of {} {} alone (whole vectors)", whole, n, axis.what));
      without(0, whole, fmt::format("with the last {} of {} {} alone (behind whole vectors)", rest, n, axis.what));
      counts.push_back(
          {n - width, whole, 2, 1,
           fmt::format("with {} {} twice, where the last vector of {} reaches back", width - rest, axis.what, width)});
    }
    without(0, n - width, fmt::format("with the last {} of {} {} alone", width, n, axis.what));
    without(width, n, fmt::format("with the first {} of {} {} alone", width, n, axis.what));
    without(0, width, fmt::format("without the first {} of {} {}", width, n, axis.what));
    without(n - width, n, fmt::format("without the last {} of {} {}", width, n, axis.what));
  }
  without(n - 1, n, fmt::format("without the last of {} {}", n, axis.what));
  without(0, 1, fmt::format("without the first of {} {}", n, axis.what));
  if (n % 2 == 0) {
    const std::string half = fmt::format("half of the {} {}", n, axis.what);
    counts.push_back({0, n / 2, 2, 0, "with twice the first " + half});
    counts.push_back({n / 2, n, 2, 0, "with twice the second " + half});
  }
  return counts;
}

void OtherTermCounts(const ProposalContext& c, Proposals* proposals) {
  const auto axis = SummedAxisOf(c);
  if (!axis || axis->size < 2) return;
  for (const TermsCount& count : OtherCounts(*axis)) {
    Proposal proposal{count.words, "all of them once", c.layer, {}, "terms"};
    proposal.reads = [count, axis = *axis](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot != axis.slot || input.dtype() != DType::kF64) return input;
      PLUMB_ASSIGN_OR_RETURN(Tensor counted, input.Clone());
      int64_t i = 0;
      ForEachReal(&counted, [&](double v) {
        const int64_t at = i++ / axis.inner % axis.size;
        const double times = at >= count.begin && at < count.end ? count.times : count.others;
        return times == 0 ? 0 : times * v;  // also of what is infinite
      });
      return counted;
    };
    proposals->push_back(std::move(proposal));
  }
}

// Weights [outer][height][width] of a window with one of its axes turned over; neighbours in memory exchanged.
void OtherWeights(const ProposalContext& c, Proposals* proposals) {
  const Tensor* weight = c.layer.Resource("weight");
  if (weight == nullptr || weight->dtype() != DType::kF32) return;
  const auto with = [&](const std::string& words, const std::function<int64_t(int64_t)>& from) {
    auto moved = ElementsFrom(*weight, weight->shape(), from);
    if (!moved.ok()) return;
    Layer layer = c.layer;
    layer.resources["weight"] = std::move(moved).value();
    proposals->push_back({words, "otherwise", std::move(layer), {}, "weights"});
  };
  if (weight->NumElements() % 2 == 0)
    with("with the weights in pairs exchanged (nibbles)", [](int64_t i) { return i % 2 == 0 ? i + 1 : i - 1; });
  if (c.layer.kind != OpKind::kConvolution && c.layer.kind != OpKind::kConvolution1D) return;
  const auto shape = ResolveConvolution(c.layer, c.input);
  if (!shape.ok()) return;
  const int64_t height = shape->window.h.kernel, width = shape->window.w.kernel;
  const auto turned = [](int64_t i, int64_t size, int64_t inner) {
    const int64_t at = i / inner % size;
    return i + (size - 1 - 2 * at) * inner;
  };
  if (height > 1) with("with the rows of the kernel in reverse", [=](int64_t i) { return turned(i, height, width); });
  if (width > 1) with("with the columns of the kernel in reverse", [=](int64_t i) { return turned(i, width, 1); });
}

// Of a convolution in groups with several outputs each: output o reads group o % groups in place of o / outputs.
void InterleavedGroups(const ProposalContext& c, Proposals* proposals) {
  const Tensor* weight = c.layer.Resource("weight");
  const auto shape = ResolveConvolution(c.layer, c.input);
  if (!shape.ok() || weight == nullptr || shape->group < 2 || shape->out_per_group() < 2) return;
  const int64_t groups = shape->group, outs = shape->out_channels, each = shape->out_per_group();
  const int64_t kernel = weight->NumElements() / outs, pixels = shape->window.h.out * shape->window.w.out;
  // Channel g * each + j is computed with the weights, and handed out as, j * groups + g.
  const auto other = [=](int64_t channel) { return channel % each * groups + channel / each; };
  const auto back = [=](int64_t channel) { return channel % groups * each + channel / groups; };
  auto moved =
      ElementsFrom(*weight, weight->shape(), [&](int64_t i) { return other(i / kernel) * kernel + i % kernel; });
  if (!moved.ok()) return;
  Proposal proposal =
      WithMoved(c, "with output channels dealt out to the groups in turn", "group by group", [=](int64_t i) {
        const int64_t channel = i / pixels % outs;
        return i + (back(channel) - channel) * pixels;
      });
  proposal.layer.resources["weight"] = std::move(moved).value();
  const Tensor* bias = c.layer.Resource("bias");
  if (bias != nullptr && bias->NumElements() == outs) {
    auto biases = ElementsFrom(*bias, bias->shape(), other);
    if (biases.ok()) proposal.layer.resources["bias"] = std::move(biases).value();
  }
  proposals->push_back(std::move(proposal));
}

}  // namespace

void ProposeOtherTerms(const ProposalContext& context, Proposals* proposals) {
  OtherTermCounts(context, proposals);
  OtherWeights(context, proposals);
  if (context.layer.kind == OpKind::kConvolution) InterleavedGroups(context, proposals);
}

}  // namespace plumb
