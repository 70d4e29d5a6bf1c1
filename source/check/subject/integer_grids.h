// SPDX-License-Identifier: Apache-2.0
// The integers that a subject's reals stand for: a runtime's tools may write a quantised tensor as scale * (q - zero
// point), where the model's blob holds q.
#ifndef PLUMB_CHECK_SUBJECT_INTEGER_GRIDS_H_
#define PLUMB_CHECK_SUBJECT_INTEGER_GRIDS_H_

#include <map>
#include <string>

#include "plumb/graph.h"

namespace plumb {

// One scale and zero point of a whole blob of integers.
struct IntegerGrid {
  double scale = 1;
  int64_t zero_point = 0;
};

// By blob: what a QuantizeLinear wrote or a DequantizeLinear reads with one known scale, and what was moved since.
std::map<std::string, IntegerGrid> IntegerGrids(const Graph& graph);

// i64. InvalidArgument: a value lies beside the grid.
Result<Tensor> IntegersOn(const IntegerGrid& grid, const Tensor& reals);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_INTEGER_GRIDS_H_
