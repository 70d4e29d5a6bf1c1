// A convolution of one pixel's channels (1x1) in channel blocks, over a batch, on all threads.
//
// A map is cut into runs of pixels whose input channels stay in the second cache, and each run goes through all panels
// of two output blocks (simd/panel.h). Threads share (run, panel) in this order, so they take ranges of pixels where
// there are several runs, else panels.
#ifndef PLUMB_DEVICE_CPU_POINTWISE_CONVOLUTION_H_
#define PLUMB_DEVICE_CPU_POINTWISE_CONVOLUTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/cpu/product.h"
#include "plumb/numerics.h"
#include "simd/product.h"

namespace plumb::cpu {

class PointwiseConvolution {
 public:
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
  PointwiseConvolution(int64_t batch, const ConvParams& params, int threads);
  Status Pack(const float* weights, const WeightStrides& strides, const float* bias);
  void Gather(const float* src, float* pixels) const;
  void RunPanel(const float* src, const float* addend, float* dst, int64_t run, int64_t panel) const;

  int64_t batch_;
  ConvParams params_;
  int threads_;
  int64_t pixels_, in_blocks_, out_blocks_, panels_, runs_;
  simd::ProductEnd end_;
  std::shared_ptr<float> weights_;  // [panel][input channel][2 blocks]
  std::vector<float> bias_;         // [panel][2 blocks]
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_POINTWISE_CONVOLUTION_H_
