#include "op/concat.h"

namespace plumb {
namespace {

Status Infer(ShapeContext& context) {
  Shape out = context.shape(0);
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ConcatParam>(context.layer).axis, out.rank()));
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const Shape& next = context.inputs[i].shape;
    Shape expected = out;
    if (next.rank() == out.rank()) expected[axis] = next[axis];
    if (next != expected || context.inputs[i].dtype != context.inputs[0].dtype) {
      return Status::InvalidArgument("input " + std::to_string(i) + " is " + DTypeName(context.inputs[i].dtype) + " " +
                                     next.ToString() + ", which does not join " + DTypeName(context.inputs[0].dtype) + " " +
                                     out.ToString() + " along axis " + std::to_string(axis));
    }
    out[axis] += next[axis];
  }
  context.SetAll(context.inputs[0].dtype, out);
  return Status::Ok();
}

}  // namespace

OpDef DefineConcat() {
  OpDef op;
  op.make_param = MakeParam<ConcatParam>;
  op.infer = Infer;
  op.moves_data_only = true;
  return op;
}

}  // namespace plumb
