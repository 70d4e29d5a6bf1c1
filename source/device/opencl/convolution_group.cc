// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/convolution_group.h"

namespace plumb::opencl {

ConvArg::ConvArg(const ConvolutionShape& s) {
  const auto to_int = [](int64_t value) { return static_cast<int>(value); };
  const WindowAxis &h = s.window.h, &w = s.window.w;
  batch = to_int(s.batch), group = to_int(s.group), in_channels = to_int(s.in_channels),
  out_channels = to_int(s.out_channels);
  in_h = to_int(h.in), in_w = to_int(w.in), out_h = to_int(h.out), out_w = to_int(w.out);
  kernel_h = to_int(h.kernel), kernel_w = to_int(w.kernel), stride_h = to_int(h.stride), stride_w = to_int(w.stride);
  dilation_h = to_int(h.dilation), dilation_w = to_int(w.dilation), pad_top = to_int(h.pad_begin),
  pad_left = to_int(w.pad_begin);
}

Result<ConvGroup> ConvGroup::Of(const KernelSpec& spec) {
  ConvGroup g;
  g.transposed = spec.layer().kind == OpKind::kDeconvolution;
  const Shape& input = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(
      g.shape, g.transposed ? ResolveDeconvolution(spec.layer(), input) : ResolveConvolution(spec.layer(), input));
  PLUMB_ASSIGN_OR_RETURN(g.fused, ReadGroup(spec.group.members, *spec.blobs));
  g.addend = g.fused.AddendInput(spec.group);
  return g;
}

// Convolution [out][in/group][k], deconvolution [group][in/group][out/group][k].
WeightStrides ConvGroup::strides() const {
  const int64_t in = shape.in_per_group(), out = shape.out_per_group(), k = shape.kernel_size();
  if (transposed) return {in * out * k, k, out * k};
  return {out * in * k, in * k, k};
}

void ConvGroup::WishForAddend(const KernelSpec& spec, LayoutChoice* choice) const {
  if (addend < 0) return;
  const auto& ports = spec.group.inputs;
  if (ports[0].blob != ports[static_cast<size_t>(addend)].blob)
    choice->shares.push_back({ShareWish::kOverwrite, 0, addend});
}

Status ConvTail::Prepare(const KernelSpec& spec, const ConvGroup& group, const Folded& folded, int64_t channels,
                         const DeviceTensor& output) {
  addend = group.addend;
  flags = (folded.bias.empty() ? 0 : 1) + (addend >= 0 ? 2 : 0);
  if (!folded.bias.empty()) {
    std::vector<float> padded(folded.bias.data<float>(), folded.bias.data<float>() + group.shape.out_channels);
    padded.resize(static_cast<size_t>(channels), 0.0f);
    PLUMB_ASSIGN_OR_RETURN(bias, UploadArray(spec.device, padded));
  }
  const Epilogue& e = group.fused.epilogue;
  epilogue = EpilogueArg(e);
  const bool moves_zero = e.kind == Epilogue::Kind::kClip && (e.alpha > 0 || e.beta < 0);
  return moves_zero ? zero.Prepare(spec, output) : Status::Ok();
}

}  // namespace plumb::opencl
