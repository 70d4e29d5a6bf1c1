// SPDX-License-Identifier: Apache-2.0
// A convolution of one pixel's channels (1x1) in channel blocks, over a batch, on all threads (panel_product.h).
#ifndef PLUMB_DEVICE_CPU_POINTWISE_CONVOLUTION_H_
#define PLUMB_DEVICE_CPU_POINTWISE_CONVOLUTION_H_

#include <cstdint>
#include <string>
#include <utility>

#include "device/cpu/panel_product.h"
#include "plumb/observer.h"

namespace plumb::cpu {

class PointwiseConvolution {
 public:
  using Element = float;
  static constexpr bool kFastAlgorithm = false;
  // NotSupported, with the reason, where another kernel is faster or the convolution is none of these.
  static Status Check(const ConvParams& params);
  // Packs the weights ([out][in] per the strides). `bias` may be null. REQUIRES: Check is OK.
  static Result<PointwiseConvolution> Create(int64_t batch, const ConvParams& params, const float* weights,
                                             const WeightStrides& strides, const float* bias, int threads);
  // f32 values that Run needs at `workspace`: the pixels that a stride leaves.
  static int64_t Workspace(const ConvParams& params, int threads);

  // Image strides in elements; `addend` lies as dst and may be dst, or is null.
  void Run(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image, float* workspace);

  std::string implementation() const;
  Numerics numerics() const { return {}; }

 private:
  PointwiseConvolution(int64_t batch, const ConvParams& params, int threads, PanelProduct product)
      : batch_(batch), params_(params), threads_(threads), product_(std::move(product)) {}
  void RunBeside(const float* addend, float* dst) const;
  void Gather(const float* src, float* pixels) const;

  int64_t batch_;
  ConvParams params_;
  int threads_;
  PanelProduct product_;
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_POINTWISE_CONVOLUTION_H_
