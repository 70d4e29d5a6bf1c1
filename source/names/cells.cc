// SPDX-License-Identifier: Apache-2.0
#include "names/cells.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace plumb {
namespace {

constexpr Cell kHashBase = 0x0a3b195354a39b70;  // of ordered sums
constexpr double kNumberRounding = 3e-6;        // of a constant that was computed once in f32 and once in f64

Cell CellPower(Cell base, uint64_t exponent) {
  Cell result = 1;
  for (; exponent > 0; exponent >>= 1, base = MultiplyCells(base, base)) {
    if (exponent & 1) result = MultiplyCells(result, base);
  }
  return result;
}

double LargestOf(const Tensor& value) {
  double most = 0;
  for (int64_t i = 0, count = value.NumElements(); i < count; ++i) most = std::max(most, std::abs(value.ValueAt(i)));
  return most;
}

bool DiffersAtMost(double allowed, const Tensor& a, const Tensor& b) {
  for (int64_t i = 0, count = a.NumElements(); i < count; ++i) {
    const double x = a.ValueAt(i), y = b.ValueAt(i);
    if (!(std::abs(x - y) <= allowed) && x != y) return false;
  }
  return true;
}

}  // namespace

Cell CellOfText(std::string_view text) {
  Cell cell = text.size();
  for (const char c : text) cell = MixCells(cell, static_cast<unsigned char>(c));
  return cell;
}

Cell CellOfNumber(double value) {
  if (!std::isfinite(value)) return CellOfText(std::isnan(value) ? "nan" : value > 0 ? "infinity" : "-infinity");
  int exponent = 0;
  constexpr int kMantissa = 53;
  const double mantissa = std::frexp(std::abs(value), &exponent);
  const Cell whole = static_cast<Cell>(std::ldexp(mantissa, kMantissa)) % kFieldPrime;
  int power = (exponent - kMantissa) % 61;  // 2^61 is 1
  if (power < 0) power += 61;
  const Cell cell = MultiplyCells(whole, Cell{1} << power);
  return value < 0 ? NegativeCell(cell) : cell;
}

Cell PowerOfBase(uint64_t exponent) { return CellPower(kHashBase, exponent); }

Result<Tensor> NewCells(const Shape& shape) { return Tensor::Create(DType::kI64, shape); }

double ConstantTable::Number(double value) {
  if (!std::isfinite(value)) return value;
  const double size = std::abs(value);
  const auto near = [&](const auto& entry) { return std::abs(entry->first - size) <= kNumberRounding * size; };
  auto next = numbers_.lower_bound(size);
  if (next != numbers_.end() && near(next)) return std::copysign(next->second, value);
  if (next != numbers_.begin() && near(--next)) return std::copysign(next->second, value);
  numbers_[size] = size;
  return value;
}

Tensor ConstantTable::Standing(const Tensor& value) {
  std::vector<Held>& held = tensors_[value.NumElements()];
  for (const Held& one : held) {
    const bool same = one.value.dtype() == value.dtype() &&
                      (one.value.raw() == value.raw() || std::memcmp(one.value.raw(), value.raw(), value.bytes()) == 0);
    if (same) return one.value;
  }
  const Held* found = nullptr;
  bool alone = second_ && IsFloat(value.dtype()) && !held.empty();
  const double allowed = alone ? kNumberRounding * LargestOf(value) : 0;
  for (const Held& one : held) {
    if (!alone || one.second || !IsFloat(one.value.dtype()) || !DiffersAtMost(allowed, one.value, value)) continue;
    alone = found == nullptr;
    found = &one;
  }
  if (found != nullptr && alone) return found->value;
  held.push_back({value, second_});
  return held.back().value;
}

Result<Cells> ConstantTable::CellsOf(const Tensor& value) {
  Cells made;
  PLUMB_ASSIGN_OR_RETURN(made.cells, NewCells(value.shape()));
  Cell* cells = made.cells.data<Cell>();
  const int64_t count = value.NumElements();
  if (count == 0) return made;
  const double first = value.ValueAt(0);
  bool uniform = std::isfinite(first) && first != 0;
  for (int64_t i = 1; uniform && i < count; ++i) uniform = value.ValueAt(i) == first;
  if (uniform) {
    std::fill(cells, cells + count, Cell{1});
    made.scale = IsFloat(value.dtype()) ? Number(first) : first;
    return made;
  }
  const Tensor standing = Standing(value);
  for (int64_t i = 0; i < count; ++i) cells[i] = CellOfNumber(standing.ValueAt(i));
  return made;
}

Cell ContentOf(const Tensor& value) {
  Cell content = 0;
  for (int64_t i = value.NumElements() - 1; i >= 0; --i)
    content = AddCells(MultiplyCells(content, kHashBase), CellOfNumber(value.ValueAt(i)));
  return content;
}

}  // namespace plumb
