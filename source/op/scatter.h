// SPDX-License-Identifier: Apache-2.0
// ScatterElements, PlumbScatterElements, ScatterND, PlumbScatterND: a copy of `data` with `updates` written, or
// combined, where the indices say; updates are applied in their order. Inputs: data, indices, updates. *Elements: one
// element per index, along `axis` (as in op/gather_elements.h). *ND: each vector in the last dim of the indices names a
// slice of the data. Negative indices count from the end; one outside is an error when the layer runs. ScatterElements
// is TNN's (op 0 assign, 1 add), ScatterND TNN's with all three as inputs (TNN also allows constants in a resource
// record: put them into the constants section). The Plumb types name the reduction: none, add, mul, min, max.
#ifndef PLUMB_OP_SCATTER_H_
#define PLUMB_OP_SCATTER_H_

#include "op/core/op.h"

namespace plumb {

struct ScatterElementsParam : ParamBase<ScatterElementsParam> {
  int axis = 0;
  int op = 0;  // 0 assign, 1 add
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Int("op", op);
  }
};

struct PlumbScatterElementsParam : ParamBase<PlumbScatterElementsParam> {
  int axis = 0;
  std::string reduction = "none";
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Text("reduction", reduction);
  }
};

struct PlumbScatterNDParam : ParamBase<PlumbScatterNDParam> {
  std::string reduction = "none";
  void Visit(ParamVisitor& v) override { v.Text("reduction", reduction); }
};

enum class Reduction { kNone, kAdd, kMul, kMin, kMax };

struct ScatterShape {
  Reduction reduction = Reduction::kNone;
  int axis = -1;      // of *Elements; -1: *ND
  int64_t slice = 1;  // elements written per target
};

Result<ScatterShape> ResolveScatter(const Layer& layer, const std::vector<BlobInfo>& inputs);
// Where in the data each slice of the updates starts.
Result<std::vector<int64_t>> ScatterTargets(const ScatterShape& s, const Shape& data, const Tensor& indices);

}  // namespace plumb

#endif  // PLUMB_OP_SCATTER_H_
