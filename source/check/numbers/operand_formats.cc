// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/operand_formats.h"

#include <algorithm>
#include <cmath>

#include "check/numbers/few_bits.h"

namespace plumb {

const std::vector<OperandFormat>& OperandFormats() {
  using S = OperandFormat;
  static const auto* formats = new std::vector<OperandFormat>{
      {"tf32", few_bits::InTf32},
      {"f16", few_bits::InHalf},
      {"bf16", few_bits::InBrain},
      {"two bf16 (bf16x2)", few_bits::InTwoBrains},
      {"fp8 (e4m3)", few_bits::InE4M3},
      {"fp8 (e5m2)", few_bits::InE5M2},
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
    few_bits::Symmetric(ValuesRange(block), 127, &block);
    std::copy(block.begin(), block.end(), first);
  }
  if (format.block > 0) return;
  if (format.round != nullptr) {
    for (double& v : *values) v = format.round(v);
  } else if (format.bits != nullptr) {
    format.bits->round(range, format.bits->levels, values);
  } else if (format.zero_point) {
    few_bits::WithZeroPoint(range, 255, values);
  } else {
    few_bits::Symmetric(range, 127, values);
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
  PLUMB_ASSIGN_OR_RETURN(Tensor off, RoundedOperand(format, operand, few_bits::kMoved));
  PLUMB_ASSIGN_OR_RETURN(const Tensor down, RoundedOperand(format, operand, -few_bits::kMoved));
  int64_t count = 0;
  for (int64_t i = 0; i < off.NumElements(); ++i) {
    double& x = off.data<double>()[i];
    x = std::fabs(x - down.data<double>()[i]);
    count += x > 0;
  }
  return count > 0 && few_bits::IsByChance(count, off.NumElements()) ? std::move(off) : Tensor();
}

}  // namespace plumb
