// SPDX-License-Identifier: Apache-2.0
// Matrix products, convolutions and pooling on f64 blobs: plain loops.
#include <algorithm>
#include <cmath>

#include "device/cpu/double_functions.h"
#include "op/deconvolution.h"
#include "op/inner_product.h"
#include "op/matmul.h"
#include "op/pooling.h"

namespace plumb::cpu {
namespace {

Result<Tensor> DoubleWeight(const Layer& layer, const char* slot) {
  const Tensor* weight = layer.Resource(slot);
  if (weight == nullptr) return Status::NotFound(fmt::format("layer '{}' has no {}", layer.name, slot));
  return weight->ConvertedTo(DType::kF64);
}

// One number per output channel, or zeros.
Result<std::vector<double>> DoubleBias(const Layer& layer, int64_t channels) {
  std::vector<double> bias(static_cast<size_t>(channels), 0.0);
  if (layer.Resource("bias") == nullptr) return bias;
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, DoubleWeight(layer, "bias"));
  std::copy_n(wide.data<double>(), channels, bias.begin());
  return bias;
}

double Activated(double x, int activation) {
  if (activation == kActivationReLU) return x < 0 ? 0 : x;
  if (activation == kActivationReLU6) return real::clip(x, 0, 6);
  return activation == kActivationSwish ? x * real::sigmoid(x) : x;
}

Status MatMulOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  std::vector<Shape> shapes;
  for (const DeviceTensor& input : in) shapes.push_back(input.shape);
  PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(layer, shapes));
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape s, ResolveMatMul(operands.first, operands.second));
  const double *a = in[0].host<double>(), *b = in.back().host<double>();
  Tensor weight;
  if (in.size() == 1) {
    PLUMB_ASSIGN_OR_RETURN(weight, DoubleWeight(layer, "weight"));
    (ParamOf<MatMulParam>(layer).weight_position == 0 ? a : b) = weight.data<double>();
  }
  const int64_t rows = static_cast<int64_t>(s.first_matrix.size()) * s.m;
  ParallelFor(rows, kFunctionGrain / std::max<int64_t>(1, s.k * s.n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const auto matrix = static_cast<size_t>(r / s.m);
      const double* x = a + (s.first_matrix[matrix] * s.m + r % s.m) * s.k;
      const double* y = b + s.second_matrix[matrix] * s.k * s.n;
      double* sums = out[0].host<double>() + r * s.n;
      std::fill_n(sums, s.n, 0.0);
      for (int64_t k = 0; k < s.k; ++k) {
        for (int64_t j = 0; j < s.n; ++j) sums[j] += x[k] * y[k * s.n + j];
      }
    }
  });
  return Status::Ok();
}

Status InnerProductOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in,
                            const std::vector<DeviceTensor>& out) {
  const auto& p = ParamOf<InnerProductParam>(layer);
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, in[0].shape.rank()));
  const int64_t rows = in[0].shape.Count(0, axis), size = in[0].shape.CountFrom(axis), outputs = p.num_output;
  PLUMB_ASSIGN_OR_RETURN(const Tensor weight, DoubleWeight(layer, "weight"));
  PLUMB_ASSIGN_OR_RETURN(const auto bias, DoubleBias(layer, outputs));
  ParallelFor(rows * outputs, kFunctionGrain / std::max<int64_t>(1, size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double *x = in[0].host<double>() + i / outputs * size, *w = weight.data<double>() + i % outputs * size;
      double sum = bias[static_cast<size_t>(i % outputs)];
      for (int64_t k = 0; k < size; ++k) sum += x[k] * w[k];
      out[0].host<double>()[i] = sum;
    }
  });
  return Status::Ok();
}

// The input position that tap k of output o reads, or -1 outside.
int64_t Read(const WindowAxis& a, int64_t o, int64_t k) {
  const int64_t at = o * a.stride - a.pad_begin + k * a.dilation;
  return at < a.in ? at : -1;
}

// The same of a transposed convolution: the input whose tap k falls onto output o.
int64_t ReadTransposed(const WindowAxis& a, int64_t o, int64_t k) {
  const int64_t at = o + a.pad_begin - k * a.dilation;
  return at < 0 || at % a.stride != 0 || at / a.stride >= a.in ? -1 : at / a.stride;
}

struct DoubleConvolution {
  ConvolutionShape s;
  bool transposed = false;
  const double *x = nullptr, *weight = nullptr;

  // Of output channel o of image n at row h and column w.
  double Sum(int64_t n, int64_t o, int64_t h, int64_t w) const {
    const WindowAxis &rows = s.window.h, &columns = s.window.w;
    const int64_t group = o / s.out_per_group(), plane = rows.in * columns.in, read_channels = s.in_per_group();
    const auto read = transposed ? ReadTransposed : Read;
    double sum = 0;
    for (int64_t c = 0; c < read_channels; ++c) {
      const double* from = x + (n * s.in_channels + group * read_channels + c) * plane;
      const int64_t filter =
          transposed ? (group * read_channels + c) * s.out_per_group() + o % s.out_per_group() : o * read_channels + c;
      const double* taps = weight + filter * s.kernel_size();
      for (int64_t i = 0; i < rows.kernel; ++i) {
        const int64_t row = read(rows, h, i);
        for (int64_t j = 0; j < columns.kernel && row >= 0; ++j) {
          const int64_t column = read(columns, w, j);
          if (column >= 0) sum += taps[i * columns.kernel + j] * from[row * columns.in + column];
        }
      }
    }
    return sum;
  }
};

Status ConvolutionOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in,
                           const std::vector<DeviceTensor>& out) {
  DoubleConvolution c;
  c.transposed = layer.kind == OpKind::kDeconvolution;
  PLUMB_ASSIGN_OR_RETURN(
      c.s, c.transposed ? ResolveDeconvolution(layer, in[0].shape) : ResolveConvolution(layer, in[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const Tensor weight, DoubleWeight(layer, "weight"));
  PLUMB_ASSIGN_OR_RETURN(const auto bias, DoubleBias(layer, c.s.out_channels));
  c.x = in[0].host<double>();
  c.weight = weight.data<double>();
  const int64_t columns = c.s.window.w.out, plane = c.s.window.h.out * columns, channels = c.s.out_channels;
  ParallelFor(c.s.batch * channels * plane, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / plane % channels, at = i % plane;
      const double sum = c.Sum(i / plane / channels, o, at / columns, at % columns);
      out[0].host<double>()[i] = Activated(sum + bias[static_cast<size_t>(o)], c.s.activation);
    }
  });
  return Status::Ok();
}

// The input elements [begin, end) of a window, and its length with what counts of the padding.
struct DoubleRange {
  int64_t begin, end, length;
};

DoubleRange RangeOfDouble(const WindowAxis& a, bool adaptive, int64_t o) {
  if (adaptive) {
    const int64_t begin = o * a.in / a.out, end = ((o + 1) * a.in + a.out - 1) / a.out;
    return {begin, end, end - begin};
  }
  const int64_t start = o * a.stride - a.pad_begin;
  return {std::max<int64_t>(start, 0), std::min(start + a.kernel, a.in),
          std::min(start + a.kernel, a.in + a.pad_end) - start};
}

double Pooled(const PoolingShape& s, const DoubleRange& h, const DoubleRange& w, const double* x) {
  double sum = 0, max = -INFINITY;
  for (int64_t i = h.begin; i < h.end; ++i) {
    for (int64_t j = w.begin; j < w.end; ++j) {
      const double v = x[i * s.window.w.in + j];
      sum += v;
      if (v > max || v != v) max = v;
    }
  }
  if (!s.average) return max;
  const int64_t inside = std::max<int64_t>(0, h.end - h.begin) * std::max<int64_t>(0, w.end - w.begin);
  const int64_t count = s.count_include_pad ? h.length * w.length : inside;
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

Status PoolingOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape s, ResolvePooling(layer, in[0].shape));
  const WindowAxis &h = s.window.h, &w = s.window.w;
  const int64_t plane = h.out * w.out;
  ParallelFor(s.batch * s.channels * plane, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i % plane;
      out[0].host<double>()[i] =
          Pooled(s, RangeOfDouble(h, s.adaptive, at / w.out), RangeOfDouble(w, s.adaptive, at % w.out),
                 in[0].host<double>() + i / plane * h.in * w.in);
    }
  });
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_double_matmul = DoubleKernelOf<MatMulOfDouble>();
const KernelFunctions kernel_double_inner_product = DoubleKernelOf<InnerProductOfDouble>();
const KernelFunctions kernel_double_convolution = DoubleKernelOf<ConvolutionOfDouble>();
const KernelFunctions kernel_double_pooling = DoubleKernelOf<PoolingOfDouble>();

}  // namespace plumb::cpu
