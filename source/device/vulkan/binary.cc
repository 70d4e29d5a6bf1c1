// Binary element-wise operators with broadcasting, one of the operands perhaps the layer's constant; and HardSwish of two
// inputs, which is one more of them: binary.comp.
#include "op/binary.h"

#include <algorithm>

#include "device/vulkan/channel4_layout.h"
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

// The dims as they lie in memory: NC4HW4 has quads of channels and four lanes behind the pixels; a single value stays one.
Shape MemoryShape(const Shape& shape, bool channel4) {
  if (!channel4) return shape;
  std::vector<int64_t> dims = shape.dims();
  const bool single = shape.NumElements() == 1;
  if (!single) dims[1] = (dims[1] + 3) / 4;
  dims.push_back(single ? 1 : 4);
  return Shape(dims);
}

// Equal rank and channels, so that lane by lane the operands belong together, or one of them a single constant.
bool StaysChannel4(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, const Operands& o) {
  if (std::none_of(arriving.begin(), arriving.end(), IsChannel4)) return false;
  if (o.constant >= 0 && spec.precision != Precision::kHigh) return false;  // the constant is not to be rounded
  const Shape &a = o.shape[0], &b = o.shape[1];
  if (a.rank() != b.rank() || a.rank() > 7) return false;
  return (o.constant >= 0 && o.element->NumElements() == 1) || a[1] == b[1];
}

Result<Walk> WalkOf(const KernelSpec& spec, const Operands& o, bool channel4 = false) {
  Walk walk = BroadcastWalk({MemoryShape(o.shape[0], channel4), MemoryShape(o.shape[1], channel4)},
                            MemoryShape(spec.outputs[0].shape, channel4));
  if (walk.rank() > kMaxRank) return Status::NotSupported("broadcasts over more than 8 dims");
  return walk;
}

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireNumber(spec));
  PLUMB_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(spec));
  return WalkOf(spec, operands).status();
}

Status Layouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  PLUMB_RETURN_IF_ERROR(PlainInPlace(spec, arriving, choice));
  PLUMB_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(spec));
  if (!StaysChannel4(spec, arriving, operands)) return Status::Ok();
  choice->inputs.assign(arriving.size(), Channel4Layout(spec));
  choice->outputs = {Channel4Layout(spec)};
  return Status::Ok();
}

// The constant operand as it must lie in memory.
Result<Argument> ConstantOperand(Builder* b, const Operands& operands, bool channel4) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor element, operands.element->ConvertedTo(b->inputs[0].dtype));
  if (!channel4 || element.NumElements() == 1) return b->Constant(element);
  const Shape& shape = operands.shape[operands.constant];
  std::vector<float> packed(Channel4Layout(false)->Bytes(DType::kF32, shape) / sizeof(float));
  PackChannel4(shape, element.data<float>(), packed.data());
  return b->Constant(packed.data(), packed.size() * sizeof(float));
}

Status Build(Builder* b) {
  const bool channel4 = IsChannel4(b->outputs[0].layout);
  PLUMB_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(b->spec));
  PLUMB_ASSIGN_OR_RETURN(const Walk walk, WalkOf(b->spec, operands, channel4));
  const DType dtype = b->inputs[0].dtype;
  uint32_t op = 0;
  while (b->layer().type != kOps[op]) ++op;
  LaunchSpec launch;
  launch.shader = "binary" + DTypeSuffix(dtype) + HalfSuffix(b->outputs[0].layout);
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

const KernelFunctions kernel_binary = {Supports, Build, Layouts};
const KernelFunctions kernel_gate = {SupportsGate, Build, Layouts};

}  // namespace plumb::vulkan
