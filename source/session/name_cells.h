// SPDX-License-Identifier: Apache-2.0
// What a tensor is computed from, element by element, as numbers: the network is walked once with a random number of
// the field modulo 2^61 - 1 for each element of its inputs. Sums and products are those of the field, so two ways to
// write the same sum give the same number; any other function gives a hash of the function and its argument. Equal
// numbers mean equal formulas. No value that the network computes comes in: these are no floats.
#ifndef PLUMB_SESSION_NAME_CELLS_H_
#define PLUMB_SESSION_NAME_CELLS_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

using Cell = uint64_t;  // below 2^61 - 1

Cell AddCells(Cell a, Cell b);
Cell MultiplyCells(Cell a, Cell b);
Cell NegativeCell(Cell a);
Cell MixCells(Cell a, Cell b);  // a hash of the pair
Cell CellOfText(std::string_view text);
Cell CellOfNumber(double value);  // as a fraction: sums and products of numbers are those of their cells
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
  // One number for what it holds. A tensor that holds the values of one single tensor of before, in another order and
  // padded with zeros, counts as that one.
  Cell ContentOf(const Tensor& value);
  // From here on tensors are those of the second graph.
  void BeginSecond() { second_ = true; }

 private:
  struct Held {
    Tensor value;
    bool second = false;
  };
  const Tensor& Standing(const Tensor& value);

  std::map<double, double> numbers_;
  std::map<int64_t, std::vector<Held>> tensors_;                          // by their count
  std::map<std::vector<double>, std::vector<Cell>> contents_;             // by what no order changes
  std::map<const void*, std::pair<std::vector<double>, Cell>> computed_;  // by address
  bool second_ = false;
};

}  // namespace plumb

#endif  // PLUMB_SESSION_NAME_CELLS_H_
