// SPDX-License-Identifier: Apache-2.0
#include "op/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "op/core/strided.h"

namespace plumb {
namespace {

bool Holds(OpKind kind, int64_t a, int64_t b) {
  switch (kind) {
#define ZERO 0
#define PLUMB_COMPARE(name, min_inputs, max_inputs, expression) \
  case OpKind::k##name:                                         \
    return expression;
#include "op/compare.def"
#undef PLUMB_COMPARE
#undef ZERO
    default: return false;
  }
}

Result<Tensor> EvaluateCompare(OpKind kind, const CompareOperands& o) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor a, ApplyMap(BroadcastMap(o.a.shape, o.out), o.a.value));
  PLUMB_ASSIGN_OR_RETURN(const Tensor b, ApplyMap(BroadcastMap(o.b.shape, o.out), o.b.value));
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide_a, a.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide_b, b.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(DType::kBool, o.out));
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    y.data<bool>()[i] = Holds(kind, wide_a.data<int64_t>()[i], wide_b.data<int64_t>()[i]);
  }
  return y;
}

Status InferCompare(ShapeContext& context) {
  if (context.inputs.size() == 1 && context.layer.Resource("element") == nullptr) {  // not drawn yet: per channel
    context.SetAll(DType::kBool, context.shape(0));
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, ResolveCompare(context.layer, context.inputs));
  context.SetAll(DType::kBool, o.out);
  if (HasHostValue(o.a) && HasHostValue(o.b) && o.out.NumElements() <= kMaxHostValues) {
    PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, EvaluateCompare(context.layer.kind, o));
  }
  return Status::Ok();
}

Status InferLogicalNot(ShapeContext& context) {
  if (IsFloat(context.inputs[0].dtype)) {
    return Status::InvalidArgument(std::string("expects bool or integers, found ") +
                                   DTypeName(context.inputs[0].dtype));
  }
  context.SetAll(DType::kBool, context.shape(0));
  if (!HasHostValue(context.inputs[0])) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Tensor truth, context.inputs[0].value.ConvertedTo(DType::kBool));
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(DType::kBool, truth.shape()));
  for (int64_t i = 0; i < y.NumElements(); ++i) y.data<bool>()[i] = !truth.data<bool>()[i];
  context.outputs[0].value = y;
  return Status::Ok();
}

void ResourcesCompare(ResourceVisitor& v, const Layer& layer) {
  if (layer.inputs.size() < 2) v.Raw("element");
}

Status SpecsCompare(const Layer& layer, const std::vector<BlobInfo>& inputs, std::vector<ResourceSpec>* specs) {
  if (inputs.size() == 2) return Status::Ok();
  const Tensor* element = layer.Resource("element");
  if (element == nullptr) {
    specs->push_back({"element", {inputs[0].shape.DimOrOne(1)}, ResourceSpec::kSmall});
    return Status::Ok();
  }
  specs->push_back({"element", element->shape(), ResourceSpec::kSmall});
  return ConstantOperandShape(*element, inputs[0].shape).status();
}

OpDef DefineCompare() {
  OpDef op;
  op.make_param = MakeParam<BinaryParam>;
  op.infer = InferCompare;
  op.visit_resources = ResourcesCompare;
  op.resource_specs = SpecsCompare;
  return op;
}

}  // namespace

int CompareRow(OpKind kind) {
  const OpKind rows[] = {
#define PLUMB_COMPARE(name, ...) OpKind::k##name,
#include "op/compare.def"
#undef PLUMB_COMPARE
  };
  return static_cast<int>(std::find(std::begin(rows), std::end(rows), kind) - std::begin(rows));
}

Result<CompareOperands> ResolveCompare(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  CompareOperands o;
  o.a = inputs[0];
  if (inputs.size() == 2) {
    o.b = inputs[1];
  } else {
    const Tensor* element = layer.Resource("element");
    if (element == nullptr) return Status::CorruptModel("the constant operand is missing");
    PLUMB_ASSIGN_OR_RETURN(o.b.shape, ConstantOperandShape(*element, o.a.shape));
    PLUMB_ASSIGN_OR_RETURN(const Tensor converted, element->ConvertedTo(o.a.dtype));
    PLUMB_ASSIGN_OR_RETURN(o.b.value, converted.Reshaped(o.b.shape));
    o.b.dtype = o.a.dtype;
    const int index = ParamOf<BinaryParam>(layer).weight_input_index;
    if (index != 0 && index != 1) {
      return Status::InvalidArgument(fmt::format("weight_input_index {} is not 0 or 1", index));
    }
    if (index == 0) std::swap(o.a, o.b);
  }
  if (o.a.dtype != o.b.dtype) {
    return Status::InvalidArgument(
        fmt::format("operands have different dtypes: {} and {}", DTypeName(o.a.dtype), DTypeName(o.b.dtype)));
  }
  PLUMB_ASSIGN_OR_RETURN(o.out, BroadcastShapes(o.a.shape, o.b.shape));
  return o;
}

namespace {

OpDef DefineTwoBlobs() {  // no parameters, no constant of its own: Equal as TNN has it, and ours
  OpDef op;
  op.infer = InferCompare;
  return op;
}

}  // namespace

OpDef DefineEqual() { return DefineTwoBlobs(); }
OpDef DefinePlumbGreaterOrEqual() { return DefineTwoBlobs(); }
OpDef DefinePlumbLessOrEqual() { return DefineTwoBlobs(); }
OpDef DefinePlumbOr() { return DefineTwoBlobs(); }
OpDef DefinePlumbXor() { return DefineTwoBlobs(); }
OpDef DefineGreater() { return DefineCompare(); }
OpDef DefineLess() { return DefineCompare(); }
OpDef DefineAnd() { return DefineCompare(); }
OpDef DefineNot() {
  OpDef op;
  op.infer = InferLogicalNot;
  return op;
}

}  // namespace plumb
