// Element-wise operators without parameters: y = f(x), any shape, float blobs. Those that make sense for whole numbers
// (ReLU, Abs, Neg, Sign) take i32 and i64 too. PlumbRound: to the nearest whole number, ties to even. The functions
// stand in device/naive/unary.def.
#include "op/op.h"

namespace plumb {
namespace {

Status InferNumberUnary(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  return dtype == DType::kI32 || dtype == DType::kI64 ? InferSameAsInput(context) : InferFloatSameAsInput(context);
}

OpDef DefineUnary(Status (*infer)(ShapeContext&)) {
  OpDef op;
  op.infer = infer;
  return op;
}

}  // namespace

#define PLUMB_UNARY(name, infer) \
  OpDef Define##name() { return DefineUnary(infer); }
PLUMB_UNARY(ReLU, InferNumberUnary)
PLUMB_UNARY(ReLU6, InferFloatSameAsInput)
PLUMB_UNARY(Sigmoid, InferFloatSameAsInput)
PLUMB_UNARY(LogSigmoid, InferFloatSameAsInput)
PLUMB_UNARY(Swish, InferFloatSameAsInput)
PLUMB_UNARY(Tanh, InferFloatSameAsInput)
PLUMB_UNARY(GELU, InferFloatSameAsInput)
PLUMB_UNARY(Erf, InferFloatSameAsInput)
PLUMB_UNARY(Softplus, InferFloatSameAsInput)
PLUMB_UNARY(Softsign, InferFloatSameAsInput)
PLUMB_UNARY(Exp, InferFloatSameAsInput)
PLUMB_UNARY(Log, InferFloatSameAsInput)
PLUMB_UNARY(Sqrt, InferFloatSameAsInput)
PLUMB_UNARY(Rsqrt, InferFloatSameAsInput)
PLUMB_UNARY(Reciprocal, InferFloatSameAsInput)
PLUMB_UNARY(Abs, InferNumberUnary)
PLUMB_UNARY(Neg, InferNumberUnary)
PLUMB_UNARY(Floor, InferFloatSameAsInput)
PLUMB_UNARY(Ceil, InferFloatSameAsInput)
PLUMB_UNARY(Sign, InferNumberUnary)
PLUMB_UNARY(Sin, InferFloatSameAsInput)
PLUMB_UNARY(Cos, InferFloatSameAsInput)
PLUMB_UNARY(Tan, InferFloatSameAsInput)
PLUMB_UNARY(Asin, InferFloatSameAsInput)
PLUMB_UNARY(Acos, InferFloatSameAsInput)
PLUMB_UNARY(Atan, InferFloatSameAsInput)
PLUMB_UNARY(PlumbSinh, InferFloatSameAsInput)
PLUMB_UNARY(PlumbCosh, InferFloatSameAsInput)
PLUMB_UNARY(PlumbAsinh, InferFloatSameAsInput)
PLUMB_UNARY(PlumbAcosh, InferFloatSameAsInput)
PLUMB_UNARY(PlumbAtanh, InferFloatSameAsInput)
PLUMB_UNARY(PlumbMish, InferFloatSameAsInput)
PLUMB_UNARY(PlumbRound, InferFloatSameAsInput)
#undef PLUMB_UNARY

}  // namespace plumb
