// The one place that knows oneDNN: convolution, deconvolution and matrix products as objects that pack their weights
// once and then run on plain pointers. Versions 2.x and 3.x of oneDNN differ in onednn.cc only.
//
// Activations lie either in plain C order (NCHW) or in blocks of ChannelBlock() channels (N, C/block, H, W, block; the
// last block is zero padded). Every object computes ONE image on the calling thread: oneDNN's own threads never run
// (design decision 8), and a caller that wants several threads makes one object per slice of the output channels. fp32
// only. Threading: creation is thread-safe; one object must not run on two threads at once, Share() gives a second
// runner of the same weights.
#ifndef PLUMB_DEVICE_X86_ONEDNN_H_
#define PLUMB_DEVICE_X86_ONEDNN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/shared/epilogue.h"
#include "plumb/status.h"

namespace plumb::x86 {

// How the channels of a feature map lie in memory.
enum class Format { kPlain, kBlocked };

// Holds oneDNN to EffectiveIsa() (base/cpu.h). Only the first call has an effect, and it must come before anything else
// of this file; NotSupported when oneDNN refuses.
Status InitOneDnn();
// Channels in one block: 16 where oneDNN may use AVX-512, else 8.
int ChannelBlock();
// "oneDNN 2.6.3, AVX-512 core" for device_info and reports.
std::string OneDnnVersion();

struct ConvParams {
  int64_t groups = 1, in_channels = 0, out_channels = 0;  // channels of all groups together
  int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;  // bottom and right follow from the output size
  bool transposed = false;            // deconvolution
  Format src = Format::kBlocked, dst = Format::kBlocked;
  Epilogue epilogue;
};

struct MatMulParams {
  int64_t m = 0, k = 0, n = 0;
  int64_t a_stride_m = 0, a_stride_k = 0;  // of src, in elements; one of the two is 1
  int64_t b_stride_k = 0, b_stride_n = 0;  // of weights
  int64_t dst_stride_m = 0;                // a row of dst is dense
  bool bias = false;                       // [n], added to every row
  Epilogue epilogue;
};

class OneDnnOp {
 public:
  OneDnnOp(OneDnnOp&&) noexcept;
  OneDnnOp& operator=(OneDnnOp&&) noexcept;
  ~OneDnnOp();

  // Computes one image or matrix. `weights` and `bias` only where they were not packed at creation (MatMul).
  void Run(const float* src, float* dst, const float* weights = nullptr, const float* bias = nullptr);
  // Another runner over the same packed weights.
  OneDnnOp Share() const;
  // oneDNN's name of the kernel, such as "jit:avx2".
  const std::string& implementation() const;
  // True for a kernel that oneDNN keeps for correctness only; it may be a thousand times slower.
  bool is_reference() const;
  size_t packed_bytes() const;

  struct Impl;
  explicit OneDnnOp(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// NotSupported when oneDNN has no kernel, or only a reference kernel, for this convolution with a bias.
Status CheckConvolution(const ConvParams& params);
// NotSupported when oneDNN has no kernel at all for these formats. `bias` may be null.
Result<OneDnnOp> MakeConvolution(const ConvParams& params, const float* weights, const WeightStrides& strides,
                                 const float* bias);
// dst[m,n] = src[m,k] * weights[n,k]^T with packed weights; all dense.
Result<OneDnnOp> MakeInnerProduct(int64_t m, int64_t k, int64_t n, const float* weights, const float* bias,
                                  const Epilogue& epilogue);
// dst = src * weights, both given to Run.
Result<OneDnnOp> MakeMatMul(const MatMulParams& params);

}  // namespace plumb::x86

#endif  // PLUMB_DEVICE_X86_ONEDNN_H_
