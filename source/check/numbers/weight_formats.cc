// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/weight_formats.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/numbers/few_bits.h"
#include "op/matmul.h"

namespace plumb {
namespace {

constexpr const char *kPerChannel = " per output channel", *kPerTensor = " per tensor";

template <double (*kInBits)(double, int)>
void EachInBits(const ValueRange&, double bits, std::vector<double>* values) {
  for (double& v : *values) v = kInBits(v, static_cast<int>(bits));
}

template <double (*kRound)(double)>
void Each(const ValueRange&, double, std::vector<double>* values) {
  for (double& v : *values) v = kRound(v);
}

// ncnn's f16: whole vectors cut off, what is left of a channel rounded.
void CutVectors(const ValueRange&, double width, std::vector<double>* values) {
  const size_t whole = values->size() - values->size() % static_cast<size_t>(width);
  for (size_t i = 0; i < values->size(); ++i)
    (*values)[i] = i < whole ? few_bits::InCutHalf((*values)[i]) : few_bits::InHalf((*values)[i]);
}

// The largest value becomes the format's largest one.
template <double (*kRound)(double)>
void Scaled(const ValueRange& range, double largest, std::vector<double>* values) {
  const double scale = range.largest() / largest;
  for (double& v : *values) v = scale > 0 ? kRound(v / scale) * scale : v;
}

// In place of each value how wide the range of its block is.
void Width(const ValueRange& range, double, std::vector<double>* values) {
  std::fill(values->begin(), values->end(), range.high - range.low);
}

// A range whose scale is an f16: the steps' size is what is rounded, so the range is made to fit.
ValueRange WithHalfScale(ValueRange range, double levels) {
  const double largest = few_bits::InHalf(range.largest() / levels) * levels,
               by = largest / std::max(range.largest(), 1e-300);
  range.low *= by, range.high *= by;
  return range;
}

std::vector<WeightFormat> MakeFormats() {
  using Block = WeightFormat::Block;
  std::vector<WeightFormat> formats = {
      {"f16", Block::kTensor, Each<few_bits::InHalf>},
      {"bf16", Block::kTensor, Each<few_bits::InBrain>},
      {"f16 towards zero", Block::kTensor, Each<few_bits::InCutHalf>},
      {"bf16 towards zero", Block::kTensor, Each<few_bits::InCutBrain>},
      {"f16 towards zero but for the rest of vectors of 8", Block::kChannel, CutVectors, 8}};
  const struct {
    const char* words;
    int64_t block;
  } blocks[] = {{kPerChannel, Block::kChannel}, {kPerTensor, Block::kTensor}};
  for (const auto& b : blocks) {
    for (const Int8Weights& weights : Int8Choices()) {
      if (weights.per_channel == (b.block == Block::kChannel)) formats.push_back(FormatOf(weights));
    }
    formats.push_back({std::string("int4") + b.words, b.block, few_bits::Symmetric, 7});
    formats.push_back({std::string("int4 with a zero point") + b.words, b.block, few_bits::WithZeroPoint, 15});
    formats.push_back({std::string("int8 with an offset") + b.words, b.block, few_bits::WithOffset, 255});  // MNN's
    formats.push_back({std::string("int4 with an offset") + b.words, b.block, few_bits::WithOffset, 15});
    formats.push_back({std::string("int8 of -128 to 127") + b.words, b.block, few_bits::Lopsided, 128});
    const std::string kept = std::string(b.words) + ", steps kept in f16";
    formats.push_back({"int8 of -128 to 127" + kept, b.block, few_bits::LopsidedKeptInHalf, 128});
    formats.push_back({"int8 with a zero point" + kept, b.block, few_bits::WithZeroPointKeptInHalf, 255});
    formats.push_back({std::string("fp8 (e4m3), scaled") + b.words, b.block, Scaled<few_bits::InE4M3>, 448});
    formats.push_back({std::string("fp8 (e5m2), scaled") + b.words, b.block, Scaled<few_bits::InE5M2>, 57344});
  }
  for (const double levels : {255.0, 15.0}) {  // MNN's of deconvolutions
    formats.push_back({fmt::format("int{} with an offset per output channel, as if these came first in memory",
                                   levels == 255 ? 8 : 4),
                       Block::kRun, few_bits::WithOffset, levels});
  }
  formats.push_back({"fp8 (e4m3)", Block::kTensor, Each<few_bits::InE4M3>});
  formats.push_back({"fp8 (e5m2)", Block::kTensor, Each<few_bits::InE5M2>});
  for (const int64_t size : {16, 32, 64, 128, 256}) {
    for (const bool half : {false, true}) {
      const std::string groups = fmt::format(" in groups of {}{}", size, half ? ", scales in f16" : "");
      formats.push_back({"int4" + groups, size, few_bits::Symmetric, 7, half});
      formats.push_back({"int4 of -8 to 7" + groups, size, few_bits::Lopsided, 8, half});
      formats.push_back({"int8" + groups, size, few_bits::Symmetric, 127, half});
      if (half) {
        const std::string kept = fmt::format(" in groups of {}, steps kept in f16", size);
        formats.push_back({"int4 of -8 to 7" + kept, size, few_bits::LopsidedKeptInHalf, 8});
        formats.push_back({"int4 with a zero point" + kept, size, few_bits::WithZeroPointKeptInHalf, 15});
        continue;
      }
      formats.push_back({"int4 with a zero point" + groups, size, few_bits::WithZeroPoint, 15});
      formats.push_back({"int4 with an offset" + groups, size, few_bits::WithOffset, 15});
      formats.push_back({"int8 with an offset" + groups, size, few_bits::WithOffset, 255});
    }
  }
  return formats;
}

}  // namespace

WeightFormat FormatOf(const Int8Weights& weights) {
  const double usual = weights.zero_point ? 255 : 127;
  std::string words = weights.zero_point ? "int8 with a zero point" : "int8";
  if (weights.steps != usual) words += fmt::format(" in {} steps", weights.steps);
  words += weights.per_channel ? kPerChannel : kPerTensor;
  return {words, weights.per_channel ? WeightFormat::kChannel : WeightFormat::kTensor,
          weights.zero_point ? few_bits::WithZeroPoint : few_bits::Symmetric, weights.steps};
}

std::vector<double> StepsOf(const Int8Weights& weights, const Layer& layer, const Tensor& weight) {
  const ChannelDims d = ChannelsOf(layer, weight.shape());
  std::vector<ValueRange> ranges(static_cast<size_t>(weights.per_channel ? d.channels : 1));
  for (int64_t i = 0; i < weight.NumElements(); ++i)
    ranges[weights.per_channel ? static_cast<size_t>(i / d.inner % d.channels) : 0].Add(weight.ValueAt(i));
  std::vector<double> steps;
  for (int64_t c = 0; c < d.channels; ++c) {
    const ValueRange& range = ranges[weights.per_channel ? static_cast<size_t>(c) : 0];
    steps.push_back((weights.zero_point ? range.high - range.low : range.largest()) / weights.steps);
  }
  return steps;
}

const std::vector<Int8Weights>& Int8Choices() {
  static const auto* choices = [] {
    auto* all = new std::vector<Int8Weights>;
    for (const bool per_channel : {true, false}) {
      for (const double steps : {127.0, 127.5, 64.0, 63.5, 63.0}) all->push_back({per_channel, false, steps});
      for (const double steps : {255.0, 127.0}) all->push_back({per_channel, true, steps});
    }
    return all;
  }();
  return *choices;
}

const std::vector<WeightFormat>& BitFormats() {
  static const auto* formats = [] {
    auto* all = new std::vector<WeightFormat>;
    for (int bits = 9; bits <= 20; ++bits) {
      const std::string words = fmt::format("{}-bit significands", bits);
      if (bits != 11)
        all->push_back({words, WeightFormat::kTensor, EachInBits<few_bits::InBits>, static_cast<double>(bits)});
      all->push_back(
          {words + " towards zero", WeightFormat::kTensor, EachInBits<few_bits::CutBits>, static_cast<double>(bits)});
    }
    return all;
  }();
  return *formats;
}

const std::vector<WeightFormat>& WeightFormats() {
  static const auto* formats = new std::vector<WeightFormat>(MakeFormats());
  return *formats;
}

std::vector<double> RoundedChannel(const WeightFormat& format, const ValueRange& tensor, std::vector<double> values,
                                   double moved) {
  const auto round = [&](const ValueRange& range, const ValueRange& own, std::vector<double>* block) {
    for (double& v : *block) v += moved * own.largest();
    format.round(range, format.levels, block);
  };
  if (format.block == WeightFormat::kTensor) {
    round(tensor, tensor, &values);
    return values;
  }
  const size_t size = format.block < 0 ? values.size() : static_cast<size_t>(format.block);
  for (size_t begin = 0; begin < values.size(); begin += size) {
    const auto first = values.begin() + static_cast<int64_t>(begin);
    std::vector<double> block(first, values.begin() + static_cast<int64_t>(std::min(begin + size, values.size())));
    const ValueRange range = ValuesRange(block);
    round(format.f16_scale ? WithHalfScale(range, format.levels) : range, range, &block);
    std::copy(block.begin(), block.end(), first);
  }
  return values;
}

ChannelDims ChannelsOf(const Layer& layer, const Shape& weight) {
  const int last = weight.rank() - 1;
  switch (layer.kind) {
    case OpKind::kDeconvolution:
      if (weight.rank() < 2) break;
      return {weight[0], weight[1], weight.CountFrom(2)};
    case OpKind::kMatMul: {
      const bool first = layer.inputs.size() == 1 && ParamOf<MatMulParam>(layer).weight_position == 0;
      if (weight.rank() < 2) break;
      if (first) return {weight.Count(0, last - 1), weight[last - 1], weight[last]};
      return {weight.Count(0, last), weight[last], 1};
    }
    default: return {1, weight.DimOrOne(0), weight.CountFrom(1)};
  }
  return {1, 1, weight.NumElements()};
}

Result<Tensor> RoundedWeight(const WeightFormat& format, const Layer& layer, const Tensor& weight, double moved) {
  if (weight.dtype() != DType::kF32) return Status::NotSupported("weights of another type");
  PLUMB_ASSIGN_OR_RETURN(Tensor rounded, weight.Clone());
  ChannelDims d = ChannelsOf(layer, weight.shape());
  if (format.block == WeightFormat::kRun) d = {1, d.channels, weight.NumElements() / std::max<int64_t>(1, d.channels)};
  const ValueRange tensor = ValuesRange(weight);
  std::vector<double> values(static_cast<size_t>(d.outer * d.inner));
  for (int64_t c = 0; c < d.channels; ++c) {
    const auto each = [&](const auto& move) {
      double* value = values.data();
      for (int64_t o = 0; o < d.outer; ++o) {
        float* w = rounded.data<float>() + (o * d.channels + c) * d.inner;
        for (int64_t i = 0; i < d.inner; ++i) move(w + i, value++);
      }
    };
    each([](const float* w, double* value) { *value = static_cast<double>(*w); });
    values = RoundedChannel(format, tensor, std::move(values), moved);
    each([](float* w, const double* value) { *w = static_cast<float>(*value); });
  }
  return rounded;
}

namespace {

// Every weight times the scale of its channel in the norm, or divided by it.
void Scale(const Tensor& scale, const ChannelDims& d, bool divide, Tensor* weight) {
  for (int64_t i = 0; i < weight->NumElements(); ++i) {
    const double s = scale.ValueAt(scale.NumElements() == 1 ? 0 : i / d.inner % d.channels);
    float& w = weight->data<float>()[i];
    if (s != 0) w = static_cast<float>(divide ? static_cast<double>(w) / s : static_cast<double>(w) * s);
  }
}

}  // namespace

Result<Tensor> RoundedFolded(const WeightFormat& format, const Layer& layer, const Layer& norm, const Tensor& weight,
                             double moved) {
  const Tensor* scale = norm.Resource("scale");
  const ChannelDims d = ChannelsOf(layer, weight.shape());
  if (weight.dtype() != DType::kF32) return Status::NotSupported("weights of another type");
  if (scale == nullptr || (scale->NumElements() != 1 && scale->NumElements() != d.channels))
    return RoundedWeight(format, layer, weight, moved);
  PLUMB_ASSIGN_OR_RETURN(Tensor folded, weight.Clone());
  Scale(*scale, d, false, &folded);
  PLUMB_ASSIGN_OR_RETURN(folded, RoundedWeight(format, layer, folded, moved));
  Scale(*scale, d, true, &folded);
  return folded;
}

Tensor WeightsNextToTies(const WeightFormat& format, const Layer& layer, const Layer* norm, const Tensor& weight) {
  const auto rounded = [&](double moved) {
    return norm == nullptr ? RoundedWeight(format, layer, weight, moved)
                           : RoundedFolded(format, layer, *norm, weight, moved);
  };
  const auto up = rounded(few_bits::kMoved), down = rounded(-few_bits::kMoved);
  auto other = rounded(0);
  if (!up.ok() || !down.ok() || !other.ok()) return Tensor();
  int64_t count = 0;
  for (int64_t i = 0; i < other->NumElements(); ++i) {
    float& w = other->data<float>()[i];
    w = up->data<float>()[i] + down->data<float>()[i] - 2 * w;
    count += w != 0;
  }
  const bool halves = format.levels - std::floor(format.levels) == 0.5;
  const int64_t largest = !halves                                 ? 0
                          : format.block == WeightFormat::kTensor ? 1
                                                                  : ChannelsOf(layer, weight.shape()).channels;
  return count > 0 && few_bits::IsByChance(count - largest, other->NumElements()) ? *other : Tensor();
}

Tensor UncertainWeights(const WeightFormat& format, const Layer& layer, const Layer* norm, const Tensor& weight) {
  constexpr double kOffset = 0x1p-24;  // of the range: what roundings of the offset and of sums of steps come to
  const auto rounded = [&](const WeightFormat& f, double moved) {
    return norm == nullptr ? RoundedWeight(f, layer, weight, moved) : RoundedFolded(f, layer, *norm, weight, moved);
  };
  const bool in_bits = format.round == EachInBits<few_bits::InBits> || format.round == EachInBits<few_bits::CutBits>;
  if (format.levels == 0 || in_bits || format.round == CutVectors) return Tensor();
  auto off = rounded(format, few_bits::kMoved);
  const auto down = rounded(format, -few_bits::kMoved);
  if (!off.ok() || !down.ok()) return Tensor();
  int64_t count = 0;
  for (int64_t i = 0; i < off->NumElements(); ++i) {
    float& w = off->data<float>()[i];
    w = std::fabs(w - down->data<float>()[i]);
    count += w > 0;
  }
  if (!few_bits::IsByChance(count, off->NumElements()) || (count == 0 && format.round != few_bits::WithOffset))
    return Tensor();
  if (format.round != few_bits::WithOffset) return *off;
  WeightFormat widths = format;
  widths.round = Width;
  const auto width = rounded(widths, 0);
  if (!width.ok()) return Tensor();
  for (int64_t i = 0; i < off->NumElements(); ++i)
    off->data<float>()[i] += static_cast<float>(kOffset * std::fabs(width->ValueAt(i)));
  return *off;
}

}  // namespace plumb
