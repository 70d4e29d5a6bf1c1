// SPDX-License-Identifier: Apache-2.0
// What a tensor is computed from, element by element, as numbers: the network is walked once with a random number of
// the field modulo 2^61 - 1 for each element of its inputs. Sums and products are those of the field, so two ways to
// write the same sum give the same number; any other function gives a hash of the function and its argument. Equal
// numbers mean equal formulas. No value that the network computes comes in: these are no floats.
#ifndef PLUMB_NAMES_CELLS_H_
#define PLUMB_NAMES_CELLS_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/threads.h"
#include "plumb/tensor.h"

namespace plumb {

using Cell = uint64_t;  // below 2^61 - 1

constexpr Cell kFieldPrime = (Cell{1} << 61) - 1;

inline Cell AddCells(Cell a, Cell b) {
  const Cell sum = a + b;
  return sum >= kFieldPrime ? sum - kFieldPrime : sum;
}
inline Cell NegativeCell(Cell a) { return a == 0 ? 0 : kFieldPrime - a; }
inline Cell MultiplyCells(Cell a, Cell b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return AddCells(static_cast<Cell>(product) & kFieldPrime, static_cast<Cell>(product >> 61));
}
// A hash of the pair, by splitmix64's finalizer.
inline Cell MixCells(Cell a, Cell b) {
  uint64_t x = MultiplyCells(a + 0x9e3779b97f4a7c, 0x0f58476d1ce4e5b9) + 3 * b + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return x >= kFieldPrime ? x % kFieldPrime : x;
}
Cell CellOfText(std::string_view text);
Cell ContentOf(const Tensor& value);  // its elements in their order
Cell CellOfNumber(double value);      // as a fraction: sums and products of numbers are those of their cells
Cell PowerOfBase(uint64_t exponent);

// The cells of a tensor, times a number that stands for all of them.
struct Cells {
  Tensor cells;  // i64
  double scale = 1;

  const Shape& shape() const { return cells.shape(); }
  int64_t count() const { return cells.NumElements(); }
  const Cell* data() const { return cells.data<Cell>(); }
};

// A tensor of `shape` for cells.
Result<Tensor> NewCells(const Shape& shape);
// The cells cell(0), cell(1), ...
template <class F>
Result<Cells> CellsWhere(const Shape& shape, double scale, const F& cell) {
  constexpr int64_t kGrain = 1 << 16;
  Cells made;
  made.scale = scale;
  PLUMB_ASSIGN_OR_RETURN(made.cells, NewCells(shape));
  Cell* cells = made.cells.data<Cell>();
  ParallelFor(made.count(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) cells[i] = cell(i);
  });
  return made;
}

// The cells in C order as one number, and in no order.
struct CellsMark {
  Cell ordered = 0, any_order = 0;
  int64_t count = 0;
  Shape shape;
};

// Constants of two graphs of which one was made of the other: numbers and tensors that differ by rounding are the same.
class ConstantTable {
 public:
  // The number that stands for this one.
  double Number(double value);
  Result<Cells> CellsOf(const Tensor& value);
  // The tensor that stands for this one.
  Tensor Standing(const Tensor& value);
  // From here on tensors are those of the second graph.
  void BeginSecond() { second_ = true; }

 private:
  struct Held {
    Tensor value;
    bool second = false;
  };

  std::map<double, double> numbers_;
  std::map<int64_t, std::vector<Held>> tensors_;  // by their count
  bool second_ = false;
};

}  // namespace plumb

#endif  // PLUMB_NAMES_CELLS_H_
