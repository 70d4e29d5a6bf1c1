// SPDX-License-Identifier: Apache-2.0
// PlumbTrilu in plain order: a matrix without what lies above or below one of its diagonals.
#include "op/trilu.h"

#include "device/cpu/function_kernel.h"

namespace plumb::cpu {
namespace {

Status Trilu(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const auto& p = ParamOf<TriluParam>(layer);
  const int64_t k = in.size() == 2 ? *in[1].host<int64_t>() : p.k;
  const int rank = in[0].shape.rank();
  const int64_t rows = in[0].shape[rank - 2], columns = in[0].shape[rank - 1];
  return WithBits(in[0].dtype, [&](auto bits) {
    using T = decltype(bits);
    const T* x = in[0].host<T>();
    T* y = out[0].host<T>();
    for (int64_t r = 0; r < in[0].shape.Count(0, rank - 1); ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t at = r * columns + c;
        y[at] = InTriangle(p.upper, k, r % rows, c) ? x[at] : T{0};
      }
    }
    return Status::Ok();
  });
}

}  // namespace

const KernelFunctions kernel_trilu = FunctionKernelOf<Trilu, Takes::kAny>();

}  // namespace plumb::cpu
