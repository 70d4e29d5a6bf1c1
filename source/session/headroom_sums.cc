// SPDX-License-Identifier: Apache-2.0
#include "session/headroom_sums.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/threads.h"
#include "op/core/op.h"
#include "op/deconvolution.h"
#include "op/inner_product.h"
#include "op/matmul.h"

namespace plumb {
namespace {

// Sums that lie side by side: a row of outputs.
class SumRow {
 public:
  explicit SumRow(int64_t size)
      : sum_(Size(size)),
        half_(Size(size)),
        positive_(Size(size)),
        negative_(Size(size)),
        most_(Size(size)),
        most_half_(Size(size)) {}

  // The bias is the first term, and the last one.
  void Begin(double bias) {
    bias_ = bias;
    std::fill(sum_.begin(), sum_.end(), 0);
    std::fill(half_.begin(), half_.end(), 0);
    std::fill(most_half_.begin(), most_half_.end(), 0);
    std::fill(positive_.begin(), positive_.end(), std::max(bias, 0.0));
    std::fill(negative_.begin(), negative_.end(), std::min(bias, 0.0));
    std::fill(most_.begin(), most_.end(), std::fabs(bias));
  }
  // weight times x[i * step], to the sums from `first` on.
  void Add(double weight, const float* x, int64_t step, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double term = weight * static_cast<double>(x[i * step]);
      const size_t at = Size(first + i);
      sum_[at] += term;
      half_[at] = To11Bits(half_[at] + To11Bits(term));
      most_half_[at] = std::max(most_half_[at], std::max(std::fabs(half_[at]), std::fabs(half_[at] + bias_)));
      positive_[at] += std::max(term, 0.0);
      negative_[at] += std::min(term, 0.0);
      most_[at] = std::max(most_[at], std::max(std::fabs(sum_[at]), std::fabs(sum_[at] + bias_)));
    }
  }
  void End(LargestSums* largest) const {
    for (size_t i = 0; i < sum_.size(); ++i) {
      largest->in_order = std::max(largest->in_order, most_[i]);
      largest->in_order_f16 = std::max(largest->in_order_f16, most_half_[i]);
      largest->any_order = std::max(largest->any_order, std::max(positive_[i], -negative_[i]));
    }
  }

 private:
  static size_t Size(int64_t size) { return static_cast<size_t>(size); }
  // To nearest, without f16's range (T. J. Dekker, Numerische Mathematik 18, 1971, splits numbers so).
  static double To11Bits(double x) {
    const double scaled = x * (0x1p42 + 1);
    return scaled - (scaled - x);
  }
  double bias_ = 0;
  std::vector<double> sum_, half_, positive_, negative_, most_, most_half_;
};

// Of pieces that threads look at.
class Shared {
 public:
  void Take(const LargestSums& sums) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.in_order = std::max(all_.in_order, sums.in_order);
    all_.in_order_f16 = std::max(all_.in_order_f16, sums.in_order_f16);
    all_.any_order = std::max(all_.any_order, sums.any_order);
  }
  LargestSums all() const { return all_; }

 private:
  std::mutex mutex_;
  LargestSums all_;
};

struct Filter {
  const ConvolutionShape& shape;
  const float *weight, *bias;
  bool transposed;
};

// Which outputs of a row tap k of the kernel reaches: from `first` on, `count` of them `apart`, from the inputs from
// `from` on, `step` apart.
struct Reach {
  int64_t first = 0, count = 0, apart = 1, from = 0, step = 1;
};

Reach ReachOf(const WindowAxis& axis, int64_t k, bool transposed) {
  Reach reach;
  const int64_t shift = k * axis.dilation - axis.pad_begin;
  const int64_t narrow = transposed ? axis.in : axis.out, wide = transposed ? axis.out : axis.in;
  const int64_t first = shift < 0 ? (-shift + axis.stride - 1) / axis.stride : 0;
  const int64_t last = wide - 1 - shift < 0 ? -1 : std::min(narrow - 1, (wide - 1 - shift) / axis.stride);
  if (last < first) return reach;
  reach.count = last - first + 1;
  const int64_t far = first * axis.stride + shift;
  reach.first = transposed ? far : first;
  reach.apart = transposed ? axis.stride : 1;
  reach.from = transposed ? first : far;
  reach.step = transposed ? 1 : axis.stride;
  return reach;
}

// The input row that tap k of the kernel reads for an output row, or -1.
int64_t RowBehind(const WindowAxis& axis, int64_t out, int64_t k, bool transposed) {
  const int64_t shift = k * axis.dilation - axis.pad_begin;
  if (!transposed) {
    const int64_t in = out * axis.stride + shift;
    return in >= 0 && in < axis.in ? in : -1;
  }
  const int64_t far = out - shift;
  return far >= 0 && far % axis.stride == 0 && far / axis.stride < axis.in ? far / axis.stride : -1;
}

// Row y of output channel o.
void AddRow(const Filter& filter, const float* image, int64_t o, int64_t y, SumRow* row, LargestSums* largest) {
  const ConvolutionShape& s = filter.shape;
  const Window2D& window = s.window;
  const int64_t group = o / s.out_per_group(), within = o % s.out_per_group(), pixels = window.h.in * window.w.in;
  row->Begin(filter.bias == nullptr ? 0 : static_cast<double>(filter.bias[o]));
  for (int64_t c = 0; c < s.in_per_group(); ++c) {
    const int64_t at =
        filter.transposed ? (group * s.in_per_group() + c) * s.out_per_group() + within : o * s.in_per_group() + c;
    const float* plane = image + (group * s.in_per_group() + c) * pixels;
    for (int64_t ky = 0; ky < window.h.kernel; ++ky) {
      const int64_t in_row = RowBehind(window.h, y, ky, filter.transposed);
      if (in_row < 0) continue;
      for (int64_t kx = 0; kx < window.w.kernel; ++kx) {
        const double weight = static_cast<double>(filter.weight[(at * window.h.kernel + ky) * window.w.kernel + kx]);
        const Reach reach = ReachOf(window.w, kx, filter.transposed);
        const float* x = plane + in_row * window.w.in + reach.from;
        if (reach.apart == 1) {
          row->Add(weight, x, reach.step, reach.first, reach.count);
        } else {
          for (int64_t i = 0; i < reach.count; ++i)
            row->Add(weight, x + i * reach.step, 1, reach.first + i * reach.apart, 1);
        }
      }
    }
  }
  row->End(largest);
}

LargestSums OfConvolution(const Filter& filter, const float* input) {
  const ConvolutionShape& s = filter.shape;
  const int64_t rows = s.batch * s.out_channels * s.window.h.out;
  const int64_t image = s.in_channels * s.window.h.in * s.window.w.in;
  Shared shared;
  ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
    SumRow row(s.window.w.out);
    LargestSums largest;
    for (int64_t r = begin; r < end; ++r) {
      const int64_t n = r / (s.out_channels * s.window.h.out), o = r / s.window.h.out % s.out_channels;
      AddRow(filter, input + n * image, o, r % s.window.h.out, &row, &largest);
    }
    shared.Take(largest);
  });
  return shared.all();
}

// Rows of the first matrix times columns of the second.
LargestSums OfMatrices(const MatMulShape& s, const float* first, const float* second) {
  const auto matrices = static_cast<int64_t>(s.first_matrix.size());
  Shared shared;
  ParallelFor(matrices * s.m, 1, [&](int64_t begin, int64_t end) {
    SumRow row(s.n);
    LargestSums largest;
    for (int64_t r = begin; r < end; ++r) {
      const auto matrix = static_cast<size_t>(r / s.m);
      const float* a = first + (s.first_matrix[matrix] * s.m + r % s.m) * s.k;
      const float* b = second + s.second_matrix[matrix] * s.k * s.n;
      row.Begin(0);
      for (int64_t k = 0; k < s.k; ++k) row.Add(static_cast<double>(a[k]), b + k * s.n, 1, 0, s.n);
      row.End(&largest);
    }
    shared.Take(largest);
  });
  return shared.all();
}

LargestSums OfInnerProduct(const Layer& layer, const Tensor& input, int axis) {
  const auto& param = ParamOf<InnerProductParam>(layer);
  const int64_t terms = input.shape().CountFrom(axis), items = input.shape().Count(0, axis);
  const float *x = input.data<float>(), *weight = layer.Resource("weight")->data<float>();
  const float* bias = layer.Resource("bias") == nullptr ? nullptr : layer.Resource("bias")->data<float>();
  Shared shared;
  ParallelFor(items * param.num_output, 1, [&](int64_t begin, int64_t end) {
    SumRow row(1);
    LargestSums largest;
    for (int64_t r = begin; r < end; ++r) {
      const int64_t item = r / param.num_output, o = r % param.num_output;
      row.Begin(bias == nullptr ? 0 : static_cast<double>(bias[o]));
      for (int64_t k = 0; k < terms; ++k)
        row.Add(static_cast<double>(weight[o * terms + k]), x + item * terms + k, 1, 0, 1);
      row.End(&largest);
    }
    shared.Take(largest);
  });
  return shared.all();
}

// Nothing: operands that are not f32.
Result<std::optional<LargestSums>> OfMatMul(const Layer& layer, const std::vector<Tensor>& inputs) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(layer, shapes));
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ResolveMatMul(operands.first, operands.second));
  const Tensor *first = &inputs[0], *second = inputs.size() > 1 ? &inputs[1] : layer.Resource("weight");
  if (inputs.size() == 1 && ParamOf<MatMulParam>(layer).weight_position == 0) std::swap(first, second);
  if (first->dtype() != DType::kF32 || second->dtype() != DType::kF32) return std::optional<LargestSums>();
  return std::optional<LargestSums>(OfMatrices(shape, first->data<float>(), second->data<float>()));
}

}  // namespace

Result<std::optional<LargestSums>> LargestSumsOf(const Layer& layer, const std::vector<Tensor>& inputs) {
  if (inputs.empty() || inputs[0].dtype() != DType::kF32) return std::optional<LargestSums>();
  const auto convolution = [&](const ConvolutionShape& shape, bool transposed) {
    const Tensor* bias = layer.Resource("bias");
    return OfConvolution(
        {shape, layer.Resource("weight")->data<float>(), bias == nullptr ? nullptr : bias->data<float>(), transposed},
        inputs[0].data<float>());
  };
  switch (layer.kind) {
    case OpKind::kConvolution:
    case OpKind::kConvolution1D: {
      PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(layer, inputs[0].shape()));
      return std::optional<LargestSums>(convolution(shape, false));
    }
    case OpKind::kDeconvolution: {
      PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveDeconvolution(layer, inputs[0].shape()));
      return std::optional<LargestSums>(convolution(shape, true));
    }
    case OpKind::kInnerProduct: {
      PLUMB_ASSIGN_OR_RETURN(const int axis,
                             NormalizeAxis(ParamOf<InnerProductParam>(layer).axis, inputs[0].shape().rank()));
      return std::optional<LargestSums>(OfInnerProduct(layer, inputs[0], axis));
    }
    case OpKind::kMatMul: return OfMatMul(layer, inputs);
    default: return std::optional<LargestSums>();
  }
}

}  // namespace plumb
