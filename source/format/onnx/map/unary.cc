// Element-wise operators without attributes. f64 runs as f64; narrow integers wrap around (Neg, Abs).
#include "format/onnx/node_context.h"

namespace plumb::onnx {
namespace {

Status MapUnary(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(kind, nullptr, {c.In(0)}));
  PLUMB_ASSIGN_OR_RETURN(const Value wrapped, c.Wrap(y, c.In(0).type));
  c.Set(0, wrapped);
  return Status::Ok();
}

}  // namespace

#define PLUMB_ONNX_UNARY(onnx, kind) \
  Status Map##onnx(NodeContext& c) { return MapUnary(c, OpKind::k##kind); }
PLUMB_ONNX_UNARY(Relu, ReLU)
PLUMB_ONNX_UNARY(Sigmoid, Sigmoid)
PLUMB_ONNX_UNARY(Tanh, Tanh)
PLUMB_ONNX_UNARY(Exp, Exp)
PLUMB_ONNX_UNARY(Log, Log)
PLUMB_ONNX_UNARY(Sqrt, Sqrt)
PLUMB_ONNX_UNARY(Reciprocal, Reciprocal)
PLUMB_ONNX_UNARY(Abs, Abs)
PLUMB_ONNX_UNARY(Neg, Neg)
PLUMB_ONNX_UNARY(Floor, Floor)
PLUMB_ONNX_UNARY(Ceil, Ceil)
PLUMB_ONNX_UNARY(Sign, Sign)
PLUMB_ONNX_UNARY(Sin, Sin)
PLUMB_ONNX_UNARY(Cos, Cos)
PLUMB_ONNX_UNARY(Tan, Tan)
PLUMB_ONNX_UNARY(Asin, Asin)
PLUMB_ONNX_UNARY(Acos, Acos)
PLUMB_ONNX_UNARY(Atan, Atan)
PLUMB_ONNX_UNARY(Erf, Erf)
PLUMB_ONNX_UNARY(Softplus, Softplus)
PLUMB_ONNX_UNARY(Softsign, Softsign)
PLUMB_ONNX_UNARY(Round, PlumbRound)
PLUMB_ONNX_UNARY(Sinh, PlumbSinh)
PLUMB_ONNX_UNARY(Cosh, PlumbCosh)
PLUMB_ONNX_UNARY(Asinh, PlumbAsinh)
PLUMB_ONNX_UNARY(Acosh, PlumbAcosh)
PLUMB_ONNX_UNARY(Atanh, PlumbAtanh)
#undef PLUMB_ONNX_UNARY

}  // namespace plumb::onnx
