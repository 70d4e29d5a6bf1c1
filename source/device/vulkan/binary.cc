// SPDX-License-Identifier: Apache-2.0
// Binary element-wise operators with broadcasting, one of the operands perhaps the layer's constant; and HardSwish of
// two inputs, which is one more of them: binary.comp.
#include <fmt/core.h>

#include <algorithm>

#include "device/shared/binary_operands.h"
#include "device/shared/walk.h"
#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"
#include "op/activation.h"

namespace plumb::vulkan {
namespace {

constexpr size_t kBinaryMaxRank = 8;

// The rows of op/binary.def, whose numbers are the shader's cases (CMakeLists.txt writes them), and the gate behind
// them.
const OpKind kBinaryOps[] = {
#define PLUMB_BINARY(name, ...) OpKind::k##name,
#include "op/binary.def"
#undef PLUMB_BINARY
    OpKind::kHardSwish};

bool StaysChannel4Binary(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, const BinaryOperands& o) {
  if (std::none_of(arriving.begin(), arriving.end(), IsChannel4)) return false;
  if (o.constant >= 0 && spec.precision != Precision::kHigh) return false;  // the constant is not to be rounded
  return o.shape[0].rank() <= 7 && o.FitsBlocks();
}

Result<Walk> WalkOfBinary(const KernelSpec& spec, const BinaryOperands& o, bool channel4 = false) {
  const auto memory = [block = channel4 ? 4 : 1](const Shape& shape) { return MemoryDims(shape, block); };
  Walk walk = BroadcastWalk({memory(o.shape[0]), memory(o.shape[1])}, memory(spec.outputs[0].shape));
  if (walk.rank() > kBinaryMaxRank) return Status::NotSupported("broadcasts over more than 8 dims");
  return walk;
}

Status SupportsBinary(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireNumber(spec));
  PLUMB_RETURN_IF_ERROR(CaseOf(kBinaryOps, spec.layer()).status());
  PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
  return WalkOfBinary(spec, operands).status();
}

Status LayoutsBinary(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  PLUMB_RETURN_IF_ERROR(PlainInPlace(spec, arriving, choice));
  PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
  if (!StaysChannel4Binary(spec, arriving, operands)) return Status::Ok();
  choice->inputs.assign(arriving.size(), Channel4Layout(spec));
  choice->outputs = {Channel4Layout(spec)};
  return Status::Ok();
}

// The constant operand as it must lie in memory.
Result<Argument> ConstantOperand(Builder* b, const BinaryOperands& operands, bool channel4) {
  const Tensor& element = operands.element;
  if (!channel4 || element.NumElements() == 1) return b->Constant(element);
  const Shape& shape = operands.shape[operands.constant];
  std::vector<float> packed(Channel4Layout(false)->Bytes(DType::kF32, shape) / sizeof(float));
  PackChannel4(shape, element.data<float>(), packed.data());
  return b->Constant(packed.data(), packed.size() * sizeof(float));
}

Status BuildBinary(Builder* b) {
  const bool channel4 = IsChannel4(b->outputs[0].layout);
  PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(b->spec));
  PLUMB_ASSIGN_OR_RETURN(const Walk walk, WalkOfBinary(b->spec, operands, channel4));
  const DType dtype = b->inputs[0].dtype;
  PLUMB_ASSIGN_OR_RETURN(const uint32_t op, CaseOf(kBinaryOps, b->layer()));
  LaunchSpec launch;
  launch.shader = fmt::format("binary{}{}", DTypeSuffix(dtype), HalfSuffix(b->outputs[0].layout));
  launch.constants = {op, static_cast<uint32_t>(walk.rank()), channel4 ? 1u : 0u};
  launch.arguments = {Argument::Output(0), Argument::Input(0), Argument::Input(static_cast<int>(b->inputs.size()) - 1)};
  if (operands.constant >= 0) {
    PLUMB_ASSIGN_OR_RETURN(launch.arguments[static_cast<size_t>(1 + operands.constant)],
                           ConstantOperand(b, operands, channel4));
  }
  const auto count = static_cast<int64_t>(b->outputs[0].bytes() / ElementBytes(b->outputs[0]));
  const MapShape map = MapOf(b->outputs[0].shape);
  const bool gate = b->layer().kind == OpKind::kHardSwish;
  const HardParam hard = gate ? ParamOf<HardParam>(b->layer()) : HardParam();
  launch.push.Int(count).Float(hard.alpha).Float(hard.beta).Int(map.channels).Int(map.pixels);
  launch.push.Ints(walk.dims, kBinaryMaxRank)
      .Ints(walk.strides[0], kBinaryMaxRank)
      .Ints(walk.strides[1], kBinaryMaxRank);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

Status SupportsGate(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  if (spec.inputs.size() != 2) return Status::NotSupported("takes two inputs");
  return SupportsBinary(spec);
}

}  // namespace

const KernelFunctions kernel_binary = {SupportsBinary, BuildBinary, LayoutsBinary};
const KernelFunctions kernel_gate = {SupportsGate, BuildBinary, LayoutsBinary};

}  // namespace plumb::vulkan
