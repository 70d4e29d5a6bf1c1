// SPDX-License-Identifier: Apache-2.0
// Random operators: their output becomes a network input of the same name, so that the reference, the devices and the
// original framework compute on the same numbers (-i gives them, else they are drawn like every input). The drawing
// itself is not tested.
#include <fmt/core.h>

#include "format/onnx/node_context.h"
namespace plumb::onnx {
namespace {

Status FromOutside(NodeContext& c, const Shape& shape, int type) {
  const std::string& name = c.node().outputs[0];
  const std::string& own = c.node().name.empty() ? name : c.node().name;
  if (c.builder().node_name() != own || c.builder().IsNamed(name)) {
    return Status::NotSupported(
        "random values inside a loop, a branch or a function, which cannot be given from outside");
  }
  PLUMB_ASSIGN_OR_RETURN(const DType dtype, CarriedDType(type));
  PLUMB_RETURN_IF_ERROR(shape.Validate());
  PLUMB_RETURN_IF_ERROR(c.builder().CheckSize(dtype, shape));
  c.Set(0, c.builder().AddInput(name, dtype, shape, type), type);
  c.Warn("AL11", fmt::format("is random: its output '{}' is a network input now; give its values with -i {}=FILE, else "
                             "they are drawn like every input",
                             name, name));
  return Status::Ok();
}

Status FromAttribute(NodeContext& c) {
  return FromOutside(c, Shape(c.IntList("shape")), static_cast<int>(c.Int("dtype", kTypeFloat)));
}

// Shaped like the first input, and of its type unless the attribute says another.
Status LikeInput(NodeContext& c) {
  return FromOutside(c, c.ShapeOf(0), static_cast<int>(c.Int("dtype", c.In(0).type)));
}

}  // namespace

Status MapRandomNormal(NodeContext& c) { return FromAttribute(c); }
Status MapRandomUniform(NodeContext& c) { return FromAttribute(c); }
Status MapRandomNormalLike(NodeContext& c) { return LikeInput(c); }
Status MapRandomUniformLike(NodeContext& c) { return LikeInput(c); }
Status MapBernoulli(NodeContext& c) { return LikeInput(c); }

Status MapMultinomial(NodeContext& c) {
  const Shape& x = c.ShapeOf(0);
  if (x.rank() != 2) return Status::CorruptModel("the input must have rank 2, found " + x.ToString());
  return FromOutside(c, Shape{x[0], c.Int("sample_size", 1)}, static_cast<int>(c.Int("dtype", kTypeInt32)));
}

}  // namespace plumb::onnx
