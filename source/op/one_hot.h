// SPDX-License-Identifier: Apache-2.0
// OneHot, PlumbOneHot: a new dim of size depth at `axis`; on_value where its coordinate is the index, else off_value.
// An index from -depth on counts from the end; one outside [-depth, depth) gives off values only. Indices may be floats
// (truncated). OneHot is TNN's: depth and values are parameters, the output is f32. PlumbOneHot is ONNX's: inputs
// indices, depth (known before the network runs), [off_value, on_value], whose dtype the output has.
#ifndef PLUMB_OP_ONE_HOT_H_
#define PLUMB_OP_ONE_HOT_H_

#include "op/core/op.h"

namespace plumb {

struct OneHotParam : ParamBase<OneHotParam> {
  int axis = -1;
  int depth = -1;
  float off_value = 0;
  float on_value = 1;
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Int("depth", depth);
    v.Float("off_value", off_value);
    v.Float("on_value", on_value);
  }
};

struct PlumbOneHotParam : ParamBase<PlumbOneHotParam> {
  int axis = -1;
  void Visit(ParamVisitor& v) override { v.Int("axis", axis); }
};

struct OneHotShape {
  int64_t depth = 1, inner = 1;  // the output is [outer][depth][inner], the indices [outer][inner]
  Shape out;
  DType dtype = DType::kF32;
};

Result<OneHotShape> ResolveOneHot(const Layer& layer, const std::vector<BlobInfo>& inputs);

}  // namespace plumb

#endif  // PLUMB_OP_ONE_HOT_H_
