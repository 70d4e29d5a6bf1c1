// SPDX-License-Identifier: Apache-2.0
// The comparisons of op/compare.def with broadcasting: compare.comp.
#include "op/compare.h"

#include <fmt/core.h>

#include "device/shared/walk.h"
#include "device/vulkan/kernel_list.h"
#include "op/binary.h"

namespace plumb::vulkan {
namespace {

constexpr size_t kCompareMaxRank = 8;

Result<CompareOperands> OperandsOf(const KernelSpec& spec) {
  if (spec.layer().kind != OpKind::kNot) return ResolveCompare(spec.layer(), spec.inputs);
  return CompareOperands{spec.inputs[0], spec.inputs[0], spec.inputs[0].shape};
}

Status SupportsCompare(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireDType(spec, DType::kBool));
  PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, OperandsOf(spec));
  if (o.a.dtype == DType::kF16 || o.a.dtype == DType::kBF16) {
    return Status::NotSupported(fmt::format("compares no {} operands", DTypeName(o.a.dtype)));
  }
  if (BroadcastWalk({o.a.shape.dims(), o.b.shape.dims()}, o.out.dims()).rank() > kCompareMaxRank) {
    return Status::NotSupported("broadcasts over more than 8 dims");
  }
  return RequireDType(spec, o.a.dtype);
}

Status BuildCompare(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, OperandsOf(b->spec));
  const Walk walk = BroadcastWalk({o.a.shape.dims(), o.b.shape.dims()}, o.out.dims());
  LaunchSpec launch;
  launch.shader = "compare" + DTypeSuffix(o.a.dtype);
  launch.constants = {static_cast<uint32_t>(CompareRow(b->layer().kind)), static_cast<uint32_t>(walk.rank())};
  launch.arguments = {Argument::Output(0), Argument::Input(0), Argument::Input(static_cast<int>(b->inputs.size()) - 1)};
  if (b->inputs.size() == 1 && b->layer().kind != OpKind::kNot) {
    const bool first = ParamOf<BinaryParam>(b->layer()).weight_input_index == 0;
    PLUMB_ASSIGN_OR_RETURN(launch.arguments[first ? 1 : 2], b->Constant(first ? o.a.value : o.b.value));
  }
  const int64_t count = b->outputs[0].shape.NumElements();
  launch.push.Int(count)
      .Ints(walk.dims, kCompareMaxRank)
      .Ints(walk.strides[0], kCompareMaxRank)
      .Ints(walk.strides[1], kCompareMaxRank);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_compare = {SupportsCompare, BuildCompare};

}  // namespace plumb::vulkan
