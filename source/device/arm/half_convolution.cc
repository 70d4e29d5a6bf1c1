// SPDX-License-Identifier: Apache-2.0
// Convolution and Convolution1D of LOW precision, with what follows them: blobs of f16, weights rounded to f16, f16
// multiply-adds in short runs (half_tile.h).
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/threads.h"
#include "device/arm/convolution_product.h"
#include "device/arm/half_kernels.h"
#include "device/cpu/convolution_kernel.h"
#include "device/cpu/winograd_convolution.h"

namespace plumb::cpu {
namespace {

// What ConvolutionKernel asks for. Threads take rows of the map, or where these are few panels of output channels.
class HalfConvolution {
 public:
  using Element = uint16_t;
  static constexpr bool kFastAlgorithm = false;
  static Status Check(const ConvParams& params) { return CheckConvolution(params); }
  static Result<HalfConvolution> Create(int64_t batch, const ConvParams& params, const float* weights,
                                        const WeightStrides& strides, const float* bias, int threads) {
    return HalfConvolution(batch, params, threads, ConvolutionProduct<uint16_t>(params, weights, strides, bias));
  }
  static int64_t Workspace(const ConvParams&, int) { return 0; }

  void Run(const uint16_t* src, int64_t src_image, const uint16_t* addend, uint16_t* dst, int64_t dst_image, float*) {
    if (addend != nullptr && addend != dst)
      std::memcpy(dst, addend, static_cast<size_t>(batch_ * dst_image) * sizeof(uint16_t));
    const int64_t rows = params_.out_h, panels = product_.panels();
    for (int64_t image = 0; image < batch_; ++image) {
      const uint16_t* from = src + image * src_image;
      uint16_t* to = dst + image * dst_image;
      ParallelRegion(static_cast<int>(tiles_.size()), [&](int thread, int count) {
        PixelTile<uint16_t>* tile = &tiles_[static_cast<size_t>(thread)];
        if (by_row_) {
          product_.Run(from, to, rows * thread / count, rows * (thread + 1) / count, 0, panels, tile);
        } else {
          product_.Run(from, to, 0, rows, panels * thread / count, panels * (thread + 1) / count, tile);
        }
      });
    }
  }

  std::string implementation() const { return "vector f16"; }
  Numerics numerics() const { return HalfSumsNumerics(); }

 private:
  HalfConvolution(int64_t batch, const ConvParams& params, int threads, ConvolutionProduct<uint16_t> product)
      : batch_(batch), params_(params), product_(std::move(product)) {
    by_row_ = params.out_h >= threads;
    const int64_t parts = by_row_ ? threads : std::min<int64_t>(threads, product_.panels());
    tiles_.resize(static_cast<size_t>(std::max<int64_t>(1, parts)));
  }

  int64_t batch_;
  ConvParams params_;
  bool by_row_ = true;
  ConvolutionProduct<uint16_t> product_;
  std::vector<PixelTile<uint16_t>> tiles_;  // of each thread
};

template <Format format>
class HalfConvolutionKernel : public ConvolutionKernel<HalfConvolution, format> {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireHalfArithmetic(spec));
    PLUMB_RETURN_IF_ERROR((ConvolutionKernel<HalfConvolution, format>::Supports(spec)));
    PLUMB_ASSIGN_OR_RETURN(ConvParams params, (ConvolutionKernel<HalfConvolution, format>::Params(spec)));
    params.src = params.dst = Format::kBlocked;
    if (spec.direct || !WinogradConvolution::LeavesAQuarter(params)) return Status::Ok();
    return Status::NotSupported("Winograd's algorithm in f32 takes two thirds of the instructions");
  }
};

using HalfBlocked = HalfConvolutionKernel<Format::kBlocked>;
using HalfPlain = HalfConvolutionKernel<Format::kPlain>;

}  // namespace

const KernelFunctions kernel_half_convolution_blocked = {HalfBlocked::Supports, MakeKernel<HalfBlocked>};
const KernelFunctions kernel_half_convolution_plain = {HalfPlain::Supports, MakeKernel<HalfPlain>};

}  // namespace plumb::cpu
