// SPDX-License-Identifier: Apache-2.0
// Deconvolution whose windows do not overlap (kernel = stride, no pads), the usual learned upsampling: one 1x1
// convolution computes every tap of every output channel, then the taps are laid side by side. A general
// deconvolution takes 5 to 20 times as long for it.
#include <cstring>
#include <optional>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/sliced_convolution.h"
#include "device/shared/folded_weights.h"
#include "device/shared/fused_tail.h"
#include "op/deconvolution.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kDeconvolutionTilesGrain = 16384;  // elements that are worth a second thread

struct Tiles {
  FusedGroup group;
  ConvolutionShape shape;
  ConvParams conv;     // 1x1: for each tap the output channels, padded to whole blocks, or
  bool plain = false;  // where those would mostly be padding, side by side; then the output has no blocks
  int64_t taps = 1, padded = 0;

  // Elements.
  int64_t TapsImage() const { return BlocksOf(conv.out_channels) * ChannelBlock() * conv.in_h * conv.in_w; }
};

bool IsTiled(const WindowAxis& a) {
  return a.kernel == a.stride && a.dilation == 1 && a.pad_begin == 0 && a.out == a.in * a.stride;
}

Result<Tiles> TilesOf(const KernelSpec& spec) {
  Tiles t;
  PLUMB_ASSIGN_OR_RETURN(t.group, ReadGroup(spec.group.members, *spec.blobs));
  PLUMB_ASSIGN_OR_RETURN(t.shape, ResolveDeconvolution(spec.layer(), spec.inputs[0].shape));
  const WindowAxis &h = t.shape.window.h, &w = t.shape.window.w;
  if (t.shape.group != 1 || !IsTiled(h) || !IsTiled(w))
    return Status::NotSupported("its windows overlap or are padded");
  if (t.group.addend_member >= 0) return Status::NotSupported("adds no other blob");
  t.taps = t.shape.kernel_size();
  t.plain = 2 * t.shape.out_channels <= ChannelBlock();
  t.padded = t.plain ? t.shape.out_channels : BlocksOf(t.shape.out_channels) * ChannelBlock();
  t.conv.in_channels = t.shape.in_channels, t.conv.out_channels = t.taps * t.padded;
  t.conv.in_h = t.conv.out_h = h.in, t.conv.in_w = t.conv.out_w = w.in;
  t.conv.epilogue = t.group.epilogue;
  return t;
}

class DeconvolutionTilesKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const Tiles tiles, TilesOf(spec));
    return SlicedConvolution::Check(tiles.conv);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const Tiles tiles, TilesOf(spec));
    choice->inputs.assign(arriving.size(), BlockedLayout());
    choice->outputs = {tiles.plain ? PlainLayout() : BlockedLayout()};
    choice->workspace = tiles.shape.batch * tiles.TapsImage();
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(tiles_, TilesOf(spec));
    const ConvolutionShape& s = tiles_.shape;
    const int64_t k = tiles_.taps, in = s.in_channels, out = s.out_channels, padded = tiles_.padded;
    // Weights lie as [in][out][tap].
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(spec.layer(), s, {in * out * k, k, out * k}, tiles_.group.affine));
    std::vector<float> weight(static_cast<size_t>(k * padded * in), 0.0f), bias(static_cast<size_t>(k * padded), 0.0f);
    for (int64_t t = 0; t < k; ++t) {
      for (int64_t o = 0; o < out; ++o) {
        const auto row = static_cast<size_t>(t * padded + o);
        if (!folded.bias.empty()) bias[row] = folded.bias.data<float>()[o];
        for (int64_t c = 0; c < in; ++c)
          weight[row * static_cast<size_t>(in) + static_cast<size_t>(c)] =
              folded.weight.data<float>()[(c * out + o) * k + t];
      }
    }
    auto conv = SlicedConvolution::Create(s.batch, tiles_.conv, weight.data(), {k * padded * in, in, 1}, bias.data(),
                                          NumThreads());
    if (!conv.ok()) return conv.status();
    conv_ = std::move(conv).value();
    src_image_ = ImageElements(inputs[0]);
    taps_image_ = tiles_.TapsImage();
    taps_ = spec.workspace.host<float>();
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    conv_->Run(inputs[0].host<float>(), src_image_, taps_, taps_image_);
    if (tiles_.plain) {
      LayRows(outputs[0].host<float>());
      return Status::Ok();
    }
    LaySideBySide(ImageElements(outputs[0]), outputs[0].host<float>());
    ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

  std::string Detail() const override { return conv_ ? conv_->implementation() : ""; }

 private:
  // [image][tap][channel block][row][column][block] to [image][channel block][row * kernel][column * kernel][block].
  void LaySideBySide(int64_t dst_image, float* dst) const {
    const WindowAxis &h = tiles_.shape.window.h, &w = tiles_.shape.window.w;
    const int64_t block = ChannelBlock(), blocks = tiles_.padded / block, rows = tiles_.shape.batch * blocks * h.out;
    ParallelFor(rows, kDeconvolutionTilesGrain / (w.out * block) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t y = r % h.out, b = r / h.out % blocks, n = r / h.out / blocks;
        float* to = dst + n * dst_image + (b * h.out + y) * w.out * block;
        for (int64_t j = 0; j < w.kernel; ++j) {
          const int64_t tap = y % h.kernel * w.kernel + j;
          const float* from = taps_ + n * taps_image_ + (((tap * blocks + b) * h.in + y / h.kernel) * w.in) * block;
          for (int64_t x = 0; x < w.in; ++x) {
            std::memcpy(to + (x * w.kernel + j) * block, from + x * block, static_cast<size_t>(block) * sizeof(float));
          }
        }
      }
    });
  }

  // [image][tap, channel in blocks][row][column][block] to [image][channel][row * kernel][column * kernel].
  void LayRows(float* dst) const {
    const WindowAxis &h = tiles_.shape.window.h, &w = tiles_.shape.window.w;
    const int64_t block = ChannelBlock(), channels = tiles_.shape.out_channels;
    const int64_t rows = tiles_.shape.batch * channels * h.out;
    ParallelFor(rows, kDeconvolutionTilesGrain / w.out + 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t y = r % h.out, c = r / h.out % channels, n = r / h.out / channels;
        const float* row = taps_ + n * taps_image_ + y / h.kernel * w.in * block;
        for (int64_t j = 0; j < w.kernel; ++j) {
          const int64_t lane = (y % h.kernel * w.kernel + j) * channels + c;
          const float* from = row + lane / block * h.in * w.in * block + lane % block;
          for (int64_t x = 0; x < w.in; ++x) dst[r * w.out + x * w.kernel + j] = from[x * block];
        }
      }
    });
  }

  Tiles tiles_;
  std::optional<SlicedConvolution> conv_;
  int64_t src_image_ = 0, taps_image_ = 0;
  float* taps_ = nullptr;  // every tap of every image, in the plan's memory
};

}  // namespace

const KernelFunctions kernel_deconvolution_tiles = {DeconvolutionTilesKernel::Supports,
                                                    MakeKernel<DeconvolutionTilesKernel>};

}  // namespace plumb::cpu
