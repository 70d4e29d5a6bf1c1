// SPDX-License-Identifier: Apache-2.0
// Sums of products over the channels of a pixel, or over a row of a matrix, with packed weights, on the micro-kernel of
// panels (simd/panel.h), on all threads.
//
// Pixels are cut into runs whose inputs stay in the second cache, and each run goes through all panels of two blocks of
// output channels; many input channels come in parts, and the output holds the sums so far. Threads share (run, panel)
// in this order, so they take ranges of pixels where there are several runs, else panels.
#ifndef PLUMB_DEVICE_CPU_PANEL_PRODUCT_H_
#define PLUMB_DEVICE_CPU_PANEL_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/product.h"
#include "simd/panel.h"

namespace plumb::cpu {

// Where pixels lie: each one's channels in blocks of ChannelBlock(), in elements.
struct PixelStrides {
  int64_t pixel = 0, block = 0;
  int64_t row_pixels = INT64_MAX, row = 0;  // rows of so many pixels begin `row` elements apart

  int64_t At(int64_t i) const { return i / row_pixels * row + i % row_pixels * pixel; }
};

class PanelProduct {
 public:
  // weights [out][in] per the strides, packed here; `bias` may be null. Lanes of the last blocks behind the channels
  // are padding: inputs are multiplied by 0, outputs are written.
  static Result<PanelProduct> Create(int64_t pixels, int64_t in_channels, int64_t out_channels, const float* weights,
                                     const WeightStrides& strides, const float* bias, const simd::ProductEnd& end);

  // What is read and written; `addend` lies as dst and may be dst, or is null.
  struct Map {
    const float* src;
    PixelStrides src_strides;
    const float* addend;
    float* dst;
    PixelStrides dst_strides;
  };
  void Run(const Map& map, int threads) const;
  // The first so many pixels of the map on this thread alone, for callers that make these pixels just before.
  void RunHere(const Map& map, int64_t pixels) const;
  // What `count` pixels from dst on are that read no input (beside the map): bias, addend and what follows.
  void RunEmpty(int64_t count, const float* addend, float* dst, const PixelStrides& dst_strides, int threads) const;

  int64_t run_pixels() const { return (pixels_ + runs_ - 1) / runs_; }

 private:
  PanelProduct(int64_t pixels, int64_t in_channels, int64_t out_channels, const simd::ProductEnd& end);
  // Where there is one pixel: several panels at a time.
  void RunPixel(const Map& map, int threads) const;
  simd::PanelSource SourceOf(const Map& map, int64_t panel) const;
  // Pixels [begin, end) of two blocks of output channels.
  void RunPanel(const Map& map, int64_t panel, int64_t begin, int64_t end) const;
  simd::PanelResult ResultOf(int64_t panel, const float* addend, float* dst, const PixelStrides& strides) const;
  Status Pack(int64_t in_channels, int64_t out_channels, const float* weights, const WeightStrides& strides,
              const float* bias);

  int64_t pixels_, in_channels_, in_blocks_, out_blocks_, panels_, runs_, parts_ = 1;
  simd::ProductEnd end_;
  std::shared_ptr<float> weights_;  // [panel][input channel][2 blocks]
  std::vector<float> bias_;         // [panel][2 blocks]
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_PANEL_PRODUCT_H_
