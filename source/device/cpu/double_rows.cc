// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax, normalisations and coefficients per channel on f64 blobs: plain loops.
#include <algorithm>
#include <climits>
#include <cmath>

#include "device/cpu/double_functions.h"
#include "device/shared/axis_view.h"
#include "op/affine.h"
#include "op/lrn.h"
#include "op/norm.h"
#include "op/normalize.h"
#include "op/softmax.h"

namespace plumb::cpu {
namespace {

// A resource's values as double; none: nothing.
Result<std::vector<double>> DoubleResource(const Layer& layer, const char* slot) {
  const Tensor* resource = layer.Resource(slot);
  if (resource == nullptr) return std::vector<double>();
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, resource->ConvertedTo(DType::kF64));
  return std::vector<double>(wide.data<double>(), wide.data<double>() + wide.NumElements());
}

double At(const std::vector<double>& values, int64_t i, double absent) {
  return values.empty() ? absent : values[values.size() == 1 ? 0 : static_cast<size_t>(i)];
}

// f(first element of the row) on the pool.
template <class F>
void ForEachRow(const AxisView& view, F f) {
  view.ForEachTile([&](int64_t outer, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(outer * view.n * view.inner + i);
  });
}

Status SoftmaxOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const Shape& shape = in[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(layer).axis, shape.rank()));
  const AxisView view = AxisView::Over(shape, axis, axis + 1);
  const bool log = layer.kind == OpKind::kLogSoftmax;
  ForEachRow(view, [&](int64_t at) {
    const double* x = in[0].host<double>() + at;
    double* y = out[0].host<double>() + at;
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < view.n; ++i) {
      const double v = x[i * view.inner];
      if (v > max || v != v) max = v;
    }
    for (int64_t i = 0; i < view.n; ++i) sum += std::exp(x[i * view.inner] - max);
    for (int64_t i = 0; i < view.n; ++i) {
      const double v = x[i * view.inner] - max;
      y[i * view.inner] = log ? v - std::log(sum) : std::exp(v) / sum;
    }
  });
  return Status::Ok();
}

Status NormOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const NormShape s, ResolveNorm(layer, in[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const auto gammas, DoubleResource(layer, "scale"));
  PLUMB_ASSIGN_OR_RETURN(const auto betas, DoubleResource(layer, "bias"));
  const double* gamma = in.size() > 1 ? in[1].host<double>() : gammas.empty() ? nullptr : gammas.data();
  const double* beta = in.size() > 2 ? in[2].host<double>() : betas.empty() ? nullptr : betas.data();
  ForEachRow({s.rows, s.n, 1}, [&](int64_t at) {
    const double* x = in[0].host<double>() + at;
    double* y = out[0].host<double>() + at;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < s.n; ++i) sum += x[i];
    const double count = static_cast<double>(s.n), mean = sum / count;
    for (int64_t i = 0; i < s.n; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double by = 1 / std::sqrt(squares / count + s.eps);
    const int64_t first = at / std::max<int64_t>(1, s.n) % s.groups * s.per_row;
    for (int64_t i = 0; i < s.n; ++i) {
      const int64_t c = first + i / s.inner;
      y[i] = (x[i] - mean) * by * (gamma == nullptr ? 1 : gamma[c]) + (beta == nullptr ? 0 : beta[c]);
    }
  });
  return Status::Ok();
}

Status LrnOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const auto& p = ParamOf<LrnParam>(layer);
  const AxisView view = AxisView::Over(in[0].shape, 1, 2);
  const double alpha = static_cast<double>(p.alpha) / p.size, beta = static_cast<double>(p.beta);
  ForEachRow(view, [&](int64_t at) {
    const double* x = in[0].host<double>() + at;
    for (int64_t c = 0; c < view.n; ++c) {
      double sum = 0;
      const int64_t end = std::min<int64_t>(view.n, c + p.size / 2 + 1);
      for (int64_t i = std::max<int64_t>(0, c - (p.size - 1) / 2); i < end; ++i)
        sum += x[i * view.inner] * x[i * view.inner];
      out[0].host<double>()[at + c * view.inner] =
          x[c * view.inner] / std::pow(static_cast<double>(p.bias) + alpha * sum, beta);
    }
  });
  return Status::Ok();
}

double NormOfTerms(const AxisView& view, int p, const double* x) {
  double norm = p == INT_MIN ? INFINITY : 0;
  for (int64_t i = 0; i < view.n; ++i) {
    const double v = std::fabs(x[i * view.inner]);
    if (p == 1 || p == 2) {
      norm += p == 1 ? v : v * v;
    } else if (v != v || (p == INT_MAX ? v > norm : v < norm)) {
      norm = v;
    }
  }
  return p == 2 ? std::sqrt(norm) : norm;
}

Status NormalizeOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in,
                         const std::vector<DeviceTensor>& out) {
  const auto& p = ParamOf<NormalizeParam>(layer);
  const Shape& shape = in[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  const AxisView view = AxisView::Over(shape, axis, p.across_spatial != 0 ? shape.rank() : axis + 1);
  ForEachRow(view, [&](int64_t at) {
    const double* x = in[0].host<double>() + at;
    double norm = NormOfTerms(view, p.p, x);
    if (norm < static_cast<double>(p.epsilon)) norm = static_cast<double>(p.epsilon);
    for (int64_t i = 0; i < view.n; ++i) out[0].host<double>()[at + i * view.inner] = x[i * view.inner] / norm;
  });
  return Status::Ok();
}

Status AffineOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const AffineShape s, ResolveAffine(layer, in[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const auto scale, DoubleResource(layer, "scale"));
  PLUMB_ASSIGN_OR_RETURN(const auto bias, DoubleResource(layer, "bias"));
  ParallelFor(in[0].shape.NumElements(), kFunctionGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i / s.inner % s.count;
      out[0].host<double>()[i] = in[0].host<double>()[i] * At(scale, c, 1) + At(bias, c, 0);
    }
  });
  return Status::Ok();
}

Status PreluOfDouble(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const auto slope, DoubleResource(layer, "slope"));
  const int64_t channels = in[0].shape.DimOrOne(1), inner = in[0].shape.CountFrom(2);
  ParallelFor(in[0].shape.NumElements(), kFunctionGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double x = in[0].host<double>()[i];
      out[0].host<double>()[i] = x < 0 ? x * At(slope, i / inner % channels, 1) : x;
    }
  });
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_double_softmax = DoubleKernelOf<SoftmaxOfDouble>();
const KernelFunctions kernel_double_norm = DoubleKernelOf<NormOfDouble>();
const KernelFunctions kernel_double_lrn = DoubleKernelOf<LrnOfDouble>();
const KernelFunctions kernel_double_normalize = DoubleKernelOf<NormalizeOfDouble>();
const KernelFunctions kernel_double_affine = DoubleKernelOf<AffineOfDouble>();
const KernelFunctions kernel_double_prelu = DoubleKernelOf<PreluOfDouble>();

}  // namespace plumb::cpu
