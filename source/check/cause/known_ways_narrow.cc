// SPDX-License-Identifier: Apache-2.0
// Proposals for sums of products in fewer bits: weights, operands and biases rounded to f16, bf16, tf32, fp8, int8,
// int4 in groups, and what goes together. Of a step of one product some of its sums tell which of them are worth a
// replay; of any other step the usual ones are replayed.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/cause/known_ways_util.h"
#include "check/cause/sample_sums.h"
#include "check/numbers/int8.h"
#include "check/numbers/operand_formats.h"
#include "check/numbers/stored_half.h"
#include "op/convolution.h"
#include "op/quantize_linear.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

// The scale of an int32 bias, s_x s_w, per channel.
struct BiasGrid {
  std::string words;
  std::vector<double> steps;  // of one or of every channel
  double At(int64_t channel) const { return steps[steps.size() == 1 ? 0 : static_cast<size_t>(channel)]; }
};

// What a product is computed with; null: as the graph says.
struct Narrow {
  const WeightFormat* weight = nullptr;
  const OperandFormat* operand = nullptr;
  const DType* bias = nullptr;
  const BiasGrid* grid = nullptr;
  bool folded = false;  // the batch normalisation behind it into the weight before
};

constexpr DType kHalfTypes[] = {DType::kF16, DType::kBF16};

double BiasOf(const Narrow& narrow, double bias, int64_t channel) {
  if (narrow.grid != nullptr) {
    const double step = narrow.grid->At(channel);
    return step > 0 ? std::nearbyint(bias / step) * step : bias;
  }
  if (narrow.bias == nullptr) return bias;
  const auto format = static_cast<size_t>(*narrow.bias == DType::kF16 ? 0 : 1);
  std::vector<double> value = {bias};
  WeightFormats()[format].round({}, 0, &value);
  return value[0];
}

Result<Tensor> RoundedBias(const Narrow& narrow, const Tensor& bias) {
  if (bias.dtype() != DType::kF32) return Status::NotSupported("a bias of another type");
  PLUMB_ASSIGN_OR_RETURN(Tensor rounded, bias.Clone());
  for (int64_t i = 0; i < rounded.NumElements(); ++i)
    rounded.data<float>()[i] = static_cast<float>(BiasOf(narrow, bias.ValueAt(i), i));
  return rounded;
}

const std::string kWith = "with ";

std::string InWords(const Narrow& narrow) {
  std::string words;
  const auto add = [&](const std::string& what) { words += (words.empty() ? kWith : " and ") + what; };
  const auto bias = [&] {
    return narrow.grid != nullptr ? "bias rounded to int32 steps of " + narrow.grid->words
                                  : std::string("bias rounded to ") + DTypeName(*narrow.bias);
  };
  const bool has_bias = narrow.grid != nullptr || narrow.bias != nullptr;
  if (narrow.weight != nullptr && narrow.operand != nullptr && narrow.weight->words == narrow.operand->words) {
    add("operands rounded to " + narrow.operand->words);
  } else {
    if (narrow.weight != nullptr && narrow.bias != nullptr && narrow.weight->words == DTypeName(*narrow.bias) &&
        narrow.operand == nullptr)
      return kWith + "weights and bias rounded to " + narrow.weight->words;
    if (narrow.weight != nullptr)
      add((narrow.folded ? "the folded weights rounded to " : "weights rounded to ") + narrow.weight->words);
    if (narrow.operand != nullptr) add("its input rounded to " + narrow.operand->words);
  }
  if (has_bias) add(words.empty() ? "the " + bias() : bias());
  return words;
}

class NarrowProposals {
 public:
  NarrowProposals(const ProposalContext& c, Proposals* proposals)
      : c_(c), proposals_(proposals), weight_(c.layer.Resource("weight")), bias_(c.layer.Resource("bias")) {
    const size_t next = c.member + 1;
    if (next >= c.group.members.size() || c.group.members[next]->kind != OpKind::kBatchNormCxx) return;
    if (c.group.members[next]->inputs[0] == c.layer.outputs[0]) norm_ = c.group.members[next];
  }

  void ProposeOnly(const std::string& narrow) {
    if (c_.step.device.size() == 1) input_ = SampleOfMember(c_.step, c_.member).input;
    few_ = true;
    FindGrids();
    for (const Narrow& n : All()) {
      if (InWords(n) == kWith + narrow) return Add(n);
    }
  }

  void Propose() {
    constexpr size_t kMaxTerms = 8192, kFewSums = 16, kFewest = 3;
    ProductSample sample = c_.step.device.size() == 1 ? SampleOfMember(c_.step, c_.member) : ProductSample();
    sums_ = std::move(sample.sums), input_ = sample.input;
    if (c_.group.members.size() > 1 && sums_.size() < kFewest) sums_.clear();
    if (!sums_.empty() && sums_[0].x.size() > kMaxTerms) sums_.resize(std::min(kFewSums, sums_.size()));
    FindGrids();
    if (!sums_.empty()) {
      Measure();
      few_ = true;
      for (const Narrow& narrow : All()) {
        if (Left(narrow) < kCollapsed * own_) Add(narrow);
      }
      return;
    }
    constexpr double kAffordable = 1 << 24;  // for some eighty replays
    const bool alone = c_.group.members.size() == 1 && c_.multiplications <= kAffordable;
    for (const Narrow& narrow : c_.cheap || alone ? Single() : Usual()) Add(narrow);
  }

 private:
  static constexpr double kCollapsed = 0.25;  // of the squared difference

  void Add(const Narrow& narrow) {
    const auto rounded = [&] {
      return narrow.folded ? RoundedFolded(*narrow.weight, c_.layer, *norm_, *weight_)
                           : RoundedWeight(*narrow.weight, c_.layer, *weight_);
    };
    Proposal proposal{InWords(narrow), "f32", c_.layer, {}, "narrow"};
    proposal.narrow = proposal.computed.substr(kWith.size());
    const auto take = [&](const char* slot, const Result<Tensor>& tensor) {
      if (tensor.ok()) proposal.layer.resources[slot] = *tensor;
      return tensor.ok();
    };
    if (narrow.weight != nullptr && (weight_ == nullptr || !take("weight", rounded()))) return;
    const bool with_bias = narrow.bias != nullptr || narrow.grid != nullptr;
    if (with_bias && (bias_ == nullptr || !take("bias", RoundedBias(narrow, *bias_)))) return;
    if (few_ && weight_ != nullptr && weight_->dtype() == DType::kF32) proposal.writes = Widened(narrow);
    if (narrow.operand != nullptr) {
      proposal.reads = [format = narrow.operand](size_t, const Tensor& input) -> Result<Tensor> {
        if (!IsFloat(input.dtype())) return input;
        return RoundedOperand(*format, input);
      };
    }
    proposals_->push_back(std::move(proposal));
  }

  // Eight times what weights and operands next to ties leave open.
  std::function<void(Tensor*, Tensor*)> Widened(const Narrow& narrow) const {
    if (input_.dtype() != DType::kF64) return nullptr;
    std::vector<Tensor> widths;
    const auto add = [&](const Tensor& input, const Tensor& weight) {
      auto width = input.empty() || weight.empty() ? Result<Tensor>(Tensor()) : SizesTimes(input, weight);
      if (width.ok() && !width->empty()) widths.push_back(*width);
    };
    if (narrow.weight != nullptr)
      add(input_, UncertainWeights(*narrow.weight, c_.layer, narrow.folded ? norm_ : nullptr, *weight_));
    const auto uncertain =
        narrow.operand == nullptr ? Result<Tensor>(Tensor()) : UncertainOperand(*narrow.operand, input_);
    if (uncertain.ok()) add(*uncertain, *weight_);
    if (narrow.operand != nullptr && narrow.operand->block > 0) AddShifts(add);
    if (widths.empty()) return nullptr;
    return [widths](Tensor*, Tensor* tau) {
      for (size_t w = 0; w < widths.size() && tau != nullptr; ++w) {
        const double* width = widths[w].data<double>();
        ForEachReal(tau, [&](double t) { return std::hypot(t, 8 * *width++); });
      }
    };
  }

  // Kernels of blocks shift their weights to unsigned ones (ONNX Runtime's MatMulNBits) and subtract the input's sum
  // times the zero point behind: two f32 roundings of a sum of |x| max|w|.
  template <class F>
  void AddShifts(F add) const {
    auto rounding = input_.Clone(), largest = weight_->Clone();
    if (!rounding.ok() || !largest.ok() || largest->dtype() != DType::kF32) return;
    ForEachReal(&*rounding, [](double x) { return 0x1p-23 * x; });
    std::fill_n(largest->data<float>(), largest->NumElements(), static_cast<float>(ValuesRange(*weight_).largest()));
    add(*rounding, *largest);
  }

  // The layer's sums of |x| |w|.
  Result<Tensor> SizesTimes(const Tensor& x, const Tensor& w) const {
    Layer product = c_.layer;
    PLUMB_ASSIGN_OR_RETURN(Tensor weight, w.Clone());
    for (int64_t i = 0; i < weight.NumElements(); ++i) weight.data<float>()[i] = std::fabs(weight.data<float>()[i]);
    product.resources["weight"] = weight;
    if (bias_ != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(product.resources["bias"], Tensor::Zeros(bias_->dtype(), bias_->shape()));
    }
    PLUMB_ASSIGN_OR_RETURN(Tensor input, x.Clone());
    ForEachReal(&input, [](double v) { return std::fabs(v); });
    LayerGroup group;
    group.members = {&product};
    group.inputs = {{0, 0, product.inputs[0]}};
    group.outputs = {{0, 0, product.outputs[0]}};
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult sums, ReplayValues(group, {input}, c_.blobs));
    return sums.values[0];
  }

  // One thing that is rounded.
  std::vector<Narrow> Single() const {
    std::vector<Narrow> single = Usual();
    for (const WeightFormat& weight : WeightFormats()) single.push_back({&weight});
    for (const WeightFormat& weight : WeightFormats()) {
      if (norm_ != nullptr) single.push_back({&weight, nullptr, nullptr, nullptr, true});
    }
    for (const OperandFormat& operand : OperandFormats()) {
      if (MayShare(operand.share)) single.push_back({nullptr, &operand});
    }
    for (const BiasGrid& grid : grids_) single.push_back({nullptr, nullptr, nullptr, &grid});
    return single;
  }

  // The simpler come first.
  std::vector<Narrow> All() const {
    std::vector<Narrow> all = Single();
    for (const OperandFormat& operand : OperandFormats()) {
      for (const WeightFormat& weight : WeightFormats()) {
        all.push_back({&weight, &operand});
        const bool whole = operand.round == nullptr && weight.levels == 127;
        for (const BiasGrid& grid : grids_) {
          if (whole) all.push_back({&weight, &operand, nullptr, &grid});
        }
      }
    }
    for (size_t i = 0; i < BitFormats().size(); ++i) {
      all.push_back({&BitFormats()[i]});
      all.push_back({nullptr, &BitOperandFormats()[i]});
      all.push_back({&BitFormats()[i], &BitOperandFormats()[i]});
    }
    return all;
  }

  // What is tried of every step.
  std::vector<Narrow> Usual() const {
    std::vector<Narrow> usual;
    const auto& weights = WeightFormats();
    const auto weight = [&](const char* words) {
      return &*std::find_if(weights.begin(), weights.end(), [&](const WeightFormat& f) { return f.words == words; });
    };
    for (size_t i = 0; i < 2; ++i) {
      usual.push_back({&weights[i]});
      if (norm_ != nullptr) usual.push_back({&weights[i], nullptr, nullptr, nullptr, true});
      if (bias_ == nullptr) continue;
      usual.push_back({nullptr, nullptr, &kHalfTypes[i]});
      usual.push_back({&weights[i], nullptr, &kHalfTypes[i]});
    }
    for (size_t i = 0; i < 2; ++i) usual.push_back({&weights[i], &OperandFormatOf(weights[i].words)});  // f16, bf16
    for (const char* words :
         {"int8 per output channel", "int8 per tensor", "int4 per output channel", "int4 per tensor"})
      usual.push_back({weight(words)});
    return usual;
  }

  // s_x from the input's own range, or as a DequantizeLinear in front of it says; s_w from the weights' largest.
  void FindGrids() {
    if (bias_ == nullptr || weight_ == nullptr || c_.step.inputs.empty()) return;
    struct Scale {
      std::string words;
      double value;
    };
    std::vector<Scale> inputs;
    const double dequantised = ScaleInFront();
    if (dequantised > 0) inputs.push_back({"the input's scale", dequantised});
    const Tensor* x = c_.value(0);
    if (x != nullptr && IsFloat(x->dtype())) {
      const ValueRange range = ValuesRange(*x);
      inputs.push_back({"max |x| / 127", range.largest() / 127});
      inputs.push_back({"the input's range / 255", (std::max(range.high, 0.0) - std::min(range.low, 0.0)) / 255});
    }
    AddOwnGrid(x);
    const std::vector<double> steps = StepsOf(Int8Weights(), c_.layer, *weight_);  // max |w| / 127
    for (const Scale& input : inputs) {
      const double all = *std::max_element(steps.begin(), steps.end()) * input.value;
      grids_.push_back({fmt::format("{} times max |w| / 127", input.words), {all}});
      std::vector<double> each;
      for (const double step : steps) each.push_back(step * input.value);
      if (static_cast<int64_t>(each.size()) == bias_->NumElements())
        grids_.push_back({fmt::format("{} times the channel's max |w| / 127", input.words), each});
    }
  }

  // Of an input and weights that are whole steps themselves, in a quantised graph (ONNX Runtime's own biases).
  void AddOwnGrid(const Tensor* x) {
    const auto input = x == nullptr ? Result<Tensor>(Status::NotFound("")) : x->ConvertedTo(DType::kF32);
    const double step = input.ok() ? FindGrid(*input).step : 0;
    const ChannelDims d = ChannelsOf(c_.layer, weight_->shape());
    const int64_t count = weight_->NumElements() / std::max<int64_t>(1, d.channels);
    auto channel = Tensor::Create(DType::kF32, {count});
    if (step == 0 || !channel.ok() || d.channels != bias_->NumElements()) return;
    std::vector<double> each;
    for (int64_t o = 0; o < d.channels; ++o) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = (i / d.inner * d.channels + o) * d.inner + i % d.inner;
        channel->data<float>()[i] = static_cast<float>(weight_->ValueAt(at));
      }
      each.push_back(step * FindGrid(*channel).step);
    }
    if (*std::max_element(each.begin(), each.end()) > 0) grids_.push_back({"the input's times the weights'", each});
  }

  double ScaleInFront() const {
    for (const Layer* member : c_.group.members) {
      if (member->kind != OpKind::kPlumbDequantizeLinear || member->outputs[0] != c_.layer.inputs[0]) continue;
      const auto scale = c_.blobs.find(member->inputs[1]);
      if (scale != c_.blobs.end() && !scale->second.value.empty() && scale->second.value.NumElements() == 1)
        return scale->second.value.ValueAt(0);
    }
    return 0;
  }

  void Measure() {
    weights_ = ValuesRange(*weight_), inputs_ = ValuesRange(input_);
    if (norm_ != nullptr) folded_ = FoldedRange();
    for (const SampleSum& sum : sums_) {
      const double off = Off(sum);
      own_ += off * off;
    }
  }
  ValueRange FoldedRange() const {
    ValueRange range;
    const Tensor* scale = norm_->Resource("scale");
    const ChannelDims d = ChannelsOf(c_.layer, weight_->shape());
    if (scale == nullptr || (scale->NumElements() != 1 && scale->NumElements() != d.channels)) return range;
    for (int64_t i = 0; i < weight_->NumElements(); ++i)
      range.Add(weight_->ValueAt(i) * scale->ValueAt(scale->NumElements() == 1 ? 0 : i / d.inner % d.channels));
    return range;
  }
  double Off(const SampleSum& sum) const {
    return (c_.step.device[0].ValueAt(sum.output) - c_.step.replay.values[0].ValueAt(sum.output)) / sum.gain;
  }

  // Whether values of the layer's input may share a scale so.
  bool MayShare(OperandFormat::Share share) const {
    const bool conv = c_.layer.kind == OpKind::kConvolution;
    switch (share) {
      case OperandFormat::kAll: return true;
      case OperandFormat::kRow: return c_.layer.kind == OpKind::kInnerProduct || c_.layer.kind == OpKind::kMatMul;
      case OperandFormat::kPixel:
        return conv && weight_ != nullptr && weight_->shape().CountFrom(2) == 1 &&
               ParamOf<ConvolutionParam>(c_.layer).group == 1;
      case OperandFormat::kImage: return conv && input_.shape().DimOrOne(0) > 1;
    }
    return false;
  }
  // Of what shares a scale with the terms of a sum.
  ValueRange RangeOf(OperandFormat::Share share, const std::vector<double>& x, const SampleSum& sum) const {
    if (share == OperandFormat::kAll) return inputs_;
    if (share != OperandFormat::kImage) return ValuesRange(x);
    const int64_t each = c_.step.device[0].shape().CountFrom(1), count = input_.shape().CountFrom(1);
    const double* first = input_.data<double>() + sum.output / each * count;
    return ValuesRange(std::vector<double>(first, first + count));
  }

  // The squared difference that would be left; stops where it is too much.
  double Left(const Narrow& narrow) const {
    if (narrow.operand != nullptr && !MayShare(narrow.operand->share)) return INFINITY;
    if (narrow.weight != nullptr && narrow.weight->block == WeightFormat::kRun)  // no channel has all of its scale
      return c_.layer.kind == OpKind::kDeconvolution && narrow.operand == nullptr ? 0 : INFINITY;
    double left = 0;
    for (const SampleSum& sum : sums_) {
      std::vector<double> x(sum.x.begin(), sum.x.end()), w(sum.w.begin(), sum.w.end());
      double change = BiasOf(narrow, static_cast<double>(sum.bias), sum.channel) - static_cast<double>(sum.bias);
      for (size_t k = 0; k < x.size(); ++k) change -= x[k] * w[k];
      if (narrow.operand != nullptr) RoundOperands(*narrow.operand, RangeOf(narrow.operand->share, x, sum), &x);
      const double gain = narrow.folded ? sum.gain : 1;
      for (double& v : w) v *= gain;
      if (narrow.weight != nullptr)
        w = RoundedChannel(*narrow.weight, narrow.folded ? folded_ : weights_, std::move(w));
      for (double& v : w) v /= gain;
      for (size_t k = 0; k < x.size(); ++k) change += x[k] * w[k];
      const double off = Off(sum) - change;
      left += off * off;
      if (!(left < kCollapsed * own_)) return INFINITY;
    }
    return left;
  }

  const ProposalContext& c_;
  Proposals* proposals_;
  const Tensor *weight_, *bias_;
  const Layer* norm_ = nullptr;  // that reads it
  std::vector<BiasGrid> grids_;
  std::vector<SampleSum> sums_;
  Tensor input_;      // that it multiplies, where it is known
  bool few_ = false;  // proposals: each may cost a product more
  ValueRange weights_, folded_, inputs_;
  double own_ = 0;
};

// Both operands as two parts of few bits each, the product of the small ones left out.
void Splits(const ProposalContext& c, Proposals* proposals) {
  proposals->push_back({"with operands split in two bf16 (bf16x2)", "f32", c.layer, SplitBf16Operands(), "narrow"});
  // Within f16's range the same as f16: either may be named.
  proposals->push_back({"with operands rounded to tf32", "f32", c.layer, Tf32Operands(), "tf32"});
  if (c.layer.Resource("weight") != nullptr) return;  // else sampled
  proposals->push_back({"with operands rounded to f16", "f32", c.layer, F16Operands(), "narrow"});
  proposals->push_back({"with operands rounded to bf16", "f32", c.layer, Bf16Operands(), "narrow"});
}

// Weights and bias that a converter rounds once it has folded the batch normalisation behind into them.
void FoldedWithBias(const ProposalContext& c, Proposals* proposals) {
  const Tensor* weight = c.layer.Resource("weight");
  for (size_t m = c.member + 1; m < c.group.members.size(); ++m) {
    const Layer& norm = *c.group.members[m];
    if (norm.kind != OpKind::kBatchNormCxx || norm.inputs[0] != c.layer.outputs[0] || weight == nullptr) continue;
    const Tensor *scale = norm.Resource("scale"), *shift = norm.Resource("bias"), *bias = c.layer.Resource("bias");
    const ChannelDims d = ChannelsOf(c.layer, weight->shape());
    if (scale == nullptr || shift == nullptr || weight->dtype() != DType::kF32) return;
    const auto at = [&](const Tensor& tensor, int64_t channel) {
      return tensor.ValueAt(tensor.NumElements() == 1 ? 0 : channel);
    };
    const auto folded = [&](int64_t channel) {
      return (bias == nullptr ? 0 : at(*bias, channel) * at(*scale, channel)) + at(*shift, channel);
    };
    for (const DType& type : kHalfTypes) {
      auto product = weight->Clone();
      if (!product.ok()) return;
      for (int64_t i = 0; i < product->NumElements(); ++i)
        product->data<float>()[i] *= static_cast<float>(at(*scale, i / d.inner % d.channels));
      auto rounded = RoundedTo(type, *product);
      auto wide = shift->Clone();
      if (!rounded.ok() || !wide.ok() || wide->NumElements() != d.channels) return;
      for (int64_t i = 0; i < rounded->NumElements(); ++i) {
        const double s = at(*scale, i / d.inner % d.channels);
        if (s != 0) rounded->data<float>()[i] = static_cast<float>(rounded->ValueAt(i) / s);
      }
      const std::string words = fmt::format("the folded weights and bias rounded to {}", DTypeName(type));
      Proposal proposal{kWith + words, "f32", c.layer, {}, "narrow"};
      proposal.narrow = words;
      proposal.layer.resources["weight"] = *rounded;
      Narrow narrow;
      narrow.bias = &type;
      for (int64_t i = 0; i < d.channels; ++i) {
        const double b = bias == nullptr ? 0 : at(*bias, i) * at(*scale, i);
        wide->data<float>()[i] = static_cast<float>(BiasOf(narrow, folded(i), i) - b);
      }
      Layer moved = norm;
      moved.resources["bias"] = *wide;
      proposal.also = {{m, std::move(moved)}};
      proposals->push_back(std::move(proposal));
    }
  }
}

// A constant table whose rows are looked up.
void NarrowTable(const ProposalContext& c, Proposals* proposals) {
  constexpr int64_t kAffordable = 1 << 22;
  const Tensor* table = c.layer.Resource("data");
  if (table == nullptr || table->dtype() != DType::kF32 || table->shape().rank() != 2) return;
  if (table->NumElements() > kAffordable) return;
  for (const WeightFormat& format : WeightFormats()) {
    const auto rounded = RoundedWeight(format, c.layer, *table);
    if (!rounded.ok()) continue;
    Proposal proposal{kWith + "weights rounded to " + format.words, "f32", c.layer, {}, "narrow"};
    proposal.narrow = proposal.computed.substr(kWith.size());
    proposal.layer.resources["data"] = *rounded;
    proposal.writes = [](Tensor* values, Tensor* tau) {  // the step is an f32, and so is each product with it
      const double* v = values->data<double>();
      if (tau != nullptr) ForEachReal(tau, [&](double t) { return std::hypot(t, 16 * 0x1p-24 * *v++); });
    };
    proposals->push_back(std::move(proposal));
  }
}

}  // namespace

void ProposeForNarrow(const ProposalContext& c, Proposals* proposals) {
  switch (c.layer.kind) {
    case OpKind::kConvolution:
    case OpKind::kInnerProduct:
    case OpKind::kMatMul: Splits(c, proposals); break;
    case OpKind::kConvolution1D:
    case OpKind::kDeconvolution: break;
    case OpKind::kGather: return NarrowTable(c, proposals);
    default: return;
  }
  if (c.layer.Resource("weight") == nullptr) return;
  NarrowProposals(c, proposals).Propose();
  FoldedWithBias(c, proposals);
}

std::vector<Proposal> NarrowProposalsFor(const ProposalContext& c, const std::string& narrow) {
  Proposals proposals, folded;
  if (!IsProduct(c.layer) || c.layer.Resource("weight") == nullptr) return proposals;
  NarrowProposals(c, &proposals).ProposeOnly(narrow);
  FoldedWithBias(c, &folded);
  std::copy_if(folded.begin(), folded.end(), std::back_inserter(proposals),
               [&](const Proposal& p) { return p.narrow == narrow; });
  return proposals;
}

}  // namespace plumb
