// SPDX-License-Identifier: Apache-2.0
#include "dump/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"

namespace plumb {
namespace {

constexpr int64_t kPiece = 2048;

// Merges pieces of known sum and squared distances into the whole.
class Merger {
 public:
  void Add(int64_t count, double sum, double squares) {
    if (count == 0) return;
    const double n = static_cast<double>(count);
    const double before = static_cast<double>(count_);
    const double delta = sum / n - mean_;
    squares_ += squares + delta * delta * (before * n / (before + n));
    mean_ += delta * (n / (before + n));
    count_ += count;
    sum_ += sum;
  }
  void Finish(Statistics* result) const {
    result->finite = count_;
    result->sum = sum_;
    result->mean = count_ > 0 ? sum_ / static_cast<double>(count_) : 0;
    result->std = count_ > 0 ? std::sqrt(squares_ / static_cast<double>(count_)) : 0;
  }

 private:
  int64_t count_ = 0;
  double sum_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

void AddRange(double low, double high, int64_t finite_before, Statistics* result) {
  result->min = finite_before == 0 ? low : std::min(result->min, low);
  result->max = finite_before == 0 ? high : std::max(result->max, high);
}

// Floats of one piece; `scratch` takes the finite ones when some are not.
void AddFloats(const float* values, int64_t count, float* scratch, Merger* merger, Statistics* result) {
  internal::FloatPiece piece = internal::ScanFloats(values, count);
  result->zeros += piece.zeros;
  result->subnormals += piece.tiny - piece.zeros;
  if (piece.max_magnitude_bits >= 0x7F800000u) {
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      result->nans += std::isnan(values[i]);
      result->infinities += std::isinf(values[i]);
      if (std::isfinite(values[i])) scratch[kept++] = values[i];
    }
    values = scratch;
    count = kept;
    if (count > 0) piece = internal::ScanFloats(values, count);
  }
  if (count == 0) return;
  AddRange(piece.min, piece.max, result->finite, result);
  result->finite += count;
  const double mean = piece.sum / static_cast<double>(count);
  merger->Add(count, piece.sum, internal::SquaredDistances(values, count, mean));
}

uint64_t FloatKey(float value) {
  if (std::isnan(value)) return 0x7FC00000u;
  return value == 0 ? 0 : FloatToBits(value);
}

void CountDistinct(const float* values, int64_t count, DistinctCounter* counter) {
  for (int64_t i = 0; i < count && !counter->overflowed(); ++i) counter->Add(FloatKey(values[i]));
}

Statistics OfFloats(const float* values, int64_t count) {
  FloatStatistics statistics;
  statistics.Add(values, count);
  return statistics.Finish();
}

template <float (*Convert)(uint16_t)>
Statistics OfHalves(const uint16_t* values, int64_t count, uint16_t exponent_mask) {
  Statistics result;
  Merger merger;
  DistinctCounter distinct;
  float floats[kPiece], scratch[kPiece];
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const int64_t size = std::min(kPiece, count - begin);
    for (int64_t i = 0; i < size; ++i) floats[i] = Convert(values[begin + i]);
    AddFloats(floats, size, scratch, &merger, &result);
    CountDistinct(floats, size, &distinct);
  }
  merger.Finish(&result);
  result.distinct = distinct.count();
  result.subnormals = 0;  // of the half type, not of the float that it became
  for (int64_t i = 0; i < count; ++i)
    result.subnormals += (values[i] & exponent_mask) == 0 && (values[i] & 0x7FFF) != 0;
  return result;
}

Statistics OfDoubles(const double* values, int64_t count) {
  Statistics result;
  Merger merger;
  DistinctCounter distinct;
  for (int64_t i = 0; i < count; ++i) {
    const double x = values[i];
    uint64_t key = 0;
    if (x != 0) std::memcpy(&key, &x, sizeof(key));
    if (!distinct.overflowed()) distinct.Add(std::isnan(x) ? ~uint64_t{0} : key);
    result.zeros += x == 0;
    result.nans += std::isnan(x);
    result.infinities += std::isinf(x);
    if (!std::isfinite(x)) continue;
    result.subnormals += x != 0 && std::fabs(x) < std::numeric_limits<double>::min();
    AddRange(x, x, result.finite++, &result);
    merger.Add(1, x, 0);
  }
  merger.Finish(&result);
  result.distinct = distinct.count();
  return result;
}

template <class T>
Statistics OfIntegers(const T* values, int64_t count) {
  // A piece of 64-bit values may overflow 64 bits; smaller types never do.
  using Sum = std::conditional_t<sizeof(T) == 8, double, int64_t>;
  Statistics result;
  result.integer = true;
  Merger merger;
  DistinctCounter distinct;
  T low = count > 0 ? values[0] : T(0);
  T high = low;
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const T* piece = values + begin;
    const int64_t size = std::min(kPiece, count - begin);
    Sum sum = 0;
    int64_t zeros = 0;
    for (int64_t i = 0; i < size; ++i) {
      low = std::min(low, piece[i]);
      high = std::max(high, piece[i]);
      zeros += piece[i] == 0;
      sum += static_cast<Sum>(piece[i]);
    }
    const double mean = static_cast<double>(sum) / static_cast<double>(size);
    double squares = 0;
    for (int64_t i = 0; i < size; ++i) {
      const double distance = static_cast<double>(piece[i]) - mean;
      squares += distance * distance;
    }
    merger.Add(size, static_cast<double>(sum), squares);
    result.zeros += zeros;
    for (int64_t i = 0; i < size && !distinct.overflowed(); ++i) distinct.Add(static_cast<uint64_t>(piece[i]));
  }
  merger.Finish(&result);
  result.distinct = distinct.count();
  result.min_integer = static_cast<int64_t>(low);
  result.max_integer = static_cast<int64_t>(high);
  result.min = static_cast<double>(low);
  result.max = static_cast<double>(high);
  return result;
}

Statistics OfDType(const Tensor& tensor) {
  const int64_t count = tensor.NumElements();
  switch (tensor.dtype()) {
    case DType::kF32: return OfFloats(tensor.data<float>(), count);
    case DType::kF16: return OfHalves<HalfToFloat>(tensor.data<uint16_t>(), count, 0x7C00);
    case DType::kBF16: return OfHalves<BFloat16ToFloat>(tensor.data<uint16_t>(), count, 0x7F80);
    case DType::kF64: return OfDoubles(tensor.data<double>(), count);
    case DType::kI8: return OfIntegers(tensor.data<int8_t>(), count);
    case DType::kU8:
    case DType::kBool: return OfIntegers(tensor.data<uint8_t>(), count);
    case DType::kI16: return OfIntegers(tensor.data<int16_t>(), count);
    case DType::kU16: return OfIntegers(tensor.data<uint16_t>(), count);
    case DType::kI32: return OfIntegers(tensor.data<int32_t>(), count);
    case DType::kU32: return OfIntegers(tensor.data<uint32_t>(), count);
    case DType::kI64: return OfIntegers(tensor.data<int64_t>(), count);
  }
  return {};
}

}  // namespace

void DistinctCounter::Add(uint64_t value) {
  if (count_ > 0 && value == last_) return;
  last_ = value;
  uint64_t slot = (value * 0x9E3779B97F4A7C15ull) >> 54;
  while (used_[slot]) {
    if (slots_[slot] == value) return;
    slot = (slot + 1) % kSlots;
  }
  used_[slot] = true;
  slots_[slot] = value;
  ++count_;
}

struct FloatStatistics::State {
  Statistics result;
  Merger merger;
  DistinctCounter distinct;
  float scratch[kPiece];
};

FloatStatistics::FloatStatistics() : state_(std::make_unique<State>()) {}
FloatStatistics::~FloatStatistics() = default;

void FloatStatistics::Add(const float* values, int64_t count) {
  state_->result.count += count;
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const int64_t size = std::min(kPiece, count - begin);
    AddFloats(values + begin, size, state_->scratch, &state_->merger, &state_->result);
    CountDistinct(values + begin, size, &state_->distinct);
  }
}

Statistics FloatStatistics::Finish() {
  state_->merger.Finish(&state_->result);
  state_->result.distinct = state_->distinct.count();
  return state_->result;
}

Statistics ComputeStatistics(const Tensor& tensor) {
  Statistics result = OfDType(tensor);
  result.count = tensor.NumElements();
  return result;
}

}  // namespace plumb
