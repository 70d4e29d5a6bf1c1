// SPDX-License-Identifier: Apache-2.0
// TopK, PlumbTopK: the k largest (or smallest) elements along an axis and their indices, in falling (or rising) order,
// equal elements in the order of their indices; a NaN counts as larger than every number. With sorted = 0 any order is
// right, and this one is given. k is the parameter of TopK (or, when that is -1, its second input); of PlumbTopK always
// the second input, known before the network runs. The indices of TopK are i32, as TNN has them, of PlumbTopK i64.
#ifndef PLUMB_OP_TOP_K_H_
#define PLUMB_OP_TOP_K_H_

#include "op/core/op.h"

namespace plumb {

struct PlumbTopKParam : ParamBase<PlumbTopKParam> {
  int axis = -1;
  bool largest = true;
  bool sorted = true;
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Bool("largest", largest);
    v.Bool("sorted", sorted);
  }
};

struct TopKParam : ParamBase<TopKParam> {
  int axis = -1;
  bool largest = true;
  bool sorted = true;
  int k = -1;
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Bool("largest", largest);
    v.Bool("sorted", sorted);
    v.Int("k", k);
  }
};

struct TopKShape {
  bool largest = true;
  int64_t outer = 1, size = 1, inner = 1, k = 1;  // the input is [outer][size][inner]
  Shape out;
};

Result<TopKShape> ResolveTopK(const Layer& layer, const std::vector<BlobInfo>& inputs);

}  // namespace plumb

#endif  // PLUMB_OP_TOP_K_H_
