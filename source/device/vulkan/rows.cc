// Operators along one axis of a blob seen as [outer, n, inner], one invocation per row: Softmax, LogSoftmax, ArgMaxOrMin,
// Normalize; LRN, which looks at neighbours along it; InstBatchNormCxx, GroupNorm, LayerNorm over contiguous rows.
#include <climits>

#include "device/vulkan/kernel_list.h"
#include "op/arg_max.h"
#include "op/lrn.h"
#include "op/norm.h"
#include "op/normalize.h"
#include "op/softmax.h"

namespace plumb::vulkan {
namespace {

// A launch over outer * inner rows around the axes [begin, end), with rows, n and inner pushed.
LaunchSpec RowLaunch(const std::string& shader, const Shape& shape, int begin, int end) {
  LaunchSpec launch;
  launch.shader = shader;
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  const int64_t rows = shape.Count(0, begin) * shape.CountFrom(end);
  launch.push.Int(rows).Int(shape.Count(begin, end)).Int(shape.CountFrom(end));
  launch.Over(rows);
  return launch;
}

Status SupportsF32(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  return RequireF32(spec);
}

Status BuildSoftmax(Builder* b) {
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(b->layer()).axis, shape.rank()));
  b->launches.push_back(RowLaunch("softmax", shape, axis, axis + 1));
  b->launches.back().constants = {b->layer().kind == OpKind::kLogSoftmax ? 1u : 0u};
  return Status::Ok();
}

Status SupportsArgMax(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  return RequireNumber(spec);
}

Status BuildArgMax(Builder* b) {
  const auto& p = ParamOf<ArgMaxParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  b->launches.push_back(RowLaunch("arg_max" + DTypeSuffix(b->inputs[0].dtype), shape, axis, axis + 1));
  b->launches.back().constants = {p.mode == 1 ? 1u : 0u, p.select_last_index ? 1u : 0u};
  return Status::Ok();
}

Status BuildNormalize(Builder* b) {
  const auto& p = ParamOf<NormalizeParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  b->launches.push_back(RowLaunch("normalize", shape, axis, p.across_spatial != 0 ? shape.rank() : axis + 1));
  b->launches.back().constants = {p.p == 1 ? 1u : p.p == 2 ? 2u : p.p == INT_MAX ? 3u : 4u};
  b->launches.back().push.Float(p.epsilon);
  return Status::Ok();
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

// Gamma (slot "scale", input 1) or beta (slot "bias", input 2); nothing, and the shader leaves it out: the data instead.
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

Status BuildNorm(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const NormShape shape, ResolveNorm(b->layer(), b->inputs[0].shape));
  LaunchSpec launch;
  launch.shader = "norm";
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  PLUMB_RETURN_IF_ERROR(AddCoefficient(b, "scale", 1, &launch));
  PLUMB_RETURN_IF_ERROR(AddCoefficient(b, "bias", 2, &launch));
  launch.push.Int(shape.rows).Int(shape.n).Int(shape.groups).Int(shape.per_row).Int(shape.inner);
  launch.push.Float(static_cast<float>(shape.eps));
  launch.Over(shape.rows);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_softmax = {SupportsF32, BuildSoftmax, PlainInPlace};
const KernelFunctions kernel_arg_max = {SupportsArgMax, BuildArgMax};
const KernelFunctions kernel_normalize = {SupportsF32, BuildNormalize, PlainInPlace};
const KernelFunctions kernel_lrn = {SupportsF32, BuildLrn};
const KernelFunctions kernel_norm = {SupportsF32, BuildNorm};

}  // namespace plumb::vulkan
