// Operators along one axis of a blob seen as [outer, n, inner], row by row (row_lanes.h): Softmax, LogSoftmax,
// ArgMaxOrMin, Normalize; InstBatchNormCxx, GroupNorm, LayerNorm over contiguous rows. And LRN, which looks at
// neighbours.
#include <algorithm>
#include <climits>

#include "device/shared/axis_view.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/loop_rounds.h"
#include "device/vulkan/row_lanes.h"
#include "op/arg_max.h"
#include "op/lrn.h"
#include "op/norm.h"
#include "op/normalize.h"
#include "op/softmax.h"

namespace plumb::vulkan {
namespace {

// How often the shader walks its row.
constexpr int kSoftmaxPasses = 3, kArgMaxPasses = 1, kNormalizePasses = 2, kNormPasses = 3;

// A launch over outer * inner rows around the axes [begin, end) of input 0, with rows, n and inner pushed and these
// constants.
LaunchSpec RowLaunch(Builder* b, const std::string& shader, int begin, int end, int passes,
                     const std::vector<uint32_t>& constants) {
  const Shape& shape = b->inputs[0].shape;
  LaunchSpec launch;
  launch.shader = shader;
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  const AxisView view = AxisView::Over(shape, begin, end);
  launch.push.Int(view.rows()).Int(view.n).Int(view.inner);
  OverRows(b, view.rows(), view.n, view.inner == 1, passes, &launch);
  launch.constants.insert(launch.constants.end(), constants.begin(), constants.end());
  return launch;
}

Status SupportsF32(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  return RequireF32(spec);
}

Status SupportsSoftmax(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(SupportsF32(spec));
  const Shape& shape = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(spec.layer()).axis, shape.rank()));
  return RequireRow(spec, shape[axis], kSoftmaxPasses);
}

Status BuildSoftmax(Builder* b) {
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(b->layer()).axis, shape.rank()));
  b->launches.push_back(
      RowLaunch(b, "softmax", axis, axis + 1, kSoftmaxPasses, {b->layer().kind == OpKind::kLogSoftmax ? 1u : 0u}));
  return Status::Ok();
}

Status SupportsArgMax(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireNumber(spec));
  const Shape& shape = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ArgMaxParam>(spec.layer()).axis, shape.rank()));
  return RequireRow(spec, shape[axis], kArgMaxPasses);
}

Status BuildArgMax(Builder* b) {
  const auto& p = ParamOf<ArgMaxParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  b->launches.push_back(RowLaunch(b, "arg_max" + DTypeSuffix(b->inputs[0].dtype), axis, axis + 1, kArgMaxPasses,
                                  {p.mode == 1 ? 1u : 0u, p.select_last_index ? 1u : 0u}));
  return Status::Ok();
}

int NormalizeEnd(const NormalizeParam& p, const Shape& shape, int axis) {
  return p.across_spatial != 0 ? shape.rank() : axis + 1;
}

Status SupportsNormalize(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(SupportsF32(spec));
  const auto& p = ParamOf<NormalizeParam>(spec.layer());
  const Shape& shape = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  return RequireRow(spec, shape.Count(axis, NormalizeEnd(p, shape, axis)), kNormalizePasses);
}

Status BuildNormalize(Builder* b) {
  const auto& p = ParamOf<NormalizeParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  const uint32_t norm = p.p == 1 ? 1 : p.p == 2 ? 2 : p.p == INT_MAX ? 3 : 4;
  b->launches.push_back(RowLaunch(b, "normalize", axis, NormalizeEnd(p, shape, axis), kNormalizePasses, {norm}));
  b->launches.back().push.Float(p.epsilon);
  return Status::Ok();
}

Status SupportsLrn(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(SupportsF32(spec));
  return RequireLoopRounds(spec,
                           std::min<int64_t>(ParamOf<LrnParam>(spec.layer()).size, spec.inputs[0].shape.DimOrOne(1)));
}

Status BuildLrn(Builder* b) {
  const auto& p = ParamOf<LrnParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  LaunchSpec launch;
  launch.shader = "lrn";
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  launch.push.Int(shape.NumElements()).Int(shape.DimOrOne(1)).Int(shape.CountFrom(2)).Int(p.size);
  launch.push.Float(p.alpha).Float(p.beta).Float(p.bias);
  launch.Over(shape.NumElements());
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

// Gamma (slot "scale", input 1) or beta (slot "bias", input 2); nothing, and the shader leaves it out: the data
// instead.
Status AddCoefficient(Builder* b, const char* slot, int input, LaunchSpec* launch) {
  const bool given = static_cast<int>(b->inputs.size()) > input;
  const bool resource = !given && b->layer().Resource(slot) != nullptr;
  Argument argument = Argument::Input(given ? input : 0);
  if (resource) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor values, F32Resource(b->layer(), slot));
    PLUMB_ASSIGN_OR_RETURN(argument, b->Constant(values));
  }
  launch->arguments.push_back(argument);
  launch->constants.push_back(given || resource ? 1 : 0);
  return Status::Ok();
}

Status SupportsNorm(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(SupportsF32(spec));
  PLUMB_ASSIGN_OR_RETURN(const NormShape shape, ResolveNorm(spec.layer(), spec.inputs[0].shape));
  return RequireRow(spec, shape.n, kNormPasses);
}

Status BuildNorm(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const NormShape shape, ResolveNorm(b->layer(), b->inputs[0].shape));
  LaunchSpec launch;
  launch.shader = "norm";
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  OverRows(b, shape.rows, shape.n, true, kNormPasses, &launch);
  PLUMB_RETURN_IF_ERROR(AddCoefficient(b, "scale", 1, &launch));
  PLUMB_RETURN_IF_ERROR(AddCoefficient(b, "bias", 2, &launch));
  launch.push.Int(shape.rows).Int(shape.n).Int(shape.groups).Int(shape.per_row).Int(shape.inner);
  launch.push.Float(static_cast<float>(shape.eps));
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_softmax = {SupportsSoftmax, BuildSoftmax, PlainInPlace};
const KernelFunctions kernel_arg_max = {SupportsArgMax, BuildArgMax};
const KernelFunctions kernel_normalize = {SupportsNormalize, BuildNormalize, PlainInPlace};
const KernelFunctions kernel_lrn = {SupportsLrn, BuildLrn};
const KernelFunctions kernel_norm = {SupportsNorm, BuildNorm};

}  // namespace plumb::vulkan
