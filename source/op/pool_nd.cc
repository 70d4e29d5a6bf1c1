// SPDX-License-Identifier: Apache-2.0
#include "op/pool_nd.h"

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<std::vector<PoolAxis>> AxesOf(const WindowParam& p, const Shape& in) {
  const auto spatial = static_cast<size_t>(in.rank() < 2 ? 0 : in.rank() - 2);
  const auto fits = [&](const std::vector<int>& v, size_t count) { return v.empty() || v.size() == count; };
  if (p.kernel.size() != spatial || spatial == 0 || !fits(p.strides, spatial) || !fits(p.dilations, spatial) ||
      !fits(p.pads, 2 * spatial)) {
    return Status::InvalidArgument("kernel, strides, dilations (one per spatial dim) and pads (two) do not fit " +
                                   in.ToString());
  }
  std::vector<PoolAxis> axes;
  for (size_t i = 0; i < spatial; ++i) {
    PoolAxis a;
    a.in = in[static_cast<int>(i) + 2];
    a.kernel = p.kernel[i];
    a.stride = p.strides.empty() ? 1 : p.strides[i];
    a.dilation = p.dilations.empty() ? 1 : p.dilations[i];
    a.pad_begin = p.pads.empty() ? 0 : p.pads[i];
    a.pad_end = p.pads.empty() ? 0 : p.pads[i + spatial];
    if (a.kernel < 1 || a.stride < 1 || a.dilation < 1 || a.pad_begin < 0 || a.pad_end < 0) {
      return Status::InvalidArgument("kernel, strides and dilations must be positive, pads not negative");
    }
    axes.push_back(a);
  }
  return axes;
}

Status InferMax(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kI32 && dtype != DType::kI64) {
    return Status::NotSupported(std::string("expects f32, f64, i32 or i64, found ") + DTypeName(dtype));
  }
  PLUMB_ASSIGN_OR_RETURN(const PoolShape s, ResolvePool(ParamOf<MaxPoolParam>(context.layer).window, context.shape(0)));
  context.SetAll(dtype, s.out);
  context.outputs[1].dtype = DType::kI64;
  return Status::Ok();
}

Status InferPool(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  const auto& p = ParamOf<PoolNDParam>(context.layer);
  if ((p.mode != "average" && p.mode != "lp") || p.p < 1) {
    return Status::InvalidArgument(
        fmt::format("expects mode average or lp and p from 1, found '{}' and {}", p.mode, p.p));
  }
  PLUMB_ASSIGN_OR_RETURN(const PoolShape s, ResolvePool(p.window, context.shape(0)));
  context.SetAll(context.inputs[0].dtype, s.out);
  return Status::Ok();
}

Status InferUnpool(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const UnpoolShape s, ResolveUnpool(context.layer, context.inputs));
  context.SetAll(context.inputs[0].dtype, s.out);
  return Status::Ok();
}

double FlopsPoolNd(const Layer& layer, const std::vector<BlobInfo>&, const std::vector<BlobInfo>& outputs) {
  const WindowParam& p =
      layer.kind == OpKind::kPlumbMaxPool ? ParamOf<MaxPoolParam>(layer).window : ParamOf<PoolNDParam>(layer).window;
  double window = 1;
  for (const int k : p.kernel) window *= k;
  return window * static_cast<double>(outputs[0].shape.NumElements());
}

}  // namespace

Result<PoolShape> ResolvePool(const WindowParam& p, const Shape& in) {
  PoolShape s;
  s.in = s.out = in;
  PLUMB_ASSIGN_OR_RETURN(s.axes, AxesOf(p, in));
  for (size_t i = 0; i < s.axes.size(); ++i) {
    PoolAxis& a = s.axes[i];
    const int64_t slack = a.in + a.pad_begin + a.pad_end - (a.kernel - 1) * a.dilation - 1;
    if (slack < 0 || a.pad_begin >= a.kernel * a.dilation) {
      return Status::InvalidArgument(
          fmt::format("a window of {} does not fit dim {} of {} with its pads", a.kernel, i + 2, in.ToString()));
    }
    a.out = (slack + (p.ceil_mode ? a.stride - 1 : 0)) / a.stride + 1;
    if (p.ceil_mode && (a.out - 1) * a.stride >= a.in + a.pad_begin) --a.out;
    s.out[static_cast<int>(i) + 2] = a.out;
  }
  PLUMB_RETURN_IF_ERROR(s.out.Validate());
  return s;
}

Result<UnpoolShape> ResolveUnpool(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const auto& p = ParamOf<MaxUnpoolParam>(layer);
  const Shape& in = inputs[0].shape;
  UnpoolShape s;
  if (inputs[1].dtype != DType::kI64 || inputs[1].shape != in) {
    return Status::InvalidArgument(fmt::format("the indices must be i64 {}, found {} {}", in.ToString(),
                                               DTypeName(inputs[1].dtype), inputs[1].shape.ToString()));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<PoolAxis> axes, AxesOf(p.window, in));
  s.inferred = in;
  for (size_t i = 0; i < axes.size(); ++i) {
    const PoolAxis& a = axes[i];
    s.inferred[static_cast<int>(i) + 2] = (a.in - 1) * a.stride + a.kernel - a.pad_begin - a.pad_end;
  }
  s.out = s.inferred;
  if (inputs.size() == 3) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, KnownInts(inputs[2], "the output shape"));
    s.out = Shape(dims);
  }
  PLUMB_RETURN_IF_ERROR(s.out.Validate());
  PLUMB_RETURN_IF_ERROR(s.inferred.Validate());
  bool holds = s.out.rank() == in.rank();
  for (int d = 0; holds && d < in.rank(); ++d) holds = s.out[d] >= s.inferred[d];
  if (holds) return s;
  return Status::InvalidArgument(
      fmt::format("the output shape {} is smaller than {}", s.out.ToString(), s.inferred.ToString()));
}

OpDef DefinePlumbMaxPool() {
  OpDef op;
  op.make_param = MakeParam<MaxPoolParam>;
  op.infer = InferMax;
  op.flops = FlopsPoolNd;
  return op;
}

OpDef DefinePlumbPoolND() {
  OpDef op;
  op.make_param = MakeParam<PoolNDParam>;
  op.infer = InferPool;
  op.sums = Sums::kTerms;
  op.flops = FlopsPoolNd;
  return op;
}

OpDef DefinePlumbMaxUnpool() {
  OpDef op;
  op.make_param = MakeParam<MaxUnpoolParam>;
  op.infer = InferUnpool;
  return op;
}

}  // namespace plumb
