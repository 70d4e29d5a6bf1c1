// Element by element: what of ggml is one operator of Plumb.
#include "format/onnx/map/ggml_steps.h"
#include "op/activation.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names
namespace {

Status GgmlElementwise(NodeContext& c, OpKind kind, std::shared_ptr<OpParam> param = nullptr) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(kind, std::move(param), {c.In(0)}));
  return SetGgml(c, y);
}

// The second one is repeated over the first.
Status GgmlOfTwo(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value a, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value given, FourDims(c, c.In(1)));
  PLUMB_ASSIGN_OR_RETURN(const Value b, RepeatedLike(c, given, c.ShapeOf(a).dims()));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(kind, a, b));
  return SetGgml(c, y);
}

}  // namespace

Status MapGgmlADD(NodeContext& c) { return GgmlOfTwo(c, OpKind::kAdd); }
Status MapGgmlSUB(NodeContext& c) { return GgmlOfTwo(c, OpKind::kSub); }
Status MapGgmlMUL(NodeContext& c) { return GgmlOfTwo(c, OpKind::kMul); }
Status MapGgmlDIV(NodeContext& c) { return GgmlOfTwo(c, OpKind::kDiv); }

// scale x + bias
Status MapGgmlSCALE(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Binary(OpKind::kMul, c.In(0), c.ConstFloat(GgmlFloat(c, 0))));
  if (GgmlFloat(c, 1) != 0) {
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, c.ConstFloat(GgmlFloat(c, 1))));
  }
  return SetGgml(c, y);
}

Status MapGgmlCLAMP(NodeContext& c) {
  auto param = std::make_shared<ClipParam>();
  param->min = GgmlFloat(c, 0);
  param->max = GgmlFloat(c, 1);
  return GgmlElementwise(c, OpKind::kClip, param);
}

Status MapGgmlSQR(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, c.In(0), c.In(0)));
  return SetGgml(c, y);
}

Status MapGgmlSQRT(NodeContext& c) { return GgmlElementwise(c, OpKind::kSqrt); }
Status MapGgmlLOG(NodeContext& c) { return GgmlElementwise(c, OpKind::kLog); }
Status MapGgmlSIN(NodeContext& c) { return GgmlElementwise(c, OpKind::kSin); }
Status MapGgmlCOS(NodeContext& c) { return GgmlElementwise(c, OpKind::kCos); }
Status MapGgmlABS(NodeContext& c) { return GgmlElementwise(c, OpKind::kAbs); }
Status MapGgmlNEG(NodeContext& c) { return GgmlElementwise(c, OpKind::kNeg); }
Status MapGgmlEXP(NodeContext& c) { return GgmlElementwise(c, OpKind::kExp); }
Status MapGgmlTANH(NodeContext& c) { return GgmlElementwise(c, OpKind::kTanh); }
Status MapGgmlRELU(NodeContext& c) { return GgmlElementwise(c, OpKind::kReLU); }
Status MapGgmlSIGMOID(NodeContext& c) { return GgmlElementwise(c, OpKind::kSigmoid); }
Status MapGgmlSOFTPLUS(NodeContext& c) { return GgmlElementwise(c, OpKind::kSoftplus); }

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
