// Sums of products (device/cpu/product.h) on simd/product.h. A convolution is a product of pixels and output channels
// whose depth is kernel taps times input channels: each output row is cut into tiles of pixels, which read the map
// where it lies (taps outside it read zeros), and the weights are packed in panels of output channels. Which pixels a
// tap meets is worked out once per tile and serves every panel that fits the cache beside it.
#include "device/cpu/product.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "device/cpu/product_end.h"
#include "simd/product.h"

namespace plumb::cpu {
namespace {

using simd::kProductChunk;
using simd::kProductColumns;
using simd::kProductRows;

constexpr int64_t kPanelFloats = 32768;  // of weights that stay in the second cache while tiles pass: 128 KiB
constexpr int64_t kPackedRows = 16;      // from so many rows on a matrix is worth a copy in panels
const std::string kName = "vector";      // implementation()

int64_t RoundUp(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Panels of kProductColumns columns: each its columns' biases, then its weights factor by factor; columns behind the
// last are zeros.
struct Panels {
  int64_t depth = 0, columns = 0;
  std::vector<float> data;

  Panels(int64_t depth_of_all, int64_t columns_of_all) : depth(depth_of_all), columns(columns_of_all) {
    data.resize(static_cast<size_t>(count() * size()));
  }
  int64_t size() const { return (depth + 1) * kProductColumns; }
  int64_t count() const { return (columns + kProductColumns - 1) / kProductColumns; }
  float* bias(int64_t panel) { return data.data() + panel * size(); }
  const float* bias(int64_t panel) const { return data.data() + panel * size(); }
  const float* weights(int64_t panel) const { return bias(panel) + kProductColumns; }
  float& weight(int64_t factor, int64_t column) {
    return bias(column / kProductColumns)[(factor + 1) * kProductColumns + column % kProductColumns];
  }
  void SetBias(const float* values) {
    for (int64_t c = 0; values != nullptr && c < columns; ++c)
      bias(c / kProductColumns)[c % kProductColumns] = values[c];
  }
};

// One row of pointers per row of the tile, for products of dense matrices.
struct MatrixTile {
  const float* from[kProductRows];
  float* to[kProductRows];
  int64_t steps[kProductRows] = {};
  int64_t at = 0;
  simd::ProductSource source;

  // Rows [first, first + rows) of src[.,k] and of dst, whose rows are `stride` apart.
  MatrixTile(const float* src, int64_t k, int64_t first, int rows, float* dst, int64_t stride) {
    for (int r = 0; r < rows; ++r) from[r] = src + (first + r) * k, to[r] = dst + (first + r) * stride;
    source.taps = 1, source.lanes = k;
    source.from = from, source.step = steps, source.at = &at;
  }
};

class InnerProduct : public Product {
 public:
  InnerProduct(int64_t m, int64_t k, int64_t n, const float* weights, const float* bias, const Epilogue& epilogue)
      : m_(m), k_(k), n_(n), end_(EndOfProduct(epilogue)) {
    Panels panels(k, n);
    panels.SetBias(bias);
    for (int64_t c = 0; c < n; ++c) {
      for (int64_t i = 0; i < k; ++i) panels.weight(i, c) = weights[c * k + i];
    }
    panels_ = std::make_shared<const Panels>(std::move(panels));
  }
  void Run(const float* src, float* dst, const float*) override {
    for (int64_t panel = 0; panel < panels_->count(); ++panel) {
      const int64_t first = panel * kProductColumns;
      simd::ProductEnd end = end_;
      end.bias = panels_->bias(panel);
      for (int64_t row = 0; row < m_; row += kProductRows) {
        const int rows = static_cast<int>(std::min<int64_t>(kProductRows, m_ - row));
        MatrixTile tile(src, k_, row, rows, dst + first, n_);
        tile.source.weights = panels_->weights(panel);
        simd::ProductTile(rows, std::min<int64_t>(kProductColumns, n_ - first), tile.source, end, tile.to,
                          kProductChunk);
      }
    }
  }
  ProductPtr Share() const override { return std::make_unique<InnerProduct>(*this); }
  const std::string& implementation() const override { return kName; }
  size_t packed_bytes() const override { return panels_->data.size() * sizeof(float); }

 private:
  int64_t m_, k_, n_;
  simd::ProductEnd end_;
  std::shared_ptr<const Panels> panels_;
};

// Weights are read where they lie; of many rows, and of columns that do not fill a panel, from a copy.
class MatMulProduct : public Product {
 public:
  MatMulProduct(int64_t m, int64_t k, int64_t n, int64_t stride)
      : m_(m), k_(k), n_(n), stride_(stride), panel_(static_cast<size_t>(k * kProductColumns)) {}
  void Run(const float* src, float* dst, const float* weights) override {
    for (int64_t first = 0; first < n_; first += kProductColumns) {
      const int64_t columns = std::min<int64_t>(kProductColumns, n_ - first);
      const bool copy = columns < kProductColumns || m_ >= kPackedRows;
      if (copy) {
        for (int64_t i = 0; i < k_; ++i) {
          std::copy_n(weights + i * stride_ + first, columns, panel_.data() + i * kProductColumns);
        }
      }
      for (int64_t row = 0; row < m_; row += kProductRows) {
        const int rows = static_cast<int>(std::min<int64_t>(kProductRows, m_ - row));
        MatrixTile tile(src, k_, row, rows, dst + first, stride_);
        tile.source.weights = copy ? panel_.data() : weights + first;
        tile.source.weights_step = copy ? kProductColumns : stride_;
        simd::ProductTile(rows, columns, tile.source, simd::ProductEnd(), tile.to, kProductChunk);
      }
    }
  }
  ProductPtr Share() const override { return std::make_unique<MatMulProduct>(*this); }
  const std::string& implementation() const override { return kName; }
  size_t packed_bytes() const override { return 0; }

 private:
  int64_t m_, k_, n_, stride_;
  std::vector<float> panel_;
};

// A tile's pixels as every tap meets them.
struct PixelTile {
  std::vector<const float*> from;
  std::vector<int64_t> step, at;
  float* to[kProductRows] = {};
  int rows = 0;
  int64_t column = 0, column_step = 1;  // of the output row
};

class ConvolutionProduct : public Product {
 public:
  ConvolutionProduct(const ConvParams& p, const float* weights, const WeightStrides& s, const float* bias)
      : p_(p),
        end_(EndOfProduct(p.epilogue)),
        lanes_(p.src == Format::kBlocked ? ChannelBlock() : 1),
        in_(p.in_channels / p.groups),
        out_(p.out_channels / p.groups),
        depth_(p.kernel_h * p.kernel_w * RoundUp(in_, lanes_)) {
    auto groups = std::make_shared<std::vector<Panels>>();
    const int64_t taps = p.kernel_h * p.kernel_w, channels = RoundUp(in_, lanes_);
    for (int64_t g = 0; g < p.groups; ++g) {
      Panels panels(depth_, out_);
      panels.SetBias(bias == nullptr ? nullptr : bias + g * out_);
      for (int64_t o = 0; o < out_; ++o) {
        for (int64_t c = 0; c < in_; ++c) {
          const float* from = weights + g * s.group + o * s.out + c * s.in;
          for (int64_t t = 0; t < taps; ++t) panels.weight(t * channels + c, o) = from[t];
        }
      }
      groups->push_back(std::move(panels));
    }
    groups_ = std::move(groups);
  }

  void Run(const float* src, float* dst, const float*) override {
    const int64_t in_pixels = p_.in_h * p_.in_w, out_pixels = p_.out_h * p_.out_w;
    for (int64_t g = 0; g < p_.groups; ++g) {
      const float* map = src + g * in_ * in_pixels;
      float* made = dst + g * out_ * out_pixels;
      const int64_t panels = (*groups_)[static_cast<size_t>(g)].count();
      const int64_t at_once = std::max<int64_t>(1, kPanelFloats / std::max<int64_t>(1, depth_ * kProductColumns));
      for (int64_t first = 0; first < panels; first += at_once) {
        for (int64_t row = 0; row < p_.out_h; ++row)
          RunRow(g, first, std::min(panels, first + at_once), row, map, made);
      }
    }
    if (p_.dst == Format::kBlocked) ClearTail(dst);
  }
  ProductPtr Share() const override { return std::make_unique<ConvolutionProduct>(*this); }
  const std::string& implementation() const override { return kName; }
  size_t packed_bytes() const override {
    size_t bytes = 0;
    for (const Panels& panels : *groups_) bytes += panels.data.size() * sizeof(float);
    return bytes;
  }

 private:
  // A deconvolution's neighbours meet different taps: a tile holds pixels of one phase.
  void RunRow(int64_t g, int64_t first, int64_t last, int64_t row, const float* map, float* made) {
    PixelTile& tile = tile_;
    tile.column_step = p_.transposed ? p_.stride_w : 1;
    for (int64_t phase = 0; phase < std::min(tile.column_step, p_.out_w); ++phase) {
      const int64_t pixels = (p_.out_w - phase + tile.column_step - 1) / tile.column_step;
      for (int64_t i = 0; i < pixels; i += kProductRows) {
        tile.rows = static_cast<int>(std::min<int64_t>(kProductRows, pixels - i));
        tile.column = phase + i * tile.column_step;
        Meet(row, map, &tile);
        for (int64_t panel = first; panel < last; ++panel) RunPanel(g, panel, row, made, &tile);
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
  void Meet(int64_t row, const float* map, PixelTile* tile) const {
    static constexpr float kZeros[16] = {};
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
          tile->at.push_back((kh * p_.kernel_w + kw) * channels * kProductColumns);
        } else {
          tile->from.resize(tile->from.size() - static_cast<size_t>(tile->rows));
          tile->step.resize(tile->from.size());
        }
      }
    }
  }

  void RunPanel(int64_t g, int64_t panel, int64_t row, float* made, PixelTile* tile) const {
    const Panels& panels = (*groups_)[static_cast<size_t>(g)];
    simd::ProductSource source;
    source.taps = static_cast<int64_t>(tile->at.size());
    source.blocks = RoundUp(in_, lanes_) / lanes_, source.lanes = lanes_;
    source.from = tile->from.data(), source.step = tile->step.data(), source.at = tile->at.data();
    source.weights = panels.weights(panel);
    simd::ProductEnd end = end_;
    end.bias = panels.bias(panel);
    const int64_t first = panel * kProductColumns, pixels = p_.out_h * p_.out_w;
    if (p_.dst == Format::kPlain) return RunPlain(first, row, pixels, source, end, made, tile);
    const int64_t left = RoundUp(out_, kProductChunk) - first;
    for (int r = 0; r < tile->rows; ++r) {
      const int64_t pixel = row * p_.out_w + tile->column + r * tile->column_step;
      tile->to[r] = made + first * pixels + pixel * kProductChunk;
    }
    simd::ProductTile(tile->rows, std::min<int64_t>(kProductColumns, left), source, end, tile->to,
                      pixels * kProductChunk);
  }

  // Plain order: by way of a small matrix.
  void RunPlain(int64_t first, int64_t row, int64_t pixels, const simd::ProductSource& source,
                const simd::ProductEnd& end, float* made, PixelTile* tile) const {
    float matrix[kProductRows][kProductColumns] = {};
    const int64_t columns = std::min<int64_t>(kProductColumns, out_ - first);
    float* begin = made + first * pixels + row * p_.out_w + tile->column;
    for (int r = 0; r < tile->rows; ++r) {
      tile->to[r] = matrix[r];
      for (int64_t c = 0; end.sum && c < columns; ++c) matrix[r][c] = begin[c * pixels + r * tile->column_step];
    }
    simd::ProductTile(tile->rows, columns, source, end, tile->to, kProductChunk);
    for (int r = 0; r < tile->rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) begin[c * pixels + r * tile->column_step] = matrix[r][c];
    }
  }

  // A Clip that excludes 0 has filled the lanes behind the last channel.
  void ClearTail(float* dst) const {
    const int64_t tail = p_.out_channels % kProductChunk, pixels = p_.out_h * p_.out_w;
    if (tail == 0) return;
    float* last = dst + p_.out_channels / kProductChunk * kProductChunk * pixels;
    for (int64_t i = 0; i < pixels; ++i)
      std::fill(last + i * kProductChunk + tail, last + (i + 1) * kProductChunk, 0.0f);
  }

  ConvParams p_;
  simd::ProductEnd end_;
  int64_t lanes_, in_, out_, depth_;  // channels of one group
  std::shared_ptr<const std::vector<Panels>> groups_;
  PixelTile tile_;  // this runner's
};

// Runs `make` with an exhausted memory as a Status.
template <class F>
Result<ProductPtr> MadeOrNoMemory(const char* what, F&& make) {
  try {
    return ProductPtr(make());
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory(std::string("no memory to prepare a ") + what);
  }
}

}  // namespace

int ChannelBlock() { return kProductChunk; }

bool ProductsLeadDepthwise(int64_t) { return false; }

Status CheckConvolution(const ConvParams& p) {
  const int64_t block = ChannelBlock(), in = p.in_channels / p.groups, out = p.out_channels / p.groups;
  const bool cuts_in = p.src == Format::kBlocked && in % block != 0;
  const bool cuts_out = p.dst == Format::kBlocked && out % block != 0;
  if (p.groups == 1 || (!cuts_in && !cuts_out)) return Status::Ok();
  return Status::NotSupported(
      fmt::format("groups of {} and {} channels cut the blocks of {} in which they lie", in, out, block));
}

Result<ProductPtr> MakeConvolution(const ConvParams& params, const float* weights, const WeightStrides& strides,
                                   const float* bias) {
  PLUMB_RETURN_IF_ERROR(CheckConvolution(params));
  return MadeOrNoMemory("convolution",
                        [&] { return std::make_unique<ConvolutionProduct>(params, weights, strides, bias); });
}

Result<ProductPtr> MakeInnerProduct(int64_t m, int64_t k, int64_t n, const float* weights, const float* bias,
                                    const Epilogue& epilogue) {
  return MadeOrNoMemory("inner product",
                        [&] { return std::make_unique<InnerProduct>(m, k, n, weights, bias, epilogue); });
}

Result<ProductPtr> MakeMatMul(int64_t m, int64_t k, int64_t n, int64_t stride) {
  return MadeOrNoMemory("matrix product", [&] { return std::make_unique<MatMulProduct>(m, k, n, stride); });
}

}  // namespace plumb::cpu
