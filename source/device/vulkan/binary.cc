// Binary element-wise operators with broadcasting, one of the operands perhaps the layer's constant; and HardSwish of two
// inputs, which is one more of them: binary.comp.
#include "op/binary.h"

#include "device/vulkan/kernel_list.h"
#include "device/vulkan/walk.h"
#include "op/activation.h"

namespace plumb::vulkan {
namespace {

constexpr size_t kMaxRank = 8;

// In the order of the shader's cases.
const char* const kOps[] = {"Add", "Sub", "Mul", "Div", "Maximum", "Minimum", "SquaredDifference", "PlumbPow", "HardSwish"};

struct Operands {
  Shape shape[2];
  int constant = -1;  // which operand the layer's resource is
  const Tensor* element = nullptr;
};

Result<Operands> OperandsOf(const KernelSpec& spec) {
  Operands o;
  o.shape[0] = o.shape[1] = spec.inputs[0].shape;
  if (spec.inputs.size() == 2) {
    o.shape[1] = spec.inputs[1].shape;
    return o;
  }
  o.element = spec.layer().Resource("element");
  if (o.element == nullptr) return Status::CorruptModel("the constant operand is missing");
  o.constant = ParamOf<BinaryParam>(spec.layer()).weight_input_index == 0 ? 0 : 1;
  PLUMB_ASSIGN_OR_RETURN(o.shape[o.constant], ConstantOperandShape(*o.element, spec.inputs[0].shape));
  return o;
}

Result<Walk> WalkOf(const KernelSpec& spec, const Operands& o) {
  Walk walk = BroadcastWalk({o.shape[0], o.shape[1]}, spec.outputs[0].shape);
  if (walk.rank() > kMaxRank) return Status::NotSupported("broadcasts over more than 8 dims");
  return walk;
}

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireNumber(spec));
  PLUMB_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(spec));
  return WalkOf(spec, operands).status();
}

Status Build(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(b->spec));
  PLUMB_ASSIGN_OR_RETURN(const Walk walk, WalkOf(b->spec, operands));
  const DType dtype = b->inputs[0].dtype;
  uint32_t op = 0;
  while (b->layer().type != kOps[op]) ++op;
  LaunchSpec launch;
  launch.shader = "binary" + DTypeSuffix(dtype);
  launch.constants = {op, static_cast<uint32_t>(walk.rank())};
  launch.arguments = {Argument::Output(0), Argument::Input(0), Argument::Input(static_cast<int>(b->inputs.size()) - 1)};
  if (operands.constant >= 0) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor element, operands.element->ConvertedTo(dtype));
    PLUMB_ASSIGN_OR_RETURN(launch.arguments[static_cast<size_t>(1 + operands.constant)], b->Constant(element));
  }
  const int64_t count = b->outputs[0].shape.NumElements();
  const bool gate = b->layer().kind == OpKind::kHardSwish;
  const HardParam hard = gate ? ParamOf<HardParam>(b->layer()) : HardParam();
  launch.push.Int(count).Float(hard.alpha).Float(hard.beta);
  launch.push.Ints(walk.dims, kMaxRank).Ints(walk.strides[0], kMaxRank).Ints(walk.strides[1], kMaxRank);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

Status SupportsGate(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  if (spec.inputs.size() != 2) return Status::NotSupported("takes two inputs");
  return Supports(spec);
}

}  // namespace

const KernelFunctions kernel_binary = {Supports, Build, PlainInPlace};
const KernelFunctions kernel_gate = {SupportsGate, Build, PlainInPlace};

}  // namespace plumb::vulkan
