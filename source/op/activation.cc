#include "op/activation.h"

namespace plumb {
namespace {

Status InferClip(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  return dtype == DType::kI32 || dtype == DType::kI64 ? InferSameAsInput(context) : InferFloatSameAsInput(context);
}

Status InferHardSwish(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  if (context.inputs.size() < 2) return Status::Ok();
  if (context.inputs[1].dtype != context.inputs[0].dtype) {
    return Status::InvalidArgument(std::string("inputs have different dtypes: ") + DTypeName(context.inputs[0].dtype) +
                                   " and " + DTypeName(context.inputs[1].dtype));
  }
  PLUMB_ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(context.shape(0), context.shape(1)));
  context.SetAll(context.inputs[0].dtype, out);
  return Status::Ok();
}

template <class P>
OpDef DefineActivation(Status (*infer)(ShapeContext&) = InferFloatSameAsInput) {
  OpDef op;
  op.make_param = MakeParam<P>;
  op.infer = infer;
  return op;
}

}  // namespace

OpDef DefineLeakyRelu() { return DefineActivation<LeakyReluParam>(); }
OpDef DefineElu() { return DefineActivation<EluParam>(); }
OpDef DefineSelu() { return DefineActivation<SeluParam>(); }
OpDef DefineHardSigmoid() { return DefineActivation<HardParam>(); }
OpDef DefineHardSwish() { return DefineActivation<HardParam>(InferHardSwish); }
OpDef DefineClip() { return DefineActivation<ClipParam>(InferClip); }
OpDef DefinePower() { return DefineActivation<PowerParam>(); }
OpDef DefinePlumbCelu() { return DefineActivation<CeluParam>(); }
OpDef DefinePlumbThresholdedRelu() { return DefineActivation<ThresholdedReluParam>(); }
OpDef DefinePlumbShrink() { return DefineActivation<ShrinkParam>(); }

}  // namespace plumb
