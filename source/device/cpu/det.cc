// SPDX-License-Identifier: Apache-2.0
// PlumbDet in plain order: determinants by elimination with row exchanges, in double.
#include <algorithm>
#include <cmath>

#include "device/cpu/function_kernel.h"

namespace plumb::cpu {
namespace {

template <class T>
Status DetOf(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const int64_t n = in[0].shape[in[0].shape.rank() - 1];
  std::vector<std::vector<double>> rows(static_cast<size_t>(n));
  for (int64_t i = 0; i < out[0].shape.NumElements(); ++i) {
    const T* x = in[0].host<T>() + i * n * n;
    for (auto& row : rows) {
      row.assign(x, x + n);
      x += n;
    }
    double det = 1;
    for (size_t k = 0; k < rows.size() && det != 0; ++k) {
      const auto best = std::max_element(rows.begin() + static_cast<ptrdiff_t>(k), rows.end(),
                                         [&](auto& a, auto& b) { return std::fabs(a[k]) < std::fabs(b[k]); });
      if (*best != rows[k]) {
        std::swap(*best, rows[k]);
        det = -det;
      }
      det *= rows[k][k];
      for (size_t r = k + 1; r < rows.size() && det != 0; ++r) {
        const double factor = rows[r][k] / rows[k][k];
        for (size_t c = k; c < rows.size(); ++c) rows[r][c] -= factor * rows[k][c];
      }
    }
    out[0].host<T>()[i] = static_cast<T>(det);
  }
  return Status::Ok();
}

Status Det(const Layer&, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  return in[0].dtype == DType::kF64 ? DetOf<double>(in, out) : DetOf<float>(in, out);
}

}  // namespace

const KernelFunctions kernel_det = FunctionKernelOf<Det, Takes::kFloats>();

}  // namespace plumb::cpu
