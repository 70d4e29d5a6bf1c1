// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/weight_formats.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "op/matmul.h"

namespace plumb {
namespace {

constexpr const char *kPerChannel = " per output channel", *kPerTensor = " per tensor";

double InHalf(double v) { return static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(v)))); }
double InBrain(double v) { return static_cast<double>(BFloat16ToFloat(FloatToBFloat16(static_cast<float>(v)))); }
// Bits cut off, as quick conversions do (ncnn's to f16).
double InCutHalf(double v) {
  const double half = InHalf(v);
  const double step = std::fabs(half) > std::fabs(v) && v != 0 ? std::ldexp(1, std::max(std::ilogb(v), -14) - 10) : 0;
  return half - std::copysign(step, v);
}
double InCutBrain(double v) {
  const double brain = InBrain(v);
  const double step = std::fabs(brain) > std::fabs(v) && v != 0 ? std::ldexp(1, std::ilogb(v) - 7) : 0;
  return brain - std::copysign(step, v);
}
double InTwoBrains(double v) { return InBrain(v) + InBrain(v - InBrain(v)); }

double InBits(double v, int bits) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent;
  const double significand = std::frexp(v, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(significand, bits)), exponent - bits);
}
double InTf32(double v) { return InBits(v, 11); }
double CutBits(double v, int bits) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent;
  const double significand = std::frexp(v, &exponent);
  return std::ldexp(std::trunc(std::ldexp(significand, bits)), exponent - bits);
}
template <double (*kInBits)(double, int)>
void EachInBits(const ValueRange&, double bits, std::vector<double>* values) {
  for (double& v : *values) v = kInBits(v, static_cast<int>(bits));
}

struct Float8 {
  int bits, least_exponent;
  double largest;
};
constexpr Float8 kE4M3 = {3, -6, 448}, kE5M2 = {2, -14, 57344};

double InFloat8(const Float8& format, double v) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent;
  (void)std::frexp(v, &exponent);
  const double step = std::ldexp(1, std::max(exponent - 1, format.least_exponent) - format.bits);
  return std::clamp(std::nearbyint(v / step) * step, -format.largest, format.largest);
}
double InE4M3(double v) { return InFloat8(kE4M3, v); }
double InE5M2(double v) { return InFloat8(kE5M2, v); }

template <double (*kRound)(double)>
void Each(const ValueRange&, double, std::vector<double>* values) {
  for (double& v : *values) v = kRound(v);
}

// ncnn's f16: whole vectors cut off, what is left of a channel rounded.
void CutVectors(const ValueRange&, double width, std::vector<double>* values) {
  const size_t whole = values->size() - values->size() % static_cast<size_t>(width);
  for (size_t i = 0; i < values->size(); ++i) (*values)[i] = i < whole ? InCutHalf((*values)[i]) : InHalf((*values)[i]);
}

// The largest value becomes the format's largest one.
template <double (*kRound)(double)>
void Scaled(const ValueRange& range, double largest, std::vector<double>* values) {
  const double scale = range.largest() / largest;
  for (double& v : *values) v = scale > 0 ? kRound(v / scale) * scale : v;
}

// v / step as quantisers compute it, with a step that they keep in f32: of 63.5 steps the largest value is a tie.
double Steps(double v, double step) {
  return std::nearbyint(static_cast<double>(static_cast<float>(v) / static_cast<float>(step)));
}

// -levels ... levels steps; of 127.5, all of -128 ... 127.
void Symmetric(const ValueRange& range, double levels, std::vector<double>* values) {
  const double step = range.largest() / levels, least = -std::ceil(levels), most = std::min(std::ceil(levels), 127.0);
  if (static_cast<float>(step) <= 0) return;
  for (double& v : *values) v = std::clamp(Steps(v, step), least, most) * step;
}

// The value of the largest size is -levels steps of either sign: all of two's complement.
void Lopsided(const ValueRange& range, double levels, std::vector<double>* values) {
  const double extreme = -range.low > range.high ? range.low : range.high, step = extreme / -levels;
  for (double& v : *values) v = step != 0 ? std::clamp(std::nearbyint(v / step), -levels, levels - 1) * step : v;
}

// 0 ... levels steps, of which a whole one is zero.
void WithZeroPoint(const ValueRange& range, double levels, std::vector<double>* values) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0), step = (high - low) / levels;
  if (static_cast<float>(step) <= 0) return;
  const double zero = std::nearbyint(-low / step);
  for (double& v : *values) v = (std::clamp(Steps(v, step) + zero, 0.0, levels) - zero) * step;
}

// 0 ... levels steps above the smallest, all 0 where a step would be less than 1e-6 (MNN: channels that training left
// all but dead). The step is an f32, whose error would be that of a bias.
void WithOffset(const ValueRange& range, double levels, std::vector<double>* values) {
  constexpr double kLeastStep = 1e-6;
  const auto step = static_cast<double>(static_cast<float>(range.high - range.low) / static_cast<float>(levels));
  for (double& v : *values) v = range.low + (step < kLeastStep ? 0 : Steps(v - range.low, step) * step);
}

// Steps that are kept in f16 when all values are rounded (OpenVINO's compressed weights).
void KeepInHalf(double step, std::vector<double>* values) {
  for (double& v : *values) v = step != 0 ? v * (InHalf(step) / step) : v;
}
void LopsidedKeptInHalf(const ValueRange& range, double levels, std::vector<double>* values) {
  Lopsided(range, levels, values);
  KeepInHalf(range.largest() / levels, values);
}
void WithZeroPointKeptInHalf(const ValueRange& range, double levels, std::vector<double>* values) {
  WithZeroPoint(range, levels, values);
  KeepInHalf((std::max(range.high, 0.0) - std::min(range.low, 0.0)) / levels, values);
}

// In place of each value how wide the range of its block is.
void Width(const ValueRange& range, double, std::vector<double>* values) {
  std::fill(values->begin(), values->end(), range.high - range.low);
}

// A range whose scale is an f16: the steps' size is what is rounded, so the range is made to fit.
ValueRange WithHalfScale(ValueRange range, double levels) {
  const double largest = InHalf(range.largest() / levels) * levels, by = largest / std::max(range.largest(), 1e-300);
  range.low *= by, range.high *= by;
  return range;
}

std::vector<WeightFormat> MakeFormats() {
  using Block = WeightFormat::Block;
  std::vector<WeightFormat> formats = {
      {"f16", Block::kTensor, Each<InHalf>},
      {"bf16", Block::kTensor, Each<InBrain>},
      {"f16 towards zero", Block::kTensor, Each<InCutHalf>},
      {"bf16 towards zero", Block::kTensor, Each<InCutBrain>},
      {"f16 towards zero but for the rest of vectors of 8", Block::kChannel, CutVectors, 8}};
  const struct {
    const char* words;
    int64_t block;
  } blocks[] = {{kPerChannel, Block::kChannel}, {kPerTensor, Block::kTensor}};
  for (const auto& b : blocks) {
    for (const Int8Weights& weights : Int8Choices()) {
      if (weights.per_channel == (b.block == Block::kChannel)) formats.push_back(FormatOf(weights));
    }
    formats.push_back({std::string("int4") + b.words, b.block, Symmetric, 7});
    formats.push_back({std::string("int4 with a zero point") + b.words, b.block, WithZeroPoint, 15});
    formats.push_back({std::string("int8 with an offset") + b.words, b.block, WithOffset, 255});  // MNN's
    formats.push_back({std::string("int4 with an offset") + b.words, b.block, WithOffset, 15});
    formats.push_back({std::string("int8 of -128 to 127") + b.words, b.block, Lopsided, 128});
    const std::string kept = std::string(b.words) + ", steps kept in f16";
    formats.push_back({"int8 of -128 to 127" + kept, b.block, LopsidedKeptInHalf, 128});
    formats.push_back({"int8 with a zero point" + kept, b.block, WithZeroPointKeptInHalf, 255});
    formats.push_back({std::string("fp8 (e4m3), scaled") + b.words, b.block, Scaled<InE4M3>, 448});
    formats.push_back({std::string("fp8 (e5m2), scaled") + b.words, b.block, Scaled<InE5M2>, 57344});
  }
  for (const double levels : {255.0, 15.0}) {  // MNN's of deconvolutions
    formats.push_back({fmt::format("int{} with an offset per output channel, as if these came first in memory",
                                   levels == 255 ? 8 : 4),
                       Block::kRun, WithOffset, levels});
  }
  formats.push_back({"fp8 (e4m3)", Block::kTensor, Each<InE4M3>});
  formats.push_back({"fp8 (e5m2)", Block::kTensor, Each<InE5M2>});
  for (const int64_t size : {16, 32, 64, 128, 256}) {
    for (const bool half : {false, true}) {
      const std::string groups = fmt::format(" in groups of {}{}", size, half ? ", scales in f16" : "");
      formats.push_back({"int4" + groups, size, Symmetric, 7, half});
      formats.push_back({"int4 of -8 to 7" + groups, size, Lopsided, 8, half});
      formats.push_back({"int8" + groups, size, Symmetric, 127, half});
      if (half) {
        const std::string kept = fmt::format(" in groups of {}, steps kept in f16", size);
        formats.push_back({"int4 of -8 to 7" + kept, size, LopsidedKeptInHalf, 8});
        formats.push_back({"int4 with a zero point" + kept, size, WithZeroPointKeptInHalf, 15});
        continue;
      }
      formats.push_back({"int4 with a zero point" + groups, size, WithZeroPoint, 15});
      formats.push_back({"int4 with an offset" + groups, size, WithOffset, 15});
      formats.push_back({"int8 with an offset" + groups, size, WithOffset, 255});
    }
  }
  return formats;
}

}  // namespace

void ValueRange::Add(double v) { low = std::min(low, v), high = std::max(high, v); }
double ValueRange::largest() const { return std::max(-low, high); }

ValueRange ValuesRange(const std::vector<double>& values) {
  if (values.empty()) return {};
  ValueRange range{values[0], values[0]};
  for (const double v : values) range.Add(v);
  return range;
}

ValueRange ValuesRange(const Tensor& tensor) {
  const int64_t count = tensor.NumElements();
  if (count == 0) return {};
  ValueRange range{tensor.ValueAt(0), tensor.ValueAt(0)};
  const auto add = [&](const auto* values) {
    for (int64_t i = 1; i < count; ++i) range.Add(static_cast<double>(values[i]));
  };
  if (tensor.dtype() == DType::kF32) {
    add(tensor.data<float>());
  } else if (tensor.dtype() == DType::kF64) {
    add(tensor.data<double>());
  } else {
    for (int64_t i = 1; i < count; ++i) range.Add(tensor.ValueAt(i));
  }
  return range;
}

WeightFormat FormatOf(const Int8Weights& weights) {
  const double usual = weights.zero_point ? 255 : 127;
  std::string words = weights.zero_point ? "int8 with a zero point" : "int8";
  if (weights.steps != usual) words += fmt::format(" in {} steps", weights.steps);
  words += weights.per_channel ? kPerChannel : kPerTensor;
  return {words, weights.per_channel ? WeightFormat::kChannel : WeightFormat::kTensor,
          weights.zero_point ? WithZeroPoint : Symmetric, weights.steps};
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
      if (bits != 11) all->push_back({words, WeightFormat::kTensor, EachInBits<InBits>, static_cast<double>(bits)});
      all->push_back({words + " towards zero", WeightFormat::kTensor, EachInBits<CutBits>, static_cast<double>(bits)});
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

constexpr double kMoved = 0x1p-21;  // of the largest: a quotient in f32 and, of a folded weight, some ulps more

// Of 255 steps one of 4096 is expected next to a tie.
bool IsByChance(int64_t next_to_ties, int64_t count) { return 256 * (next_to_ties - 2) <= count; }

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

Tensor UncertainWeights(const WeightFormat& format, const Layer& layer, const Layer* norm, const Tensor& weight) {
  constexpr double kOffset = 0x1p-24;  // of the range: what roundings of the offset and of sums of steps come to
  const auto rounded = [&](const WeightFormat& f, double moved) {
    return norm == nullptr ? RoundedWeight(f, layer, weight, moved) : RoundedFolded(f, layer, *norm, weight, moved);
  };
  const bool in_bits = format.round == EachInBits<InBits> || format.round == EachInBits<CutBits>;
  if (format.levels == 0 || in_bits || format.round == CutVectors) return Tensor();
  auto off = rounded(format, kMoved);
  const auto down = rounded(format, -kMoved);
  if (!off.ok() || !down.ok()) return Tensor();
  int64_t count = 0;
  for (int64_t i = 0; i < off->NumElements(); ++i) {
    float& w = off->data<float>()[i];
    w = std::fabs(w - down->data<float>()[i]);
    count += w > 0;
  }
  if (!IsByChance(count, off->NumElements()) || (count == 0 && format.round != WithOffset)) return Tensor();
  if (format.round != WithOffset) return *off;
  WeightFormat widths = format;
  widths.round = Width;
  const auto width = rounded(widths, 0);
  if (!width.ok()) return Tensor();
  for (int64_t i = 0; i < off->NumElements(); ++i)
    off->data<float>()[i] += static_cast<float>(kOffset * std::fabs(width->ValueAt(i)));
  return *off;
}

const std::vector<OperandFormat>& OperandFormats() {
  using S = OperandFormat;
  static const auto* formats = new std::vector<OperandFormat>{
      {"tf32", InTf32},
      {"f16", InHalf},
      {"bf16", InBrain},
      {"two bf16 (bf16x2)", InTwoBrains},
      {"fp8 (e4m3)", InE4M3},
      {"fp8 (e5m2)", InE5M2},
      {"int8 as the network runs, per tensor", nullptr, false, S::kAll},
      {"int8 with a zero point as the network runs, per tensor", nullptr, true, S::kAll},
      {"int8 as the network runs, per row", nullptr, false, S::kRow},
      {"int8 with a zero point as the network runs, per row", nullptr, true, S::kRow},
      {"int8 as the network runs, per pixel", nullptr, false, S::kPixel},
      {"int8 with a zero point as the network runs, per pixel", nullptr, true, S::kPixel},
      {"int8 as the network runs, per image", nullptr, false, S::kImage},
      {"int8 with a zero point as the network runs, per image", nullptr, true, S::kImage},
      {"int8 as the network runs, in blocks of 32", nullptr, false, S::kRow, nullptr, 32}};
  return *formats;
}

const std::vector<OperandFormat>& BitOperandFormats() {
  static const auto* formats = [] {
    auto* all = new std::vector<OperandFormat>;
    for (const WeightFormat& bits : BitFormats())
      all->push_back({bits.words, nullptr, false, OperandFormat::kAll, &bits});
    return all;
  }();
  return *formats;
}

const OperandFormat& OperandFormatOf(const std::string& words) {
  const auto& all = OperandFormats();
  return *std::find_if(all.begin(), all.end(), [&](const OperandFormat& format) { return format.words == words; });
}

void RoundOperands(const OperandFormat& format, const ValueRange& range, std::vector<double>* values) {
  for (size_t begin = 0; format.block > 0 && begin < values->size(); begin += format.block) {
    const auto first = values->begin() + static_cast<ptrdiff_t>(begin);
    const auto last = first + static_cast<ptrdiff_t>(std::min(format.block, values->size() - begin));
    std::vector<double> block(first, last);
    Symmetric(ValuesRange(block), 127, &block);
    std::copy(block.begin(), block.end(), first);
  }
  if (format.block > 0) return;
  if (format.round != nullptr) {
    for (double& v : *values) v = format.round(v);
  } else if (format.bits != nullptr) {
    format.bits->round(range, format.bits->levels, values);
  } else if (format.zero_point) {
    WithZeroPoint(range, 255, values);
  } else {
    Symmetric(range, 127, values);
  }
}

namespace {

// Values that share a scale: rows times so many, each so far from the next.
struct Together {
  int64_t rows = 1, count = 0, apart = 1;
};

Together TogetherIn(OperandFormat::Share share, const Shape& shape) {
  Together t{1, shape.NumElements(), 1};
  if (shape.rank() == 0 || t.count == 0) return t;
  switch (share) {
    case OperandFormat::kAll: return t;
    case OperandFormat::kRow: t.count = shape[shape.rank() - 1]; break;
    case OperandFormat::kImage: t.count = shape.CountFrom(1); break;
    case OperandFormat::kPixel: t.count = shape.DimOrOne(1), t.apart = shape.CountFrom(2);
  }
  t.rows = shape.NumElements() / t.count;
  return t;
}

}  // namespace

Result<Tensor> RoundedOperand(const OperandFormat& format, const Tensor& operand, double moved) {
  PLUMB_ASSIGN_OR_RETURN(Tensor rounded, operand.ConvertedTo(DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(rounded, rounded.Clone());
  const Together t = TogetherIn(format.share, rounded.shape());
  std::vector<double> values(static_cast<size_t>(t.count));
  for (int64_t row = 0; row < t.rows; ++row) {
    double* first = rounded.data<double>() + row / t.apart * t.apart * t.count + row % t.apart;
    for (int64_t i = 0; i < t.count; ++i) values[static_cast<size_t>(i)] = first[i * t.apart];
    const ValueRange range = ValuesRange(values);
    for (double& v : values) v += moved * range.largest();
    RoundOperands(format, range, &values);
    for (int64_t i = 0; i < t.count; ++i) first[i * t.apart] = values[static_cast<size_t>(i)];
  }
  return rounded.ConvertedTo(operand.dtype());
}

Result<Tensor> UncertainOperand(const OperandFormat& format, const Tensor& operand) {
  if (format.round != nullptr || format.bits != nullptr || operand.dtype() != DType::kF64) return Tensor();
  PLUMB_ASSIGN_OR_RETURN(Tensor off, RoundedOperand(format, operand, kMoved));
  PLUMB_ASSIGN_OR_RETURN(const Tensor down, RoundedOperand(format, operand, -kMoved));
  int64_t count = 0;
  for (int64_t i = 0; i < off.NumElements(); ++i) {
    double& x = off.data<double>()[i];
    x = std::fabs(x - down.data<double>()[i]);
    count += x > 0;
  }
  return count > 0 && IsByChance(count, off.NumElements()) ? std::move(off) : Tensor();
}

}  // namespace plumb
