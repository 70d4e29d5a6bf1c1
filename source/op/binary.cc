// SPDX-License-Identifier: Apache-2.0
#include "op/binary.h"

#include <fmt/core.h>

#include "op/core/host_binary.h"

namespace plumb {
namespace {

Status InferBinary(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  if (!IsFloat(dtype) && dtype != DType::kI32 && dtype != DType::kI64) {
    return Status::InvalidArgument(std::string("expects float, i32 or i64 operands, found ") + DTypeName(dtype));
  }
  if (context.inputs.size() == 2) {
    if (context.inputs[0].dtype != context.inputs[1].dtype) {
      return Status::InvalidArgument(fmt::format("operands have different dtypes: {} and {}",
                                                 DTypeName(context.inputs[0].dtype),
                                                 DTypeName(context.inputs[1].dtype)));
    }
    PLUMB_ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(context.shape(0), context.shape(1)));
    context.SetAll(context.inputs[0].dtype, out);
    PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value,
                           KnownBinary(context.layer.kind, context.inputs[0], context.inputs[1], out));
    return Status::Ok();
  }
  const int index = ParamOf<BinaryParam>(context.layer).weight_input_index;
  if (index != 0 && index != 1) {
    return Status::InvalidArgument(fmt::format("weight_input_index {} is not 0 or 1", index));
  }
  const Tensor* element = context.layer.Resource("element");
  if (element == nullptr) {  // not drawn yet: per channel, which never changes the shape
    return InferSameAsInput(context);
  }
  PLUMB_ASSIGN_OR_RETURN(const Shape constant, ConstantOperandShape(*element, context.shape(0)));
  PLUMB_ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(context.shape(0), constant));
  context.SetAll(context.inputs[0].dtype, out);
  return Status::Ok();
}

void ResourcesBinary(ResourceVisitor& v, const Layer& layer) {
  if (layer.inputs.size() < 2) v.Raw("element");
}

template <ResourceSpec::Fill fill>
Status SpecsBinary(const Layer& layer, const std::vector<BlobInfo>& inputs, std::vector<ResourceSpec>* specs) {
  if (inputs.size() == 2) return Status::Ok();
  const Tensor* element = layer.Resource("element");
  if (element != nullptr) {  // any broadcastable constant is right
    specs->push_back({"element", element->shape(), fill});
    return ConstantOperandShape(*element, inputs[0].shape).status();
  }
  specs->push_back({"element", {inputs[0].shape.DimOrOne(1)}, fill});
  return Status::Ok();
}

template <int min_inputs, ResourceSpec::Fill fill>
OpDef DefineBinary() {
  OpDef op;
  op.infer = InferBinary;
  if (min_inputs == 2) return op;  // no constant, so no parameters and no resources
  op.make_param = MakeParam<BinaryParam>;
  op.visit_resources = ResourcesBinary;
  op.resource_specs = SpecsBinary<fill>;
  return op;
}

}  // namespace

Result<Shape> ConstantOperandShape(const Tensor& element, const Shape& input) {
  const int64_t count = element.NumElements();
  const int rank = input.rank();
  if (element.shape().rank() > 1 && BroadcastShapes(input, element.shape()).ok()) return element.shape();
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  if (count == 1) return Shape(dims);
  if (rank >= 2 && count == input[1]) {
    dims[1] = count;
    return Shape(dims);
  }
  if (rank >= 2 && count == input.CountFrom(1)) {
    for (int i = 1; i < rank; ++i) dims[static_cast<size_t>(i)] = input[i];
    return Shape(dims);
  }
  if (rank == 4 && count == input[3]) {
    dims[3] = count;
    return Shape(dims);
  }
  if (rank >= 2 && count == input.CountFrom(2)) {
    for (int i = 2; i < rank; ++i) dims[static_cast<size_t>(i)] = input[i];
    return Shape(dims);
  }
  if (BroadcastShapes(input, element.shape()).ok()) return element.shape();
  return Status::InvalidArgument(
      fmt::format("a constant operand {} does not broadcast against {}", element.shape().ToString(), input.ToString()));
}

#define PLUMB_BINARY(name, min_inputs, fill, ...) \
  OpDef Define##name() { return DefineBinary<min_inputs, ResourceSpec::fill>(); }
#include "op/binary.def"
#undef PLUMB_BINARY

}  // namespace plumb
