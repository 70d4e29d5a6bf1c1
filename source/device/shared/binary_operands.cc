// SPDX-License-Identifier: Apache-2.0
#include "device/shared/binary_operands.h"

#include <fmt/core.h>

#include "op/binary.h"

namespace plumb {

Result<BinaryOperands> BinaryOperandsOf(const KernelSpec& spec) {
  BinaryOperands operands;
  operands.shape[0] = operands.shape[1] = spec.inputs[0].shape;
  if (spec.inputs.size() == 2) {
    operands.shape[1] = spec.inputs[1].shape;
    return operands;
  }
  const Layer& layer = spec.layer();
  const Tensor* element = layer.Resource("element");
  if (element == nullptr) {
    return Status::NotFound(fmt::format("layer '{}' has neither a second input nor a constant", layer.name));
  }
  operands.constant = ParamOf<BinaryParam>(layer).weight_input_index == 0 ? 0 : 1;
  Shape& shape = operands.shape[operands.constant];
  PLUMB_ASSIGN_OR_RETURN(shape, ConstantOperandShape(*element, spec.inputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(operands.element, element->ConvertedTo(spec.inputs[0].dtype));
  PLUMB_ASSIGN_OR_RETURN(operands.element, operands.element.Reshaped(shape));
  return operands;
}

bool BinaryOperands::FitsBlocks() const {
  const Shape &a = shape[0], &b = shape[1];
  return a.rank() == b.rank() && a.rank() >= 2 && (has_single_constant() || a[1] == b[1]);
}

std::vector<int64_t> MemoryDims(const Shape& shape, int64_t block) {
  std::vector<int64_t> dims = shape.dims();
  if (block == 1) return dims;
  const bool single = shape.NumElements() == 1;
  if (!single) dims[1] = (dims[1] + block - 1) / block;
  dims.push_back(single ? 1 : block);
  return dims;
}

}  // namespace plumb
