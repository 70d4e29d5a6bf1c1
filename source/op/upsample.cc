// SPDX-License-Identifier: Apache-2.0
#include "op/upsample.h"

#include <fmt/core.h>

#include <cmath>

#include "op/core/strided.h"

namespace plumb {

void UpsampleParam::Visit(ParamVisitor& v) {
  v.Int("mode", mode, ParamVisitor::kRequired);
  v.Float("scale_h", scale_h, ParamVisitor::kRequired);
  v.Float("scale_w", scale_w, ParamVisitor::kRequired);
  v.Int("align_corners", align_corners);
  const bool sized = v.loading() ? v.HasMore() : out_h != 0 || out_w != 0;
  if (!sized) return;
  v.Int("out_h", out_h, ParamVisitor::kRequired);
  v.Int("out_w", out_w, ParamVisitor::kRequired);
}

namespace {

struct Size {
  int64_t h = 0, w = 0;
};

// In float, as TNN does: 5 * 0.7f is 3.5 there and becomes 4.
Size Scaled(const Shape& in, float scale_h, float scale_w) {
  return {std::llround(static_cast<float>(in[2]) * scale_h), std::llround(static_cast<float>(in[3]) * scale_w)};
}

Result<Size> SizeFromScales(const Shape& in, const BlobInfo& scales) {
  if (scales.value.empty() || scales.value.NumElements() < 2) {
    return Status::NotSupported(
        fmt::format("the scales of Upsample come from a blob {}; two or more values that are known before the network "
                    "runs are needed",
                    scales.shape.ToString()));
  }
  const int64_t count = scales.value.NumElements();
  return Scaled(in, static_cast<float>(scales.value.ValueAt(count - 2)),
                static_cast<float>(scales.value.ValueAt(count - 1)));
}

Result<Size> OutputSize(const UpsampleParam& p, const std::vector<BlobInfo>& inputs) {
  const Shape& in = inputs[0].shape;
  if (inputs.size() == 4) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, KnownInts(inputs[3], "the sizes of Upsample"));
    if (sizes.size() < 2)
      return Status::InvalidArgument("the sizes of Upsample need two or more values, found " +
                                     std::to_string(sizes.size()));
    return Size{sizes[sizes.size() - 2], sizes[sizes.size() - 1]};
  }
  if (inputs.size() > 1) return SizeFromScales(in, inputs.back());
  if (p.out_h != 0 || p.out_w != 0) return Size{p.out_h, p.out_w};
  return Scaled(in, p.scale_h, p.scale_w);
}

Status InferUpsample(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const UpsampleShape s, ResolveUpsample(context.layer, context.inputs));
  const DType dtype = context.inputs[0].dtype;
  if (s.mode != kUpsampleNearest && !IsFloat(dtype)) {
    return Status::NotSupported(
        fmt::format("only nearest resizes {} blobs, mode is {}", DTypeName(dtype), static_cast<int>(s.mode)));
  }
  context.SetAll(dtype, s.out);
  return Status::Ok();
}

double FlopsUpsample(const Layer& layer, const std::vector<BlobInfo>&, const std::vector<BlobInfo>& outputs) {
  const int mode = ParamOf<UpsampleParam>(layer).mode;
  const double taps = mode == kUpsampleNearest ? 0 : mode == kUpsampleLinear ? 4 : 16;
  return 2 * taps * static_cast<double>(outputs[0].shape.NumElements());
}

}  // namespace

Result<UpsampleShape> ResolveUpsample(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const auto& p = ParamOf<UpsampleParam>(layer);
  UpsampleShape s;
  s.in = inputs[0].shape;
  if (s.in.rank() != 4) return Status::InvalidArgument("input must be 4-D, found " + s.in.ToString());
  if (p.mode < kUpsampleNearest || p.mode > kUpsampleCubic) {
    return Status::InvalidArgument(fmt::format("mode {} is none of 1 (nearest), 2 (bilinear), 3 (bicubic)", p.mode));
  }
  s.mode = static_cast<UpsampleMode>(p.mode);
  s.align_corners = p.align_corners != 0;
  PLUMB_ASSIGN_OR_RETURN(const Size size, OutputSize(p, inputs));
  s.out = Shape{s.in[0], s.in[1], size.h, size.w};
  if (s.out == s.in) s.mode = kUpsampleNearest;
  if (size.h <= 0 || size.w <= 0 || s.in[2] == 0 || s.in[3] == 0) {
    return Status::InvalidArgument(
        fmt::format("cannot resize {} to height {} and width {}", s.in.ToString(), size.h, size.w));
  }
  PLUMB_RETURN_IF_ERROR(s.out.Validate());
  return s;
}

OpDef DefineUpsample() {
  OpDef op;
  op.make_param = MakeParam<UpsampleParam>;
  op.infer = InferUpsample;
  op.flops = FlopsUpsample;
  return op;
}

}  // namespace plumb
