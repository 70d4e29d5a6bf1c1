// Convolution and Convolution1D, plain loops (op/convolution.h has the formula).
#include "op/convolution.h"

#include <cmath>

#include "base/threads.h"
#include "device/naive/naive_op.h"

namespace plumb {
namespace {

double Activate(double y, int activation) {
  switch (activation) {
    case kActivationReLU: return y < 0 ? 0 : y;
    case kActivationReLU6: return y < 0 ? 0 : y > 6 ? 6 : y;
    case kActivationSwish: return y / (1 + std::exp(-y));
    default: return y;
  }
}

template <class T>
double Sum(const ConvolutionShape& s, const T* x, const float* w, int64_t oh, int64_t ow) {
  const WindowAxis& h = s.window.h;
  const WindowAxis& v = s.window.w;
  double sum = 0;
  for (int64_t c = 0; c < s.in_per_group(); ++c) {
    for (int64_t kh = 0; kh < h.kernel; ++kh) {
      const int64_t ih = oh * h.stride - h.pad_begin + kh * h.dilation;
      if (ih < 0 || ih >= h.in) continue;
      for (int64_t kw = 0; kw < v.kernel; ++kw) {
        const int64_t iw = ow * v.stride - v.pad_begin + kw * v.dilation;
        if (iw < 0 || iw >= v.in) continue;
        sum = std::fma(static_cast<double>(w[(c * h.kernel + kh) * v.kernel + kw]),
                       static_cast<double>(x[(c * h.in + ih) * v.in + iw]), sum);
      }
    }
  }
  return sum;
}

Status Run(const NaiveArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape s, ResolveConvolution(args.layer, args.inputs[0]->shape()));
  const float* weight = args.layer.Resource("weight")->data<float>();
  const Tensor* bias = args.layer.Resource("bias");
  const int64_t in_plane = s.window.h.in * s.window.w.in;
  const int64_t out_plane = s.window.h.out * s.window.w.out;
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    ParallelFor(s.batch * s.out_channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t o = i % s.out_channels;
        const T* x = args.inputs[0]->data<T>() + (i / s.out_channels * s.in_channels + o / s.out_per_group() * s.in_per_group()) * in_plane;
        T* y = args.outputs[0]->data<T>() + i * out_plane;
        const float* w = weight + o * s.in_per_group() * s.kernel_size();
        for (int64_t p = 0; p < out_plane; ++p) {
          double sum = Sum(s, x, w, p / s.window.w.out, p % s.window.w.out);
          if (bias != nullptr) sum += static_cast<double>(bias->data<float>()[o]);
          y[p] = static_cast<T>(Activate(sum, s.activation));
        }
      }
    });
    return Status::Ok();
  });
}

Status Bound(const NaiveArgs&, const BoundArgs&) { return Status::NotSupported("no bound yet"); }

}  // namespace

NaiveOp NaiveConvolution() { return {Run, Bound}; }
NaiveOp NaiveConvolution1D() { return {Run, Bound}; }

}  // namespace plumb
