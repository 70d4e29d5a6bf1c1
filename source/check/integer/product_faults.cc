// SPDX-License-Identifier: Apache-2.0
// Faults of sums of products: of their input, weights, padding, biases, scales and sums.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_faults.h"
#include "check/numbers/replay.h"

namespace plumb {
namespace {

using Channel = size_t;

bool IsProductStep(const IntegerStep& step) { return step.form == IntegerForm::kProduct; }

// f of each sum, which has a channel, in a copy.
template <class F>
bool WithSums(IntegerStep* step, F f) {
  auto sums = IsProductStep(*step) ? step->sums.Clone() : Result<Tensor>(Status::NotSupported(""));
  if (!sums.ok()) return false;
  for (int64_t i = 0; i < sums->NumElements(); ++i)
    sums->data<double>()[i] = f(sums->data<double>()[i], step->scale_index(i));
  step->sums = std::move(*sums);
  return true;
}

double Saturated16(double sum) { return std::clamp(sum, -32768.0, 32767.0); }
double Wrapped16(double sum) {
  if (!(std::fabs(sum) < 0x1p52)) return sum;
  return static_cast<double>(static_cast<int16_t>(static_cast<uint64_t>(static_cast<int64_t>(sum)) & 0xffff));
}

// Sums of 16 bits, the bias among them or added behind.
template <double (*kNarrow)(double)>
bool ShortSum(IntegerStep* step, const BlobTable&) {
  return WithSums(step, [](double sum, Channel) { return kNarrow(sum); });
}

template <double (*kNarrow)(double)>
bool ShortSumInFrontOfBias(IntegerStep* step, const BlobTable&) {
  return !step->bias.empty() &&
         WithSums(step, [step](double sum, Channel c) { return kNarrow(sum - step->bias[c]) + step->bias[c]; });
}

// Each channel's bias exchanged for another.
template <class F>
bool WithBias(IntegerStep* step, F bias_of) {
  return !step->bias.empty() &&
         WithSums(step, [&](double sum, Channel c) { return sum - step->bias[c] + bias_of(step->bias, c); });
}

template <int kTimes2, int kBy2>
bool BiasTimes(IntegerStep* step, const BlobTable&) {
  return WithBias(step,
                  [](const std::vector<double>& bias, Channel c) { return std::floor(bias[c] * kTimes2 / kBy2); });
}

template <int kBy>
bool BiasOfNeighbour(IntegerStep* step, const BlobTable&) {
  return WithBias(step, [](const std::vector<double>& bias, Channel c) {
    return bias[(c + bias.size() + static_cast<size_t>(kBy + 1) - 1) % bias.size()];
  });
}

// Of kernels whose bias is a float.
bool RealBiasOfNeighbour(IntegerStep* step, const BlobTable&) {
  if (!IsProductStep(*step) || step->real_bias.size() < 2) return false;
  std::rotate(step->real_bias.begin(), step->real_bias.begin() + 1, step->real_bias.end());
  return true;
}

bool BiasInReverse(IntegerStep* step, const BlobTable&) {
  return WithBias(step, [](const std::vector<double>& bias, Channel c) { return bias[bias.size() - 1 - c]; });
}

bool BiasOfFirst(IntegerStep* step, const BlobTable&) {
  return WithBias(step, [](const std::vector<double>& bias, Channel) { return bias[0]; });
}

bool BiasOf8Bits(IntegerStep* step, const BlobTable&) {
  return WithBias(step, [](const std::vector<double>& bias, Channel c) {
    return static_cast<double>(static_cast<int8_t>(static_cast<int64_t>(bias[c]) & 0xff));
  });
}

// Each bias in steps of the first channel's scale.
bool BiasByFirstScale(IntegerStep* step, const BlobTable&) {
  const std::vector<float>& scales = step->scales;
  return scales.size() > 1 && WithBias(step, [&](const std::vector<double>& bias, Channel c) {
           return std::nearbyint(bias[c] * static_cast<double>(scales[0]) / static_cast<double>(scales[c]));
         });
}

template <double (*kNarrow)(double)>
bool BiasOf16Bits(IntegerStep* step, const BlobTable&) {
  return WithBias(step, [](const std::vector<double>& bias, Channel c) { return kNarrow(bias[c]); });
}

bool FactorsOfPowersOfTwo(IntegerStep* step, const BlobTable&) {
  const auto rounded = [step](double scale) {
    return std::exp2(std::nearbyint(std::log2(scale / static_cast<double>(step->scale)))) *
           static_cast<double>(step->scale);
  };
  for (float& scale : step->scales) scale = static_cast<float>(rounded(static_cast<double>(scale)));
  for (double& scale : step->exact_scales) scale = rounded(scale);
  step->weight_scales.clear();
  return IsProductStep(*step);
}

// Each channel's scale exchanged for another.
template <class F>
bool WithScales(IntegerStep* step, F scale_of) {
  const std::vector<float> scales = step->scales;
  const std::vector<float> of_weights = step->weight_scales;
  const std::vector<double> exact = step->exact_scales;
  if (!IsProductStep(*step) || scales.size() < 2) return false;
  for (size_t c = 0; c < scales.size(); ++c) step->scales[c] = static_cast<float>(scale_of(scales, c));
  for (size_t c = 0; c < of_weights.size(); ++c) step->weight_scales[c] = static_cast<float>(scale_of(of_weights, c));
  for (size_t c = 0; c < exact.size(); ++c) step->exact_scales[c] = static_cast<double>(scale_of(exact, c));
  return true;
}

template <int kBy>
bool ScaleOfNeighbour(IntegerStep* step, const BlobTable&) {
  return WithScales(step, [](const auto& scales, Channel c) {
    return scales[(c + scales.size() + static_cast<size_t>(kBy + 1) - 1) % scales.size()];
  });
}

bool ScaleOfFirst(IntegerStep* step, const BlobTable&) {
  return WithScales(step, [](const auto& scales, Channel) { return scales[0]; });
}

bool ScalesInReverse(IntegerStep* step, const BlobTable&) {
  return WithScales(step, [](const auto& scales, Channel c) { return scales[scales.size() - 1 - c]; });
}

bool LargestScale(IntegerStep* step, const BlobTable&) {
  return WithScales(step, [](const auto& scales, Channel) { return *std::max_element(scales.begin(), scales.end()); });
}

bool MeanScale(IntegerStep* step, const BlobTable&) {
  return WithScales(step, [](const auto& scales, Channel) {
    auto sum = scales[0] - scales[0];
    for (const auto scale : scales) sum += scale;
    return sum / static_cast<decltype(sum)>(scales.size());
  });
}

bool LastScaleLost(IntegerStep* step, const BlobTable&) {
  return WithScales(step, [](const auto& scales, Channel c) { return scales[c + 1 == scales.size() ? 0 : c]; });
}

// f of each integer of the input as the file holds it; padding is left at its zero point.
template <class F>
bool WithInput(IntegerStep* step, const BlobTable& blobs, F f) {
  auto x = step->knows_terms ? step->x.whole.Clone() : Result<Tensor>(Status::NotSupported(""));
  if (!x.ok()) return false;
  const auto zero = static_cast<double>(step->x.zero);
  for (int64_t i = 0; i < x->NumElements(); ++i) x->data<double>()[i] = f(x->data<double>()[i] + zero) - zero;
  step->x.whole = std::move(*x);
  return SumAnew(step, blobs);
}

bool ZeroOfInputLost(IntegerStep* step, const BlobTable& blobs) {
  const auto zero = static_cast<double>(step->x.zero);
  return zero != 0 && WithInput(step, blobs, [zero](double q) { return q + zero; });
}

template <int kBy>
bool ZeroOfInputOff(IntegerStep* step, const BlobTable& blobs) {
  return WithInput(step, blobs, [](double q) { return q - kBy; });
}

bool ZeroOfInputNegated(IntegerStep* step, const BlobTable& blobs) {
  const auto zero = static_cast<double>(step->x.zero);
  return zero != 0 && WithInput(step, blobs, [zero](double q) { return q + 2 * zero; });
}

// Of 8 bits, as 0 to 255 where the file says -128 to 127, or the other way.
bool HighestBitOfInput(IntegerStep* step, const BlobTable& blobs) {
  const Tensor& x = step->x.whole;
  const auto zero = static_cast<double>(step->x.zero);
  const bool is_signed = step->knows_terms && std::any_of(x.data<double>(), x.data<double>() + x.NumElements(),
                                                          [zero](double v) { return v + zero < 0; });
  const double half = is_signed ? 0 : 128;
  return !step->of_16_bits() && WithInput(step, blobs, [half](double q) { return q >= half ? q - 128 : q + 128; });
}

bool OtherSignOfInput(IntegerStep* step, const BlobTable& blobs) {
  const double range = step->of_16_bits() ? 65536 : 256;
  return WithInput(step, blobs, [range](double q) { return q >= range / 2 ? q - range : q < 0 ? q + range : q; });
}

template <int kBits>
bool LowestBitsOfInputLost(IntegerStep* step, const BlobTable& blobs) {
  constexpr double kStep = 1 << kBits;
  return (kBits < 8 || step->of_16_bits()) &&
         WithInput(step, blobs, [](double q) { return kStep * std::floor(q / kStep); });
}

// f of an input's 16 bits.
template <int64_t (*kBytes)(int64_t)>
bool BytesOfInput(IntegerStep* step, const BlobTable& blobs) {
  return step->of_16_bits() &&
         WithInput(step, blobs, [](double q) { return static_cast<double>(kBytes(static_cast<int64_t>(q))); });
}

template <int kBits>
bool FactorOfBits(IntegerStep* step, const BlobTable&) {
  step->factor_bits = kBits;
  return IsProductStep(*step);
}

// Whether all weights of an output channel lie side by side.
bool ChannelsFirst(const IntegerStep& step) {
  return step.product.kind != OpKind::kMatMul && step.product.kind != OpKind::kDeconvolution;
}

// The sums of all weights, of each channel; empty: not known.
std::vector<double> SumsOfWeights(const IntegerStep& step) {
  const Tensor* weight = step.knows_terms ? step.product.Resource("weight") : nullptr;
  if (weight == nullptr || !ChannelsFirst(step) || weight->NumElements() == 0) return {};
  const auto channels = static_cast<size_t>(weight->shape()[0]);
  std::vector<double> all(channels, 0);
  for (int64_t i = 0; i < weight->NumElements(); ++i)
    all[static_cast<size_t>(i) / (static_cast<size_t>(weight->NumElements()) / channels)] += weight->ValueAt(i);
  return all;
}

// The same in padding, which holds the zero point that the graph says.
template <int kBy>
bool ZeroOfInputOffPadded(IntegerStep* step, const BlobTable&) {
  const std::vector<double> all = SumsOfWeights(*step);
  return !all.empty() && WithSums(step, [&](double sum, Channel c) { return sum - kBy * all[c % all.size()]; });
}

// What padding adds that is `value` in place of the zero point: the weights outside of the input times the difference.
bool PaddedBy(IntegerStep* step, const BlobTable& blobs, double value) {
  const double off = value - static_cast<double>(step->x.zero);
  const std::vector<double> all = SumsOfWeights(*step);
  IntegerStep ones = *step;
  if (all.empty() || off == 0) return false;
  auto x = Tensor::Create(DType::kF64, step->x.whole.shape());
  if (!x.ok()) return false;
  std::fill_n(x->data<double>(), x->NumElements(), 1.0);
  ones.x.whole = std::move(*x);
  ones.bias.clear();
  if (!SumAnew(&ones, blobs)) return false;
  int64_t i = 0;
  return WithSums(
      step, [&](double sum, Channel c) { return sum + off * (all[c % all.size()] - ones.sums.data<double>()[i++]); });
}

bool PaddedByZero(IntegerStep* step, const BlobTable& blobs) { return PaddedBy(step, blobs, 0); }
bool PaddedByLowest(IntegerStep* step, const BlobTable& blobs) {
  const double lowest = step->of_16_bits() ? -32768 : -128;
  return PaddedBy(step, blobs, step->x.zero < 0 || (step->activated ? step->type_low : step->low) < 0 ? lowest : 0);
}

// The weights, changed; f gets the tensor, its flat index and the integer as the file holds it.
template <class F>
bool WithWeights(IntegerStep* step, const BlobTable& blobs, F f) {
  const Tensor* weight = step->knows_terms ? step->product.Resource("weight") : nullptr;
  if (weight == nullptr || weight->dtype() != DType::kF32) return false;
  auto changed = weight->Clone();
  if (!changed.ok()) return false;
  const auto zero = static_cast<float>(step->weight_zero);
  for (int64_t i = 0; i < changed->NumElements(); ++i)
    changed->data<float>()[i] = f(*weight, i, weight->data<float>()[i] + zero) - zero;
  step->product.resources["weight"] = std::move(*changed);
  return SumAnew(step, blobs);
}

template <int kBy>
bool ZeroOfWeightsOff(IntegerStep* step, const BlobTable& blobs) {
  return WithWeights(step, blobs, [](const Tensor&, int64_t, float q) { return q - kBy; });
}

bool ZeroOfWeightsLost(IntegerStep* step, const BlobTable& blobs) {
  const auto zero = static_cast<float>(step->weight_zero);
  return zero != 0 && WithWeights(step, blobs, [zero](const Tensor&, int64_t, float q) { return q + zero; });
}

template <int kBits>
bool WeightsOfBits(IntegerStep* step, const BlobTable& blobs) {
  constexpr float kStep = 1 << (8 - kBits);
  return WithWeights(step, blobs, [](const Tensor&, int64_t, float q) { return kStep * std::floor(q / kStep); });
}

bool OtherSignOfWeights(IntegerStep* step, const BlobTable& blobs) {
  return WithWeights(step, blobs, [](const Tensor&, int64_t, float q) {
    return q > 127 ? q - 256 : q < 0 ? q + 256 : q;
  });
}

bool HighestBitOfWeights(IntegerStep* step, const BlobTable& blobs) {
  const bool is_signed = step->weight_zero <= 0;
  const float half = is_signed ? 0 : 128;
  return WithWeights(step, blobs, [half](const Tensor&, int64_t, float q) { return q >= half ? q - 128 : q + 128; });
}

// Of a square kernel.
bool KernelTransposed(IntegerStep* step, const BlobTable& blobs) {
  const Tensor* weight = step->product.Resource("weight");
  if (weight == nullptr || weight->shape().rank() != 4 || weight->shape()[2] != weight->shape()[3]) return false;
  const int64_t side = weight->shape()[3];
  const auto zero = static_cast<float>(step->weight_zero);
  return side > 1 && WithWeights(step, blobs, [&](const Tensor& w, int64_t i, float) {
           const int64_t row = i / side % side, column = i % side;
           return w.data<float>()[i + (column - row) * side + row - column] + zero;
         });
}

// The weight at another place of the kernel's last two axes.
template <bool kRows, bool kColumns>
bool Mirrored(IntegerStep* step, const BlobTable& blobs) {
  const Tensor* weight = step->product.Resource("weight");
  if (weight == nullptr || weight->shape().rank() < 4) return false;
  const int64_t rows = weight->shape()[2], columns = weight->shape()[3];
  const auto zero = static_cast<float>(step->weight_zero);
  return WithWeights(step, blobs, [&](const Tensor& w, int64_t i, float) {
    const int64_t row = i / columns % rows, column = i % columns;
    const int64_t to = (kRows ? rows - 1 - row : row) * columns + (kColumns ? columns - 1 - column : column);
    return w.data<float>()[i - row * columns - column + to] + zero;
  });
}

// One place of the kernel, which counts for nothing.
template <bool kFirst>
bool TapLost(IntegerStep* step, const BlobTable& blobs) {
  const Tensor* weight = step->product.Resource("weight");
  if (weight == nullptr || weight->shape().rank() < 4) return false;
  const int64_t taps = weight->shape().CountFrom(2);
  const auto zero = static_cast<float>(step->weight_zero);
  return taps > 1 && WithWeights(step, blobs, [&](const Tensor&, int64_t i, float q) {
           return i % taps == (kFirst ? 0 : taps - 1) ? zero : q;
         });
}

// Each channel's weights are those of the one before.
bool WeightsOfNeighbour(IntegerStep* step, const BlobTable& blobs) {
  const Tensor* weight = step->product.Resource("weight");
  if (weight == nullptr || !ChannelsFirst(*step)) return false;
  const int64_t all = weight->NumElements(), each = weight->shape().CountFrom(1);
  const auto zero = static_cast<float>(step->weight_zero);
  return WithWeights(step, blobs,
                     [&](const Tensor& w, int64_t i, float) { return w.data<float>()[(i + all - each) % all] + zero; });
}

// The last input channels.
template <int kChannels>
bool ChannelsLost(IntegerStep* step, const BlobTable& blobs) {
  const Tensor* weight = step->product.Resource("weight");
  if (weight == nullptr || weight->shape().rank() < 3 || !ChannelsFirst(*step)) return false;
  const int64_t taps = weight->shape().CountFrom(2), channels = weight->shape()[1];
  const auto zero = static_cast<float>(step->weight_zero);
  return channels > kChannels && WithWeights(step, blobs, [&](const Tensor&, int64_t i, float q) {
           return i / taps % channels >= channels - kChannels ? zero : q;
         });
}

// Of a matrix: the last terms of each sum.
template <int kTerms>
bool TermsLost(IntegerStep* step, const BlobTable& blobs) {
  const Tensor* weight = step->product.Resource("weight");
  if (weight == nullptr || weight->shape().rank() != 2) return false;
  const bool columns = step->product.kind == OpKind::kMatMul;
  const int64_t width = weight->shape()[1], terms = columns ? weight->shape()[0] : width;
  const auto zero = static_cast<float>(step->weight_zero);
  return WithWeights(step, blobs, [&](const Tensor&, int64_t i, float q) {
    return (columns ? i / width : i % width) >= terms - kTerms ? zero : q;
  });
}

// Of what a fused Add adds.
template <int kTimes>
bool AddedTimes(IntegerStep* step, const BlobTable&) {
  if (!IsProductStep(*step) || step->operands.empty()) return false;
  step->operands[0].scale *= kTimes;
  for (float& scale : step->operands[0].scales) scale *= kTimes;
  return true;
}

// The ReLU of a convolution that took an Add, on the other side of it.
bool RectifiedBehind(IntegerStep* step, const BlobTable&) {
  if (!step->rectified) return false;
  step->rectified = false;
  step->low = std::max(step->low, step->zero);
  return true;
}

bool RectifiedInFront(IntegerStep* step, const BlobTable&) {
  if (step->operands.empty() || step->rectified || !IsProductStep(*step)) return false;
  step->rectified = true;
  return true;
}

}  // namespace

bool SumAnew(IntegerStep* step, const BlobTable& blobs) {
  LayerGroup group;
  group.members = {&step->product};
  for (const Layer& layer : step->behind) group.members.push_back(&layer);
  group.inputs = {{0, 0, step->product.inputs[0]}};
  group.outputs = {{static_cast<int>(step->behind.size()), 0, group.members.back()->outputs[0]}};
  auto replay = ReplayValues(group, {step->x.whole}, blobs);
  if (!replay.ok() || replay->values[0].dtype() != DType::kF64 ||
      replay->values[0].NumElements() != step->sums.NumElements())
    return false;
  step->sums = std::move(replay->values[0]);
  return step->bias.empty() || WithSums(step, [step](double sum, Channel c) { return sum + step->bias[c]; });
}

const std::vector<StepFault>& ProductFaults() {
  static const auto* faults = new std::vector<StepFault>{
      {"with sums that saturate at 16 bits", "exact sums", ShortSum<Saturated16>},
      {"with sums that saturate at 16 bits", "exact sums", ShortSumInFrontOfBias<Saturated16>},
      {"with sums that wrap at 16 bits", "exact sums", ShortSum<Wrapped16>},
      {"with sums that wrap at 16 bits", "exact sums", ShortSumInFrontOfBias<Wrapped16>},
      {"without what the Add adds", "with it", AddedTimes<0>},
      {"with twice what the Add adds", "once", AddedTimes<2>},
      {"with the ReLU behind the Add", "in front of it", RectifiedBehind},
      {"with a ReLU in front of the Add", "none there", RectifiedInFront},
      {"without the bias", "with it", BiasTimes<0, 1>},
      {"with its bias twice", "once", BiasTimes<2, 1>},
      {"with half of its bias", "all", BiasTimes<1, 2>},
      {"with its bias eight times", "once", BiasTimes<8, 1>},
      {"with its bias of another sign", "its own", BiasTimes<-1, 1>},
      {"with the bias of the channel before", "its own", BiasOfNeighbour<-1>},
      {"with the bias of the channel behind", "its own", BiasOfNeighbour<1>},
      {"with the bias of the channel behind", "its own", RealBiasOfNeighbour},
      {"with the biases of the channels in reverse", "in order", BiasInReverse},
      {"with the bias of the first channel for all", "its own", BiasOfFirst},
      {"with the lowest 8 bits of its bias", "all", BiasOf8Bits},
      {"with its bias in steps of the first channel's scale", "of its own", BiasByFirstScale},
      {"with a bias that saturates at 16 bits", "of 32", BiasOf16Bits<Saturated16>},
      {"with a bias that wraps at 16 bits", "of 32", BiasOf16Bits<Wrapped16>},
      {"with the scale of the first channel for all", "its own", ScaleOfFirst},
      {"with the scale of the channel before", "its own", ScaleOfNeighbour<-1>},
      {"with the scale of the channel behind", "its own", ScaleOfNeighbour<1>},
      {"with the scales of the channels in reverse", "in order", ScalesInReverse},
      {"with the largest scale of all channels", "its own", LargestScale},
      {"with the mean of the channels' scales", "its own", MeanScale},
      {"with the scale of the first channel for the last", "its own", LastScaleLost},
      {"without the zero point of the input", "with it", ZeroOfInputLost},
      {"with the zero point of the input and one more", "the zero point", ZeroOfInputOff<1>},
      {"with the zero point of the input less one", "the zero point", ZeroOfInputOff<-1>},
      {"with the zero point of the input and one more", "the zero point", ZeroOfInputOffPadded<1>},
      {"with the zero point of the input less one", "the zero point", ZeroOfInputOffPadded<-1>},
      {"with the zero point of the input with the other sign", "its own", ZeroOfInputNegated},
      {"without the zero point of the weights", "with it", ZeroOfWeightsLost},
      {"with the zero point of the weights and one more", "the zero point", ZeroOfWeightsOff<1>},
      {"with the zero point of the weights less one", "the zero point", ZeroOfWeightsOff<-1>},
      {"with its input's bits taken with the other sign", "as they are", OtherSignOfInput},
      {"with the highest bit of its input turned", "as it is", HighestBitOfInput},
      {"without the lowest bit of its input", "with it", LowestBitsOfInputLost<1>},
      {"without the lower byte of its input", "both bytes", LowestBitsOfInputLost<8>},
      {"without the upper byte of its input", "both bytes", BytesOfInput<LowerByteOf>},
      {"with the bytes of its input exchanged", "in order", BytesOfInput<BytesExchanged>},
      {"with a factor of 8 bits", "of 31 or 15", FactorOfBits<8>},
      {"with a factor of 4 bits", "of 31 or 15", FactorOfBits<4>},
      {"with padding by the integer 0", "by the zero point", PaddedByZero},
      {"with padding by the lowest integer", "by the zero point", PaddedByLowest},
      {"with weights of 7 bits", "of 8", WeightsOfBits<7>},
      {"with weights of 4 bits", "of 8", WeightsOfBits<4>},
      {"with its weights' bits taken with the other sign", "as they are", OtherSignOfWeights},
      {"with the highest bit of its weights turned", "as it is", HighestBitOfWeights},
      {"with factors that are powers of two", "of 31 or 15 bits", FactorsOfPowersOfTwo},
      {"with the weights of the channel before", "its own", WeightsOfNeighbour},
      {"with the kernel's height and width exchanged", "in order", KernelTransposed},
      {"with the rows of the kernel upside down", "in order", Mirrored<true, false>},
      {"with the columns of the kernel mirrored", "in order", Mirrored<false, true>},
      {"with the kernel turned by 180 degrees", "as it is", Mirrored<true, true>},
      {"without the first tap of the kernel", "all weights", TapLost<true>},
      {"without the last tap of the kernel", "all weights", TapLost<false>},
      {"without its last input channel", "all", ChannelsLost<1>},
      {"without its last 2 input channels", "all", ChannelsLost<2>},
      {"without its last 3 input channels", "all", ChannelsLost<3>},
      {"without its last 4 input channels", "all", ChannelsLost<4>},
      {"without the last 4 terms of each sum", "all terms", TermsLost<4>},
      {"without the last term of each sum", "all terms", TermsLost<1>},
  };
  return *faults;
}

}  // namespace plumb
