// SPDX-License-Identifier: Apache-2.0
#include "op/pooling.h"

#include <fmt/core.h>

namespace plumb {

void PoolingParam::Visit(ParamVisitor& v) {
  v.Int("pool_type", pool_type);
  v.Int("kernel_h", kernel_h);
  v.Int("kernel_w", kernel_w);
  v.Int("stride_h", stride_h);
  v.Int("stride_w", stride_w);
  v.Int("pad_h", pad_h);
  v.Int("pad_w", pad_w);
  v.Int("kernel_index_h", kernel_index_h);
  kernel_index_w = v.loading() ? kernel_index_h : kernel_index_w;  // a missing w index copies h
  v.Int("kernel_index_w", kernel_index_w);
  VisitPadType(v, pad_type);
  v.Bool("ceil_mode", ceil_mode);
  v.Bool("is_adaptive", is_adaptive);
  v.Int("out_h", out_h);  // TNN's writer swaps these two; we keep the reader's order
  v.Int("out_w", out_w);
}

void PlumbAveragePoolParam::Visit(ParamVisitor& v) {
  v.Int("kernel_h", kernel_h, ParamVisitor::kRequired);
  v.Int("kernel_w", kernel_w, ParamVisitor::kRequired);
  v.Int("stride_h", stride_h);
  v.Int("stride_w", stride_w);
  v.Int("pad_top", pad_top);
  v.Int("pad_bottom", pad_bottom);
  v.Int("pad_left", pad_left);
  v.Int("pad_right", pad_right);
  v.Bool("ceil_mode", ceil_mode);
  v.Bool("count_include_pad", count_include_pad);
}

namespace {

Result<int64_t> KernelSize(int size, int index, const Shape& input, int64_t whole) {
  if (index < 0) return size == 0 ? whole : static_cast<int64_t>(size);
  if (index >= input.rank()) {
    return Status::InvalidArgument(fmt::format("kernel_index {} is outside the input {}", index, input.ToString()));
  }
  return input[index];
}

Status InferPooling(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape shape, ResolvePooling(context.layer, context.shape(0)));
  context.SetAll(context.inputs[0].dtype, {shape.batch, shape.channels, shape.window.h.out, shape.window.w.out});
  return Status::Ok();
}

double PoolingFlops(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  const auto shape = ResolvePooling(layer, inputs[0].shape);
  if (!shape.ok()) return 0;
  if (shape->adaptive) return static_cast<double>(inputs[0].shape.NumElements());
  return static_cast<double>(outputs[0].shape.NumElements()) *
         static_cast<double>(shape->window.h.kernel * shape->window.w.kernel);
}

Result<PoolingShape> ResolvePlumbAveragePool(const Layer& layer, const Shape& input) {
  const auto& p = ParamOf<PlumbAveragePoolParam>(layer);
  PoolingShape shape;
  shape.batch = input[0];
  shape.channels = input[1];
  shape.average = true;
  shape.count_include_pad = p.count_include_pad;
  shape.window.h = {input[2], 1, p.kernel_h, p.stride_h, 1, p.pad_top, p.pad_bottom};
  shape.window.w = {input[3], 1, p.kernel_w, p.stride_w, 1, p.pad_left, p.pad_right};
  PLUMB_RETURN_IF_ERROR(ResolveWindow(kPadExplicit, p.ceil_mode, &shape.window.h).AddContext("height"));
  PLUMB_RETURN_IF_ERROR(ResolveWindow(kPadExplicit, p.ceil_mode, &shape.window.w).AddContext("width"));
  return shape;
}

}  // namespace

Result<PoolingShape> ResolvePooling(const Layer& layer, const Shape& input) {
  if (input.rank() != 4) return Status::InvalidArgument("expects an input of rank 4, found " + input.ToString());
  if (layer.kind == OpKind::kPlumbAveragePool) return ResolvePlumbAveragePool(layer, input);
  const auto& p = ParamOf<PoolingParam>(layer);
  if (p.pool_type != kPoolMax && p.pool_type != kPoolAverage) {
    return Status::InvalidArgument(fmt::format("pool_type {} is not 0 (max) or 1 (average)", p.pool_type));
  }
  PoolingShape shape;
  shape.batch = input[0];
  shape.channels = input[1];
  shape.average = p.pool_type == kPoolAverage;
  shape.adaptive = p.is_adaptive;
  WindowAxis& h = shape.window.h;
  WindowAxis& w = shape.window.w;
  h.in = input[2];
  w.in = input[3];
  if (p.is_adaptive) {
    if (p.out_h <= 0 || p.out_w <= 0)
      return Status::InvalidArgument("adaptive pooling needs a positive out_h and out_w");
    h.out = p.out_h;
    w.out = p.out_w;
    return shape;
  }
  const bool global = p.kernel_h == 0 && p.kernel_w == 0 && p.kernel_index_h < 0 && p.kernel_index_w < 0;
  PLUMB_ASSIGN_OR_RETURN(h.kernel, KernelSize(p.kernel_h, p.kernel_index_h, input, h.in));
  PLUMB_ASSIGN_OR_RETURN(w.kernel, KernelSize(p.kernel_w, p.kernel_index_w, input, w.in));
  h.stride = global ? 1 : p.stride_h;
  w.stride = global ? 1 : p.stride_w;
  h.pad_begin = h.pad_end = global ? 0 : p.pad_h;
  w.pad_begin = w.pad_end = global ? 0 : p.pad_w;
  const int pad_type = global ? kPadExplicit : p.pad_type;
  PLUMB_RETURN_IF_ERROR(ResolveWindow(pad_type, p.ceil_mode, &h).AddContext("height"));
  PLUMB_RETURN_IF_ERROR(ResolveWindow(pad_type, p.ceil_mode, &w).AddContext("width"));
  return shape;
}

template <class P>
OpDef Define() {
  OpDef op;
  op.make_param = MakeParam<P>;
  op.infer = InferPooling;
  op.flops = PoolingFlops;
  op.sums = Sums::kTerms;
  return op;
}

OpDef DefinePooling() { return Define<PoolingParam>(); }
OpDef DefinePlumbAveragePool() { return Define<PlumbAveragePoolParam>(); }

}  // namespace plumb
