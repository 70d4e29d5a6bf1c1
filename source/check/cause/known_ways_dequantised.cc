// SPDX-License-Identifier: Apache-2.0
// Proposals for a product of floats behind a DequantizeLinear (Q-DQ), which its runtime computed in integers: padding
// by 0, another channel's scale, an i32 bias of another channel, sums of 16 bits, a zero point that is not subtracted.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "check/cause/known_ways_util.h"
#include "check/numbers/int8.h"
#include "check/numbers/weight_formats.h"

namespace plumb {
namespace {

// What a DequantizeLinear in front subtracts and multiplies by; a scale of 0: there is none of one number.
struct Dequantised {
  double scale = 0, zero = 0;
};

double OnlyValue(const ProposalContext& c, const Layer& layer, size_t slot) {
  if (layer.inputs.size() <= slot) return 0;
  const Tensor& value = c.blobs.at(layer.inputs[slot]).value;
  return !value.empty() && value.NumElements() == 1 ? value.ValueAt(0) : 0;
}

Dequantised InFrontOf(const ProposalContext& c) {
  for (const Layer* member : c.group.members) {
    if (member->kind == OpKind::kPlumbDequantizeLinear && member->outputs[0] == c.layer.inputs[0])
      return {OnlyValue(c, *member, 1), OnlyValue(c, *member, 2)};
  }
  return {};
}

class DequantisedProduct {
 public:
  DequantisedProduct(const ProposalContext& c, const Dequantised& x, Proposals* proposals)
      : c_(c), x_(x), proposals_(proposals), weight_(*c.layer.Resource("weight")), bias_(c.layer.Resource("bias")) {}

  void Propose() {
    if (weight_.dtype() != DType::kF32) return;
    Padding();
    FindSteps();
    if (steps_.empty()) return;
    Scales();
    ShiftedBias();
    ShortSums();
  }

 private:
  // The layer's sums over ones in place of x, without a bias: of the weights that fall on no padding.
  Result<Tensor> InnerSums() const {
    Layer plain = c_.layer;
    if (bias_ != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(plain.resources["bias"], Tensor::Zeros(bias_->dtype(), bias_->shape()));
    }
    PLUMB_ASSIGN_OR_RETURN(Tensor ones, Tensor::Create(DType::kF64, c_.input));
    std::fill_n(ones.data<double>(), ones.NumElements(), 1.0);
    LayerGroup group;
    group.members = {&plain};
    group.inputs = {{0, 0, plain.inputs[0]}};
    group.outputs = {{0, 0, plain.outputs[0]}};
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult sums, ReplayValues(group, {ones}, c_.blobs));
    return sums.values[0];
  }

  int64_t ChannelOf(int64_t i) const {
    const Shape& out = c_.blobs.at(c_.layer.outputs[0]).shape;
    return i / out.CountFrom(2) % out[1];
  }

  void Padding() {
    if (x_.zero == 0 || c_.layer.kind != OpKind::kConvolution) return;
    auto inner = InnerSums();
    if (!inner.ok() || inner->dtype() != DType::kF64) return;
    const ChannelDims d = ChannelsOf(c_.layer, weight_.shape());
    std::vector<double> all(static_cast<size_t>(d.channels), 0);
    for (int64_t i = 0; i < weight_.NumElements(); ++i)
      all[static_cast<size_t>(i / d.inner % d.channels)] += weight_.ValueAt(i);
    double padded = 0;
    for (int64_t i = 0; i < inner->NumElements(); ++i) {
      double& sum = inner->data<double>()[i];
      sum = -x_.zero * x_.scale * (all[static_cast<size_t>(ChannelOf(i))] - sum);
      padded = std::max(padded, std::fabs(sum));
    }
    if (padded == 0) return;
    Proposal proposal{"with padding by the integer 0", "by the zero point", c_.layer};
    proposal.writes = [added = *inner](Tensor* values, Tensor*) {
      const double* more = added.data<double>();
      ForEachReal(values, [&](double v) { return v + *more++; });
    };
    proposals_->push_back(std::move(proposal));
  }

  // Of each output channel's weights, which are whole ones; none where they are not.
  void FindSteps() {
    const ChannelDims d = ChannelsOf(c_.layer, weight_.shape());
    const int64_t count = weight_.NumElements() / std::max<int64_t>(1, d.channels);
    auto channel = Tensor::Create(DType::kF32, {count});
    if (!channel.ok()) return;
    for (int64_t o = 0; o < d.channels; ++o) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = (i / d.inner * d.channels + o) * d.inner + i % d.inner;
        channel->data<float>()[i] = static_cast<float>(weight_.ValueAt(at));
      }
      steps_.push_back(FindGrid(*channel).step);
    }
    if (*std::min_element(steps_.begin(), steps_.end()) <= 0) steps_.clear();
  }

  // The result of each channel, its bias in integers included, in the steps of another one.
  void Scales() {
    const auto propose = [&](const char* which, const std::function<size_t(size_t)>& from) {
      std::vector<double> factors;
      for (size_t i = 0; i < steps_.size(); ++i) factors.push_back(steps_[from(i)] / steps_[i]);
      if (std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1; })) return;
      Proposal proposal{fmt::format("with the scale of the {}", which), "its own", c_.layer};
      proposal.writes = [factors, this_channel = Channels()](Tensor* values, Tensor* tau) {
        for (Tensor* tensor : {values, tau}) {
          int64_t i = 0;
          if (tensor != nullptr)
            ForEachReal(tensor, [&](double v) { return v * factors[static_cast<size_t>(this_channel(i++))]; });
        }
      };
      proposals_->push_back(std::move(proposal));
    };
    const size_t count = steps_.size();
    propose("first channel for all", [](size_t) -> size_t { return 0; });
    propose("channel before", [count](size_t i) { return (i + count - 1) % count; });
    propose("channel behind", [count](size_t i) { return (i + 1) % count; });
  }

  std::function<int64_t(int64_t)> Channels() const {
    const Shape& out = c_.blobs.at(c_.layer.outputs[0]).shape;
    return [inner = out.CountFrom(2), channels = out[1]](int64_t i) { return i / inner % channels; };
  }

  // The integers of a neighbour, in this channel's steps.
  void ShiftedBias() {
    if (bias_ == nullptr || bias_->dtype() != DType::kF32) return;
    const int64_t count = bias_->NumElements();
    if (count != static_cast<int64_t>(steps_.size())) return;
    for (const int64_t by : {-1, 1}) {
      auto moved = bias_->Clone();
      if (!moved.ok()) return;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t from = (i + by + count) % count;
        const double factor = steps_[static_cast<size_t>(i)] / steps_[static_cast<size_t>(from)];
        moved->data<float>()[i] = static_cast<float>(bias_->ValueAt(from) * factor);
      }
      Proposal proposal{fmt::format("with the i32 bias of the channel {}", by < 0 ? "before" : "behind"), "its own",
                        c_.layer};
      proposal.layer.resources["bias"] = *moved;
      proposals_->push_back(std::move(proposal));
    }
  }

  void ShortSums() {
    const auto propose = [&](const char* computed, double (*narrow)(double)) {
      Proposal proposal{computed, "exact sums", c_.layer, {}, "sums"};
      const Tensor bias = bias_ == nullptr ? Tensor() : *bias_;
      proposal.writes = [=, x = x_.scale, steps = steps_, channels = Channels()](Tensor* values, Tensor*) {
        int64_t i = 0;
        ForEachReal(values, [&](double v) {
          const int64_t o = channels(i++);
          const double unit = x * steps[static_cast<size_t>(o)], added = bias.empty() ? 0 : bias.ValueAt(o);
          return narrow(std::nearbyint((v - added) / unit)) * unit + added;
        });
      };
      proposals_->push_back(std::move(proposal));
    };
    propose("with sums that wrap at 16 bits",
            [](double v) { return static_cast<double>(static_cast<int16_t>(static_cast<int64_t>(v) & 0xffff)); });
    propose("with sums that saturate at 16 bits",
            [](double v) { return std::clamp(v, static_cast<double>(INT16_MIN), static_cast<double>(INT16_MAX)); });
  }

  const ProposalContext& c_;
  const Dequantised x_;
  Proposals* proposals_;
  const Tensor& weight_;
  const Tensor* bias_;
  std::vector<double> steps_;
};

void WithoutZeroPoint(const ProposalContext& c, Proposals* proposals) {
  if (OnlyValue(c, c.layer, 2) == 0 || c.group.members.size() < 2) return;
  Proposal proposal{"without the zero point", "with it", c.layer};
  proposal.reads = [](size_t slot, const Tensor& input) -> Result<Tensor> {
    if (slot != 2) return input;
    return Tensor::Zeros(input.dtype(), input.shape());
  };
  proposals->push_back(std::move(proposal));
}

}  // namespace

void ProposeForDequantised(const ProposalContext& c, Proposals* proposals) {
  if (c.layer.kind == OpKind::kPlumbDequantizeLinear) WithoutZeroPoint(c, proposals);
  if (c.layer.kind != OpKind::kConvolution && c.layer.kind != OpKind::kInnerProduct) return;
  const Dequantised x = InFrontOf(c);
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  if (x.scale > 0 && c.layer.Resource("weight") != nullptr && out.rank() >= 2)
    DequantisedProduct(c, x, proposals).Propose();
}

}  // namespace plumb
