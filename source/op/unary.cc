// Element-wise operators without parameters: y = f(x), any shape, float blobs. Those that make sense for whole numbers (ReLU,
// Abs, Neg, Sign) take i32 and i64 too. The functions stand in device/naive/unary.def.
#include "op/op.h"

namespace plumb {
namespace {

Status InferFloat(ShapeContext& context) {
  if (!IsFloat(context.inputs[0].dtype)) {
    return Status::InvalidArgument(std::string("expects a float blob, found ") + DTypeName(context.inputs[0].dtype));
  }
  return InferSameAsInput(context);
}

Status InferNumber(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  return dtype == DType::kI32 || dtype == DType::kI64 ? InferSameAsInput(context) : InferFloat(context);
}

OpDef Define(Status (*infer)(ShapeContext&)) {
  OpDef op;
  op.infer = infer;
  return op;
}

}  // namespace

#define PLUMB_UNARY(name, infer) \
  OpDef Define##name() { return Define(infer); }
PLUMB_UNARY(ReLU, InferNumber)
PLUMB_UNARY(ReLU6, InferFloat)
PLUMB_UNARY(Sigmoid, InferFloat)
PLUMB_UNARY(LogSigmoid, InferFloat)
PLUMB_UNARY(Swish, InferFloat)
PLUMB_UNARY(Tanh, InferFloat)
PLUMB_UNARY(GELU, InferFloat)
PLUMB_UNARY(Erf, InferFloat)
PLUMB_UNARY(Softplus, InferFloat)
PLUMB_UNARY(Softsign, InferFloat)
PLUMB_UNARY(Exp, InferFloat)
PLUMB_UNARY(Log, InferFloat)
PLUMB_UNARY(Sqrt, InferFloat)
PLUMB_UNARY(Rsqrt, InferFloat)
PLUMB_UNARY(Reciprocal, InferFloat)
PLUMB_UNARY(Abs, InferNumber)
PLUMB_UNARY(Neg, InferNumber)
PLUMB_UNARY(Floor, InferFloat)
PLUMB_UNARY(Ceil, InferFloat)
PLUMB_UNARY(Sign, InferNumber)
PLUMB_UNARY(Sin, InferFloat)
PLUMB_UNARY(Cos, InferFloat)
PLUMB_UNARY(Tan, InferFloat)
PLUMB_UNARY(Asin, InferFloat)
PLUMB_UNARY(Acos, InferFloat)
PLUMB_UNARY(Atan, InferFloat)
#undef PLUMB_UNARY

}  // namespace plumb
