// SPDX-License-Identifier: Apache-2.0
// PlumbMaxPool and PlumbPoolND in plain order: the spatial dims are seen as three (missing ones are 1), so the window
// is three nested loops; scalar, for the cases that Pooling's kernels cannot say.
#include "op/pool_nd.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/by_dtype.h"
#include "base/threads.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kPoolNdGrain = 1024;  // windows that are worth a second thread

const WindowParam& WindowOf(const Layer& layer) {
  return layer.kind == OpKind::kPlumbMaxPool ? ParamOf<MaxPoolParam>(layer).window : ParamOf<PoolNDParam>(layer).window;
}

class PoolKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    const bool whole = dtype == DType::kI32 || dtype == DType::kI64;
    if (dtype != DType::kF32 && dtype != DType::kF64 && !(whole && spec.layer().kind == OpKind::kPlumbMaxPool)) {
      return Status::NotSupported(fmt::format("pools no {} blobs", DTypeName(dtype)));
    }
    if (spec.inputs[0].shape.rank() <= 5) return Status::Ok();
    return Status::NotSupported("takes at most 3 spatial dims, got " + spec.inputs[0].shape.ToString());
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const PoolShape s, ResolvePool(WindowOf(spec.layer()), spec.inputs[0].shape));
    std::copy(s.axes.begin(), s.axes.end(), axis_.end() - static_cast<ptrdiff_t>(s.axes.size()));
    channels_ = s.in.Count(0, 2);
    if (spec.layer().kind == OpKind::kPlumbMaxPool) {
      column_major_ = ParamOf<MaxPoolParam>(spec.layer()).column_major;
      return Status::Ok();
    }
    const auto& p = ParamOf<PoolNDParam>(spec.layer());
    lp_ = p.mode == "lp" ? p.p : 0;
    include_pad_ = p.count_include_pad;
    max_ = false;
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (!max_ && inputs[0].dtype == DType::kF64) return RunMean(inputs[0].host<double>(), outputs[0].host<double>());
    if (!max_) return RunMean(inputs[0].host<float>(), outputs[0].host<float>());
    return WithNumber(inputs[0].dtype, [&](auto number) {
      using T = decltype(number);
      RunMax(inputs[0].host<T>(), outputs[0].host<T>(), outputs[1].host<int64_t>());
      return Status::Ok();
    });
  }

 private:
  // First and last (exclusive) step of the window of output `o` that lie inside the input.
  struct Range {
    int64_t start, begin, end;
  };
  Range RangeOf(size_t d, int64_t o) const {
    const PoolAxis& a = axis_[d];
    Range r{o * a.stride - a.pad_begin, 0, a.kernel};
    if (r.start < 0) r.begin = (-r.start + a.dilation - 1) / a.dilation;
    if (r.start + (a.kernel - 1) * a.dilation >= a.in) r.end = (a.in - r.start + a.dilation - 1) / a.dilation;
    return r;
  }

  // f(output, first element of the channel, ranges of the three dims)
  template <class F>
  void ForEachOutput(F f) const {
    const int64_t plane = axis_[0].out * axis_[1].out * axis_[2].out,
                  in_plane = axis_[0].in * axis_[1].in * axis_[2].in;
    ParallelFor(channels_ * plane, kPoolNdGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t w = i % axis_[2].out, h = i / axis_[2].out % axis_[1].out,
                      d = i % plane / axis_[2].out / axis_[1].out;
        f(i, i / plane * in_plane, std::array<Range, 3>{RangeOf(0, d), RangeOf(1, h), RangeOf(2, w)});
      }
    });
  }

  // f(element within the channel) for every element of a window
  template <class F>
  void ForEachElement(const std::array<Range, 3>& r, F f) const {
    for (int64_t i = r[0].begin; i < r[0].end; ++i) {
      for (int64_t j = r[1].begin; j < r[1].end; ++j) {
        const int64_t row =
            ((r[0].start + i * axis_[0].dilation) * axis_[1].in + r[1].start + j * axis_[1].dilation) * axis_[2].in;
        for (int64_t k = r[2].begin; k < r[2].end; ++k) f(row + r[2].start + k * axis_[2].dilation);
      }
    }
  }

  template <class T>
  void RunMax(const T* x, T* y, int64_t* indices) const {
    ForEachOutput([&](int64_t out, int64_t channel, const std::array<Range, 3>& r) {
      int64_t best = -1;
      ForEachElement(r, [&](int64_t at) {
        if (best < 0) best = at;
        const T value = x[channel + at], top = x[channel + best];
        if (value > top || (value != value && top == top)) best = at;
      });
      best = std::max<int64_t>(best, 0);
      y[out] = x[channel + best];
      indices[out] = channel + (column_major_ ? ColumnMajor(best) : best);
    });
  }

  int64_t ColumnMajor(int64_t at) const {
    const int64_t w = at % axis_[2].in, h = at / axis_[2].in % axis_[1].in, d = at / axis_[2].in / axis_[1].in;
    return (w * axis_[1].in + h) * axis_[0].in + d;
  }

  template <class T>
  Status RunMean(const T* x, T* y) const {
    ForEachOutput([&](int64_t out, int64_t channel, const std::array<Range, 3>& r) {
      double sum = 0;
      int64_t count = 0;
      ForEachElement(r, [&](int64_t at) {
        const auto value = static_cast<double>(x[channel + at]);
        sum += lp_ == 0 ? value : std::pow(std::fabs(value), lp_);
        ++count;
      });
      if (lp_ != 0) {
        y[out] = static_cast<T>(std::pow(sum, 1.0 / lp_));
        return;
      }
      if (include_pad_) count = Padded(0, r[0]) * Padded(1, r[1]) * Padded(2, r[2]);
      y[out] = count == 0 ? 0 : static_cast<T>(sum / static_cast<double>(count));
    });
    return Status::Ok();
  }

  // Steps of a window inside the padded input.
  int64_t Padded(size_t d, const Range& r) const {
    const PoolAxis& a = axis_[d];
    const int64_t reach = (a.in + a.pad_end - r.start + a.dilation - 1) / a.dilation;
    return std::clamp<int64_t>(reach, 0, a.kernel);
  }

  std::array<PoolAxis, 3> axis_;
  int64_t channels_ = 1;
  int lp_ = 0;
  bool max_ = true, column_major_ = false, include_pad_ = false;
};

}  // namespace

const KernelFunctions kernel_pool_nd = {PoolKernel::Supports, MakeKernel<PoolKernel>};

}  // namespace plumb::cpu
