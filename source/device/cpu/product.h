// SPDX-License-Identifier: Apache-2.0
// Sums of products on a CPU: convolution, deconvolution and matrix products as objects that pack their weights once and
// then run on plain pointers. X86 makes them with oneDNN (device/x86/onednn.cc), ARM, and X86 in a static program,
// with our own vector kernel (device/arm/product.cc); the functions below are defined there, so a build has one of the
// two.
//
// Activations lie either in plain C order (NCHW) or in blocks of ChannelBlock() channels (N, C/block, H, W, block; the
// last block is zero padded). Every object computes ONE image on the calling thread (design decision 8), and a caller
// that wants several threads makes one object per slice of the output channels. fp32 only. Threading: creation is
// thread-safe; one object must not run on two threads at once, Share() gives a second runner of the same weights.
#ifndef PLUMB_DEVICE_CPU_PRODUCT_H_
#define PLUMB_DEVICE_CPU_PRODUCT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/shared/epilogue.h"
#include "plumb/status.h"
#include "simd/depthwise.h"

namespace plumb::cpu {

// How the channels of a feature map lie in memory.
enum class Format { kPlain, kBlocked };

// Channels in one block: 16 with AVX-512, else 8.
int ChannelBlock();
// Blocks that hold so many channels.
inline int64_t BlocksOf(int64_t channels) { return (channels + ChannelBlock() - 1) / ChannelBlock(); }

// Threads that so many multiply-adds are worth, of `threads`: handing a part to another one takes a microsecond or two,
// and some thirty where it sleeps.
inline int ThreadsFor(int64_t multiply_adds, int threads) {
  constexpr int64_t kGrain = 1 << 16;
  return static_cast<int>(std::clamp<int64_t>(multiply_adds / kGrain, 1, std::max(1, threads)));
}

struct ConvParams {
  int64_t groups = 1, in_channels = 0, out_channels = 0;  // channels of all groups together
  int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;  // bottom and right follow from the output size
  bool transposed = false;            // deconvolution
  Format src = Format::kBlocked, dst = Format::kBlocked;
  Epilogue epilogue;

  int64_t MultiplyAdds() const {  // of one image
    return (transposed ? in_h * in_w : out_h * out_w) * kernel_h * kernel_w * out_channels * (in_channels / groups);
  }
};

class Product {
 public:
  virtual ~Product() = default;

  // Computes one image or matrix. `weights` only where they were not packed at creation (MakeMatMul).
  virtual void Run(const float* src, float* dst, const float* weights) = 0;
  void Run(const float* src, float* dst) { Run(src, dst, nullptr); }
  // Another runner over the same packed weights.
  virtual std::unique_ptr<Product> Share() const = 0;
  // The kernel's name, such as "jit:avx2".
  virtual const std::string& implementation() const = 0;
  virtual size_t packed_bytes() const = 0;
};
using ProductPtr = std::unique_ptr<Product>;

// Whether a depthwise convolution with so many output pixels, and this axis across, is quicker as a product than on
// simd/depthwise.h.
bool ProductsLeadDepthwise(int64_t pixels, const simd::DepthwiseAxis& across = {});
// Whether a convolution of several taps is as quick as a product as on the micro-kernel of panels
// (panel_convolution.h).
bool ProductsLead(const ConvParams& params);
// NotSupported when no kernel is quick at this convolution with a bias.
Status CheckConvolution(const ConvParams& params);
// NotSupported as above. `bias` may be null.
Result<ProductPtr> MakeConvolution(const ConvParams& params, const float* weights, const WeightStrides& strides,
                                   const float* bias);
// dst[m,n] = src[m,k] * weights[n,k]^T with packed weights; all dense. `bias` [n] may be null.
Result<ProductPtr> MakeInnerProduct(int64_t m, int64_t k, int64_t n, const float* weights, const float* bias,
                                    const Epilogue& epilogue);
// dst[m,n] = src[m,k] * weights[k,n], both given to Run; src is dense, the rows of the other two are `stride` apart.
Result<ProductPtr> MakeMatMul(int64_t m, int64_t k, int64_t n, int64_t stride);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_PRODUCT_H_
