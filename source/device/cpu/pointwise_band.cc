// SPDX-License-Identifier: Apache-2.0
// Each thread makes a band of the convolution's input, some rows of all channels, in memory of its own that stays in
// the second cache, and multiplies it at once: the blob in between is never written.
#include "device/cpu/pointwise_band.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/cpu.h"
#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/convolution_kernel.h"
#include "device/cpu/depthwise.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/panel_product.h"
#include "device/cpu/product_end.h"

namespace plumb::cpu {
namespace {

using Members = std::vector<const Layer*>;

// Measured (doc/x86.md): smaller maps than 28x28 stay in the second cache anyway, and fewer channels are not worth it.
constexpr int64_t kLeastPixels = 700, kLeastChannels = 32;

// The layers, cut in front of the 1x1 convolution.
struct Band {
  Members front, back;
  FusedGroup maker;     // of the front
  FusedGroup multiply;  // of the back
  ConvolutionShape shape;
  simd::Clamp clamp;
};

Status IsPlainPointwise(const ConvolutionShape& s) {
  const auto plain = [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.in == a.out;
  };
  if (plain(s.window.h) && plain(s.window.w) && s.group == 1) return Status::Ok();
  return Status::NotSupported("needs a 1x1 kernel without stride, padding and groups");
}

Result<Band> ReadBand(const Members& members, const BlobTable& blobs) {
  const auto is_convolution = [](const Layer* layer) { return layer->kind == OpKind::kConvolution; };
  const auto cut = std::find_if(members.begin() + 1, members.end(), is_convolution);
  if (cut == members.end()) return Status::NotSupported("takes a 1x1 convolution with what makes its input");
  Band band;
  band.front.assign(members.begin(), cut), band.back.assign(cut, members.end());
  const std::string& made = band.back[0]->inputs[0];
  if (blobs.at(band.front[0]->inputs[0]).dtype != DType::kF32) return Status::NotSupported("takes f32 only");
  if (made != band.front.back()->outputs[0])
    return Status::NotSupported("the blob in between is no convolution's data");
  PLUMB_ASSIGN_OR_RETURN(band.maker, ReadGroup(band.front, blobs));
  if (band.maker.head != nullptr) {
    PLUMB_ASSIGN_OR_RETURN(const DepthwiseShape shape, ReadDepthwise(band.front, blobs));
    if (shape.h.stride > 1 && ProductsLeadDepthwise(shape.h.out * shape.w.out, shape.w))
      return Status::NotSupported("a product leads at a depthwise convolution with a stride");
    band.clamp = shape.clamp;
  } else {
    if (band.maker.affine.empty()) return Status::NotSupported("what makes its input is no scale or shift per channel");
    PLUMB_ASSIGN_OR_RETURN(band.clamp, ClampOfEpilogue(band.maker.epilogue));
  }
  PLUMB_ASSIGN_OR_RETURN(band.multiply, ReadGroup(band.back, blobs));
  PLUMB_ASSIGN_OR_RETURN(band.shape, ResolveConvolution(*band.back[0], blobs.at(made).shape));
  PLUMB_RETURN_IF_ERROR(IsPlainPointwise(band.shape));
  const int64_t pixels = band.shape.window.h.out * band.shape.window.w.out;
  if (pixels < kLeastPixels || band.shape.in_channels < kLeastChannels) {
    return Status::NotSupported(
        fmt::format("no faster on a map of {} pixels of {} channels", pixels, band.shape.in_channels));
  }
  return band;
}

class PointwiseBandKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (spec.precision == Precision::kLow) return Status::NotSupported("computes in f32, LOW in f16");
    return ReadBand(spec.group.members, *spec.blobs).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const Band band, ReadBand(spec.group.members, *spec.blobs));
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = BlockedLayout();
    choice->outputs = {BlockedLayout()};
    threads_ = NumThreads();  // another network may change it before Prepare
    PlanBands(band);
    choice->workspace = threads_ * band_floats_;
    FusedGroup added = band.multiply;
    added.addend_member += static_cast<int>(band.front.size());
    addend_ = band.multiply.addend_member < 0 ? -1 : added.AddendInput(spec.group);
    if (addend_ < 0) return Status::Ok();
    const auto addend = static_cast<size_t>(addend_);
    choice->inputs[addend] = BlockedLayout();
    if (spec.group.inputs[0].blob != spec.group.inputs[addend].blob)
      choice->shares.push_back({ShareWish::kOverwrite, 0, addend_});
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(band_, ReadBand(spec.group.members, *spec.blobs));
    if (band_.maker.head != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(depthwise_, ReadDepthwise(band_.front, *spec.blobs));
      PLUMB_ASSIGN_OR_RETURN(packed_, PackDepthwise(band_.front, *spec.blobs));
    } else {  // the lanes behind the last channel stay 0
      const auto lanes = static_cast<size_t>(BlocksOf(band_.shape.in_channels) * ChannelBlock());
      packed_.weights = band_.maker.affine.scale, packed_.bias = band_.maker.affine.shift;
      packed_.weights.resize(lanes, 0.0f), packed_.bias.resize(lanes, 0.0f);
    }
    const WeightStrides strides = StridesOfConvolution(*band_.back[0], band_.shape);
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(*band_.back[0], band_.shape, strides, band_.multiply.affine));
    PLUMB_ASSIGN_OR_RETURN(
        PanelProduct product,
        PanelProduct::Create(Pixels(), band_.shape.in_channels, band_.shape.out_channels, folded.weight.data<float>(),
                             strides, folded.bias.empty() ? nullptr : folded.bias.data<float>(),
                             EndOfProduct(band_.multiply.epilogue)));
    product_.emplace(std::move(product));
    workspace_ = spec.workspace;
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t block = ChannelBlock(), rows = band_.shape.window.h.out, width = band_.shape.window.w.out;
    const int64_t dst_image = ImageElements(outputs[0]), src_image = ImageElements(inputs[0]);
    const int64_t units = band_.shape.batch * bands_;
    const float* addend = addend_ < 0 ? nullptr : inputs[static_cast<size_t>(addend_)].host<float>();
    ParallelRegion(threads_, [&](int thread, int count) {
      float* made = workspace_.host<float>() + thread * band_floats_;
      for (int64_t u = units * thread / count; u < units * (thread + 1) / count; ++u) {
        const int64_t image = u / bands_, first = rows * (u % bands_) / bands_, last = rows * (u % bands_ + 1) / bands_;
        const int64_t pixels = (last - first) * width, at = image * dst_image + first * width * block;
        Make(inputs[0].host<float>() + image * src_image, first, last, made);
        product_->RunHere({made,
                           {block, pixels * block},
                           addend == nullptr ? nullptr : addend + at,
                           outputs[0].host<float>() + at,
                           {block, rows * width * block}},
                          pixels);
      }
    });
    ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

  bool ReadsResources() const override { return false; }
  std::string Detail() const override {
    const char* maker = band_.maker.head != nullptr ? "depthwise" : "scale and shift";
    return fmt::format("{} in bands of {} rows", maker, (band_.shape.window.h.out + bands_ - 1) / bands_);
  }

 private:
  int64_t Pixels() const { return band_.shape.window.h.out * band_.shape.window.w.out; }

  void PlanBands(const Band& band) {
    const int64_t rows = band.shape.window.h.out, depth = BlocksOf(band.shape.in_channels) * ChannelBlock();
    const int64_t row_floats = band.shape.window.w.out * depth;
    // Weights that do not stay in the second cache are read for each band: those are larger then.
    constexpr int64_t kBytes = sizeof(float);
    const int64_t weights = depth * BlocksOf(band.shape.out_channels) * ChannelBlock() * kBytes;
    const int64_t room = weights > L2CacheBytes() / 4 ? L2CacheBytes() / 2 : L2CacheBytes() / 4;
    const int64_t fitting = std::max<int64_t>(1, room / (row_floats * kBytes));
    bands_ = (rows + fitting - 1) / fitting;
    bands_ = std::min(rows, (bands_ + threads_ - 1) / threads_ * threads_);
    band_floats_ = (rows + bands_ - 1) / bands_ * row_floats;
  }

  // Rows [first, last) of the convolution's input, all blocks.
  void Make(const float* src, int64_t first, int64_t last, float* made) const {
    const int block = ChannelBlock();
    const int64_t width = band_.shape.window.w.out, pixels = (last - first) * width;
    const auto blocks = static_cast<size_t>(BlocksOf(band_.shape.in_channels)), lanes = static_cast<size_t>(block);
    const simd::DepthwiseAxis &h = depthwise_.h, &w = depthwise_.w;
    for (size_t b = 0; b < blocks; ++b, made += pixels * block) {
      const float* bias = &packed_.bias[b * lanes];
      if (band_.maker.head == nullptr) {
        const float* from = src + (static_cast<int64_t>(b) * Pixels() + first * width) * block;
        simd::ChannelAffinePlane(block, from, pixels, &packed_.weights[b * lanes], bias, band_.clamp, made);
      } else {
        const auto taps = static_cast<size_t>(h.kernel * w.kernel);
        simd::DepthwisePlane(h, w, block, src + static_cast<int64_t>(b) * h.in * w.in * block,
                             &packed_.weights[b * lanes * taps], bias, band_.clamp, made, first, last);
      }
    }
  }

  Band band_;
  DepthwiseShape depthwise_;
  DepthwiseWeights packed_;  // of the front; scales and shifts where it has no convolution
  std::optional<PanelProduct> product_;
  DeviceTensor workspace_;
  int addend_ = -1, threads_ = 1;
  int64_t bands_ = 1, band_floats_ = 0;
};

}  // namespace

Status IsPointwiseBand(const Members& members, const BlobTable& blobs) { return ReadBand(members, blobs).status(); }

const KernelFunctions kernel_pointwise_band = {PointwiseBandKernel::Supports, MakeKernel<PointwiseBandKernel>};

}  // namespace plumb::cpu
