// SPDX-License-Identifier: Apache-2.0
// A convolution or deconvolution over a batch, on all threads: one single-threaded product (product.h) per slice.
//
// One image is split by output channels, because a range of channel blocks is contiguous in memory and oneDNN 2.6.3
// refuses (runs `ref` for) a range of rows, whose strides are not dense. A batch of at least as many images as threads
// is split by images, all threads reading the same packed weights. Where all outputs are one block of channels, threads
// share its rows, each from a copy of those that it reads. A padded convolution for which oneDNN has no quick kernel
// reads a copy with a border.
#ifndef PLUMB_DEVICE_CPU_SLICED_CONVOLUTION_H_
#define PLUMB_DEVICE_CPU_SLICED_CONVOLUTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/bordered_rows.h"
#include "device/cpu/product.h"
#include "plumb/observer.h"
#include "plumb/tensor.h"

namespace plumb::cpu {

class SlicedConvolution {
 public:
  using Element = float;
  static constexpr bool kFastAlgorithm = false;
  // Whether Create would find a quick kernel; no weights needed.
  static Status Check(const ConvParams& params);
  // Packs `weights` ([group][out][in] per the strides) for so many threads. NotSupported when there is only a
  // reference kernel for these formats. `bias` may be null.
  static Result<SlicedConvolution> Create(int64_t batch, const ConvParams& params, const float* weights,
                                          const WeightStrides& strides, const float* bias, int threads);

  // Image strides in elements, so that dst may be a part of a larger concatenation.
  void Run(const float* src, int64_t src_image, float* dst, int64_t dst_image);
  // The same with what is added (null, or it lies as dst and may be dst). No workspace is needed.
  void Run(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image, float* workspace);
  static int64_t Workspace(const ConvParams&, int) { return 0; }
  Numerics numerics() const { return {}; }

  const std::string& implementation() const { return slices_.front().op->implementation(); }
  size_t packed_bytes() const;

 private:
  struct Slice {
    ProductPtr op;
    int64_t src_offset = 0, dst_offset = 0;  // elements within one image
    BorderedRows copy;                       // of the input rows from first_row on, in `rows`, where slices are rows
    int64_t first_row = 0;
    Tensor rows;
  };

  Status MakeSlices(int64_t count, const ConvParams& params, const float* weights, const WeightStrides& strides,
                    const float* bias);
  void RunImages(const float* src, int64_t src_image, float* dst, int64_t dst_image);
  void CopyWithBorder(const float* src);

  int64_t batch_ = 1;
  bool by_image_ = false;  // slices_ are equal runners, each for a range of images
  bool by_row_ = false;    // slices_ are ranges of output rows
  std::vector<Slice> slices_;
  ConvParams params_;  // as the caller gave them
  Tensor bordered_;    // one image with its padding written out, or empty
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_SLICED_CONVOLUTION_H_
