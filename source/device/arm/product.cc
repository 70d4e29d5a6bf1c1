// SPDX-License-Identifier: Apache-2.0
// Sums of products (device/cpu/product.h) on simd/product.h.
#include "device/cpu/product.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "device/arm/convolution_product.h"
#include "device/cpu/product_end.h"
#include "simd/product.h"

namespace plumb::cpu {
namespace {

using simd::kProductChunk;
using simd::kProductColumns;
using simd::kProductRows;

const std::string kName = "vector";  // implementation()

class InnerProduct : public Product {
 public:
  InnerProduct(int64_t m, int64_t k, int64_t n, const float* weights, const float* bias, const Epilogue& epilogue)
      : m_(m), k_(k), n_(n), end_(EndOfProduct(epilogue)) {
    Panels<float> panels(k, n);
    panels.SetBias(bias);
    for (int64_t c = 0; c < n; ++c) {
      for (int64_t i = 0; i < k; ++i) panels.weight(i, c) = weights[c * k + i];
    }
    panels_ = std::make_shared<const Panels<float>>(std::move(panels));
  }
  void Run(const float* src, float* dst, const float*) override {
    for (int64_t panel = 0; panel < panels_->count(); ++panel) {
      const int64_t first = panel * kProductColumns;
      simd::ProductEnd end = end_;
      end.bias = panels_->bias(panel);
      for (int64_t row = 0; row < m_; row += kProductRows) {
        const int rows = static_cast<int>(std::min<int64_t>(kProductRows, m_ - row));
        MatrixTile<float> tile(src, k_, row, rows, dst + first, n_);
        tile.source.weights = panels_->weights(panel);
        simd::ProductTile(rows, std::min<int64_t>(kProductColumns, n_ - first), tile.source, end, tile.to,
                          kProductChunk);
      }
    }
  }
  ProductPtr Share() const override { return std::make_unique<InnerProduct>(*this); }
  const std::string& implementation() const override { return kName; }
  size_t packed_bytes() const override { return panels_->packed_bytes(); }

 private:
  int64_t m_, k_, n_;
  simd::ProductEnd end_;
  std::shared_ptr<const Panels<float>> panels_;
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
        MatrixTile<float> tile(src, k_, row, rows, dst + first, stride_);
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

class Convolution : public Product {
 public:
  explicit Convolution(ConvolutionProduct<float> product) : product_(std::move(product)) {}
  void Run(const float* src, float* dst, const float*) override { product_.Run(src, dst, &tile_); }
  ProductPtr Share() const override { return std::make_unique<Convolution>(*this); }
  const std::string& implementation() const override { return kName; }
  size_t packed_bytes() const override { return product_.packed_bytes(); }

 private:
  ConvolutionProduct<float> product_;
  PixelTile<float> tile_;  // this runner's
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

bool ProductsLeadDepthwise(int64_t, const simd::DepthwiseAxis&) { return false; }
// By instructions (tools/bench/arm_instructions.py); products read few channels one by one.
bool ProductsLead(const ConvParams& p) { return p.src == Format::kBlocked; }

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
  return MadeOrNoMemory("convolution", [&] {
    return std::make_unique<Convolution>(ConvolutionProduct<float>(params, weights, strides, bias));
  });
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
