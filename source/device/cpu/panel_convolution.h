// SPDX-License-Identifier: Apache-2.0
// A convolution of any kernel and stride by direct sums on the micro-kernel of panels (simd/panel.h), over a batch, on
// all threads.
//
// Input channels come in parts, whose weights for two blocks of outputs (a panel) stay in the first cache; the output
// holds the sums so far. A thread copies what a part of a band of rows reads, with zeros beside the map, to memory of
// its own that stays in the second cache (a map without padding is read where it lies), and goes through all panels.
// Fewer input channels than a block, as in a first layer, are read as plain NCHW.
#ifndef PLUMB_DEVICE_CPU_PANEL_CONVOLUTION_H_
#define PLUMB_DEVICE_CPU_PANEL_CONVOLUTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/cpu/bordered_rows.h"
#include "device/cpu/product.h"
#include "plumb/observer.h"
#include "simd/panel.h"

namespace plumb::cpu {

class PanelConvolution {
 public:
  using Element = float;
  static constexpr bool kFastAlgorithm = false;
  // NotSupported, with the reason, where another kernel is faster or the convolution is none of these.
  static Status Check(const ConvParams& params);
  // Packs the weights ([out][in] per the strides). `bias` may be null. REQUIRES: Check is OK.
  static Result<PanelConvolution> Create(int64_t batch, const ConvParams& params, const float* weights,
                                         const WeightStrides& strides, const float* bias, int threads);
  // f32 values that Run needs at `workspace`.
  static int64_t Workspace(const ConvParams& params, int threads);

  // Image strides in elements; `addend` lies as dst and may be dst, or is null.
  void Run(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image, float* workspace);

  std::string implementation() const;
  Numerics numerics() const { return {}; }

 private:
  struct Plan {
    Plan(const ConvParams& p, int threads);

    bool copies = false;            // into a band of its own
    int64_t lanes = 1, planes = 0;  // of the input: channel blocks, or channels one by one
    int64_t factor_planes = 1;      // planes whose taps are told one by one
    int64_t width = 0;              // columns of a band, those beside the map included
    int64_t parts = 1;              // of the planes
    int64_t part_planes = 0;        // at most
    int64_t bands = 1;              // of an image
    int64_t plane_rows = 0;         // of a band, or of the map where it is not copied
    int64_t out_blocks = 0, panels = 0;

    int64_t PartBegin(int64_t part) const { return planes * part / parts; }
    int64_t band_floats() const { return copies ? part_planes * plane_rows * width * lanes : 0; }
  };

  PanelConvolution(const ConvParams& params, int64_t batch, int threads);
  Status Pack(const float* weights, const WeightStrides& strides, const float* bias);
  void RunPanel(const float* from, int64_t part, int64_t panel, int64_t first, int64_t last, const float* addend,
                float* dst) const;
  void RunBand(const float* src, int64_t index, int64_t begin, int64_t end, const float* addend, float* dst,
               float* band) const;

  ConvParams params_;
  int64_t batch_;
  int threads_;
  Plan plan_;
  BorderedRows rows_;
  std::vector<int64_t> taps_;
  simd::ProductEnd end_;
  // [part][panel][tap][the part's channels][2 blocks]; of channels one by one [panel][channel][tap][2 blocks].
  std::shared_ptr<float> weights_;
  std::vector<float> bias_;  // [panel][2 blocks]
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_PANEL_CONVOLUTION_H_
