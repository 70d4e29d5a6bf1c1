// SPDX-License-Identifier: Apache-2.0
// PlumbGatherElements: out[i][j][k] = data[index[i][j][k]][j][k] for axis 0, and so on; the output has the shape of the
// indices. Negative indices count from the end; one outside the dim is an error when the layer runs.
#ifndef PLUMB_OP_GATHER_ELEMENTS_H_
#define PLUMB_OP_GATHER_ELEMENTS_H_

#include "op/core/op.h"

namespace plumb {

struct GatherElementsParam : ParamBase<GatherElementsParam> {
  int axis = 0;
  void Visit(ParamVisitor& v) override { v.Int("axis", axis); }
};

// For each element of `indices`, which element of a dense blob `data` it names along `axis` (already normalised), the
// other coordinates being the element's own.
Result<std::vector<int64_t>> ElementsAlong(const Shape& data, int axis, const Tensor& indices);
// OK when `indices` may index `data` element by element along any axis but in the dims of the others.
Status CheckElementIndices(const Shape& data, const BlobInfo& indices, int axis);

}  // namespace plumb

#endif  // PLUMB_OP_GATHER_ELEMENTS_H_
