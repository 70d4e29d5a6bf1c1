#include "op/top_k.h"

#include "op/strided.h"

namespace plumb {
namespace {

Result<int64_t> KOf(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  if (layer.kind == OpKind::kTopK && ParamOf<TopKParam>(layer).k >= 0) return int64_t{ParamOf<TopKParam>(layer).k};
  if (inputs.size() < 2) return Status::InvalidArgument("k is neither a parameter nor an input");
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> k, KnownInts(inputs[1], "k"));
  if (k.size() == 1) return k[0];
  return Status::InvalidArgument("k must be one number, found " + std::to_string(k.size()));
}

Status Infer(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kI32 && dtype != DType::kI64) {
    return Status::NotSupported(std::string("expects f32, f64, i32 or i64, found ") + DTypeName(dtype));
  }
  PLUMB_ASSIGN_OR_RETURN(const TopKShape s, ResolveTopK(context.layer, context.inputs));
  context.SetAll(dtype, s.out);
  context.outputs[1].dtype = context.layer.kind == OpKind::kTopK ? DType::kI32 : DType::kI64;
  return Status::Ok();
}

template <class P>
OpDef Define() {
  OpDef op;
  op.make_param = MakeParam<P>;
  op.infer = Infer;
  return op;
}

}  // namespace

Result<TopKShape> ResolveTopK(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  TopKShape s;
  const bool tnn = layer.kind == OpKind::kTopK;
  const Shape& in = inputs[0].shape;
  const int wanted = tnn ? ParamOf<TopKParam>(layer).axis : ParamOf<PlumbTopKParam>(layer).axis;
  s.largest = tnn ? ParamOf<TopKParam>(layer).largest : ParamOf<PlumbTopKParam>(layer).largest;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(wanted, in.rank()));
  PLUMB_ASSIGN_OR_RETURN(s.k, KOf(layer, inputs));
  s.outer = in.Count(0, axis);
  s.size = in[axis];
  s.inner = in.CountFrom(axis + 1);
  if (s.k < 0 || s.k > s.size) {
    return Status::InvalidArgument("k " + std::to_string(s.k) + " is outside 0 .. " + std::to_string(s.size) +
                                   ", the size of axis " + std::to_string(axis) + " of " + in.ToString());
  }
  s.out = in;
  s.out[axis] = s.k;
  return s;
}

OpDef DefineTopK() { return Define<TopKParam>(); }
OpDef DefinePlumbTopK() { return Define<PlumbTopKParam>(); }

}  // namespace plumb
