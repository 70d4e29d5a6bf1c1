// SPDX-License-Identifier: Apache-2.0
// A convolution or deconvolution of one image as a product of pixels and output channels, whose depth is kernel taps
// times input channels: each output row is cut into tiles of pixels, which read the map where it lies (taps outside it
// read zeros), and the weights are packed in panels of output channels. Which pixels a tap meets is worked out once per
// tile and serves every panel that fits the cache beside it.
//
// T: float, or uint16_t for maps and weights of f16.
#ifndef PLUMB_DEVICE_ARM_CONVOLUTION_PRODUCT_H_
#define PLUMB_DEVICE_ARM_CONVOLUTION_PRODUCT_H_

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "device/arm/panels.h"
#include "device/cpu/product.h"
#include "device/cpu/product_end.h"

namespace plumb::cpu {

// A tile's pixels as every tap meets them.
template <class T>
struct PixelTile {
  std::vector<const T*> from;
  std::vector<int64_t> step, at;
  T* to[simd::kProductRows] = {};
  int rows = 0;
  int64_t column = 0, column_step = 1;  // of the output row
};

template <class T>
class ConvolutionProduct {
 public:
  ConvolutionProduct(const ConvParams& p, const float* weights, const WeightStrides& s, const float* bias)
      : p_(p),
        end_(EndOfProduct(p.epilogue)),
        lanes_(p.src == Format::kBlocked ? ChannelBlock() : 1),
        in_(p.in_channels / p.groups),
        out_(p.out_channels / p.groups),
        depth_(p.kernel_h * p.kernel_w * RoundUp(in_, lanes_)) {
    auto groups = std::make_shared<std::vector<Panels<T>>>();
    const int64_t taps = p.kernel_h * p.kernel_w, channels = RoundUp(in_, lanes_);
    for (int64_t g = 0; g < p.groups; ++g) {
      Panels<T> panels(depth_, out_);
      panels.SetBias(bias == nullptr ? nullptr : bias + g * out_);
      for (int64_t o = 0; o < out_; ++o) {
        for (int64_t c = 0; c < in_; ++c) {
          const float* from = weights + g * s.group + o * s.out + c * s.in;
          for (int64_t t = 0; t < taps; ++t) panels.weight(t * channels + c, o) = ElementOf<T>(from[t]);
        }
      }
      groups->push_back(std::move(panels));
    }
    groups_ = std::move(groups);
  }

  int64_t panels() const { return groups_->front().count(); }  // of each group

  // Output rows [first_row, last_row) of panels [first_panel, last_panel).
  void Run(const T* src, T* dst, int64_t first_row, int64_t last_row, int64_t first_panel, int64_t last_panel,
           PixelTile<T>* tile) const {
    const int64_t in_pixels = p_.in_h * p_.in_w, out_pixels = p_.out_h * p_.out_w;
    const int64_t at_once = std::max<int64_t>(1, kPanelFloats / std::max<int64_t>(1, depth_ * simd::kProductColumns));
    for (int64_t g = 0; g < p_.groups; ++g) {
      const T* map = src + g * in_ * in_pixels;
      T* made = dst + g * out_ * out_pixels;
      for (int64_t first = first_panel; first < last_panel; first += at_once) {
        for (int64_t row = first_row; row < last_row; ++row)
          RunRow(g, first, std::min(last_panel, first + at_once), row, map, made, tile);
      }
    }
    if (p_.dst == Format::kBlocked && last_panel == panels()) ClearTail(dst, first_row, last_row);
  }
  void Run(const T* src, T* dst, PixelTile<T>* tile) const { Run(src, dst, 0, p_.out_h, 0, panels(), tile); }

  size_t packed_bytes() const {
    size_t bytes = 0;
    for (const Panels<T>& panels : *groups_) bytes += panels.packed_bytes();
    return bytes;
  }

 private:
  // A deconvolution's neighbours meet different taps: a tile holds pixels of one phase.
  void RunRow(int64_t g, int64_t first, int64_t last, int64_t row, const T* map, T* made, PixelTile<T>* tile) const {
    tile->column_step = p_.transposed ? p_.stride_w : 1;
    for (int64_t phase = 0; phase < std::min(tile->column_step, p_.out_w); ++phase) {
      const int64_t pixels = (p_.out_w - phase + tile->column_step - 1) / tile->column_step;
      for (int64_t i = 0; i < pixels; i += simd::kProductRows) {
        tile->rows = static_cast<int>(std::min<int64_t>(simd::kProductRows, pixels - i));
        tile->column = phase + i * tile->column_step;
        Meet(row, map, tile);
        for (int64_t panel = first; panel < last; ++panel) RunPanel(g, panel, row, made, tile);
      }
    }
  }

  // The input index under an output's tap, or -1.
  static int64_t Under(int64_t out, int64_t tap, int64_t stride, int64_t dilation, int64_t pad, int64_t in,
                       bool transposed) {
    int64_t at = transposed ? out + pad - tap * dilation : out * stride - pad + tap * dilation;
    if (transposed && at >= 0) at = at % stride == 0 ? at / stride : -1;
    return at < in ? at : -1;
  }

  // Taps that no pixel of the tile meets are left out.
  void Meet(int64_t row, const T* map, PixelTile<T>* tile) const {
    static constexpr T kZeros[16] = {};
    tile->from.clear(), tile->step.clear(), tile->at.clear();
    const int64_t block = p_.in_h * p_.in_w * lanes_, channels = RoundUp(in_, lanes_);
    for (int64_t kh = 0; kh < p_.kernel_h; ++kh) {
      const int64_t y = Under(row, kh, p_.stride_h, p_.dilation_h, p_.pad_top, p_.in_h, p_.transposed);
      if (y < 0) continue;
      for (int64_t kw = 0; kw < p_.kernel_w; ++kw) {
        bool any = false;
        for (int r = 0; r < tile->rows; ++r) {
          const int64_t x = Under(tile->column + r * tile->column_step, kw, p_.stride_w, p_.dilation_w, p_.pad_left,
                                  p_.in_w, p_.transposed);
          tile->from.push_back(x < 0 ? kZeros : map + (y * p_.in_w + x) * lanes_);
          tile->step.push_back(x < 0 ? 0 : block);
          any = any || x >= 0;
        }
        if (any) {
          tile->at.push_back((kh * p_.kernel_w + kw) * channels * simd::kProductColumns);
        } else {
          tile->from.resize(tile->from.size() - static_cast<size_t>(tile->rows));
          tile->step.resize(tile->from.size());
        }
      }
    }
  }

  void RunPanel(int64_t g, int64_t panel, int64_t row, T* made, PixelTile<T>* tile) const {
    const Panels<T>& panels = (*groups_)[static_cast<size_t>(g)];
    simd::ProductSourceOf<T> source;
    source.taps = static_cast<int64_t>(tile->at.size());
    source.blocks = RoundUp(in_, lanes_) / lanes_, source.lanes = lanes_;
    source.from = tile->from.data(), source.step = tile->step.data(), source.at = tile->at.data();
    source.weights = panels.weights(panel);
    simd::ProductEnd end = end_;
    end.bias = panels.bias(panel);
    const int64_t first = panel * simd::kProductColumns, pixels = p_.out_h * p_.out_w;
    if (p_.dst == Format::kPlain) return RunPlain(first, row, pixels, source, end, made, tile);
    const int64_t left = RoundUp(out_, simd::kProductChunk) - first;
    for (int r = 0; r < tile->rows; ++r) {
      const int64_t pixel = row * p_.out_w + tile->column + r * tile->column_step;
      tile->to[r] = made + first * pixels + pixel * simd::kProductChunk;
    }
    RunTile(tile->rows, std::min<int64_t>(simd::kProductColumns, left), source, end, tile->to,
            pixels * simd::kProductChunk);
  }

  // Plain order: by way of a small matrix.
  void RunPlain(int64_t first, int64_t row, int64_t pixels, const simd::ProductSourceOf<T>& source,
                const simd::ProductEnd& end, T* made, PixelTile<T>* tile) const {
    T matrix[simd::kProductRows][simd::kProductColumns] = {};
    const int64_t columns = std::min<int64_t>(simd::kProductColumns, out_ - first);
    T* begin = made + first * pixels + row * p_.out_w + tile->column;
    for (int r = 0; r < tile->rows; ++r) {
      tile->to[r] = matrix[r];
      for (int64_t c = 0; end.sum && c < columns; ++c) matrix[r][c] = begin[c * pixels + r * tile->column_step];
    }
    RunTile(tile->rows, columns, source, end, tile->to, simd::kProductChunk);
    for (int r = 0; r < tile->rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) begin[c * pixels + r * tile->column_step] = matrix[r][c];
    }
  }

  // A Clip that excludes 0 has filled the lanes behind the last channel.
  void ClearTail(T* dst, int64_t first_row, int64_t last_row) const {
    const int64_t tail = p_.out_channels % simd::kProductChunk;
    if (tail == 0) return;
    T* last = dst + p_.out_channels / simd::kProductChunk * simd::kProductChunk * p_.out_h * p_.out_w;
    for (int64_t i = first_row * p_.out_w; i < last_row * p_.out_w; ++i)
      std::fill(last + i * simd::kProductChunk + tail, last + (i + 1) * simd::kProductChunk, T());
  }

  ConvParams p_;
  simd::ProductEnd end_;
  int64_t lanes_, in_, out_, depth_;  // channels of one group
  std::shared_ptr<const std::vector<Panels<T>>> groups_;
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_ARM_CONVOLUTION_PRODUCT_H_
