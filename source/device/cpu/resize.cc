// SPDX-License-Identifier: Apache-2.0
// PlumbResize in plain order: a table of taps per resized axis, made once; nearest copies elements, linear and cubic
// walk one axis after the other in f32, innermost first, rows of the inner dims at once.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/by_dtype.h"
#include "base/threads.h"
#include "device/cpu/kernel_list.h"
#include "device/shared/resize_table.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kResizeGrain = 16384;  // elements that are worth a second thread

class ResizeKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_ASSIGN_OR_RETURN(const ResizeShape s, ResolveResize(spec.layer(), spec.inputs[0].shape));
    const bool moves = s.mode == ResizeMode::kNearest && s.coordinates != ResizeCoordinates::kCropAndResize;
    return moves ? Status::Ok() : RequireF32(spec);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveResize(spec.layer(), spec.inputs[0].shape));
    Shape shape = s_.in;
    for (int d = s_.in.rank() - 1; d >= 0; --d) {
      if (!s_.axes[static_cast<size_t>(d)].resized) continue;
      Pass pass;
      pass.in = shape[d];
      shape[d] = s_.out[d];
      pass.out = shape[d];
      pass.outer = shape.Count(0, d);
      pass.inner = shape.CountFrom(d + 1);
      pass.table = MakeResizeTable(s_, s_.axes[static_cast<size_t>(d)]);
      passes_.push_back(std::move(pass));
    }
    if (s_.mode != ResizeMode::kNearest && spec.inputs[0].dtype == DType::kF32) {
      size_t largest = 0;
      for (const Pass& pass : passes_)
        largest = std::max(largest, static_cast<size_t>(pass.outer * pass.out * pass.inner));
      for (auto& buffer : buffers_) buffer.resize(passes_.size() > 1 ? largest : 0);
    } else {
      FindElements();
    }
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (passes_.empty()) {
      std::memcpy(outputs[0].host<char>(), inputs[0].host<char>(), inputs[0].bytes());
      return Status::Ok();
    }
    if (s_.mode == ResizeMode::kNearest) {
      PLUMB_RETURN_IF_ERROR(Pick(inputs[0], outputs[0]));
    } else {
      const float* from = inputs[0].host<float>();
      for (size_t p = 0; p < passes_.size(); ++p) {
        float* to = p + 1 == passes_.size() ? outputs[0].host<float>() : buffers_[p % 2].data();
        Walk(passes_[p], from, to);
        from = to;
      }
    }
    if (s_.coordinates == ResizeCoordinates::kCropAndResize) FillOutside(outputs[0].host<float>());
    return Status::Ok();
  }

 private:
  struct Pass {
    int64_t outer = 1, in = 1, out = 1, inner = 1;
    ResizeTable table;
  };

  static void Walk(const Pass& p, const float* src, float* dst) {
    ParallelFor(p.outer * p.out, std::max<int64_t>(1, kResizeGrain / (p.inner + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const float* from = src + r / p.out * p.in * p.inner;
        float* to = dst + r * p.inner;
        const auto o = static_cast<size_t>(r % p.out);
        std::fill_n(to, p.inner, 0.0f);
        for (auto t = static_cast<size_t>(p.table.first[o]); t < static_cast<size_t>(p.table.first[o + 1]); ++t) {
          const float weight = p.table.weight[t];
          const float* row = from + p.table.index[t] * p.inner;
          for (int64_t i = 0; i < p.inner; ++i) to[i] += weight * row[i];
        }
      }
    });
  }

  // Nearest: where each output element comes from; dims that are not resized are walked too.
  void FindElements() {
    elements_.assign(static_cast<size_t>(s_.out.NumElements()), 0);
    for (size_t i = 0; i < elements_.size(); ++i) {
      size_t pass = 0;
      for (int d = s_.in.rank() - 1; d >= 0; --d) {
        const int64_t at = static_cast<int64_t>(i) / s_.out.CountFrom(d + 1) % s_.out[d];
        const bool resized = s_.axes[static_cast<size_t>(d)].resized;
        elements_[i] += (resized ? passes_[pass++].table.index[static_cast<size_t>(at)] : at) * s_.in.CountFrom(d + 1);
      }
    }
  }

  Status Pick(const DeviceTensor& in, const DeviceTensor& out) const {
    return WithBits(in.dtype, [&](auto bits) {
      using T = decltype(bits);
      const T* x = in.host<T>();
      T* y = out.host<T>();
      ParallelFor(static_cast<int64_t>(elements_.size()), kResizeGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = x[elements_[static_cast<size_t>(i)]];
      });
      return Status::Ok();
    });
  }

  // Passes go from the last dim to the first, so what is inside a pass's axis has its final size already.
  void FillOutside(float* y) const {
    for (const Pass& p : passes_) {
      const int64_t below = s_.out.NumElements() / std::max<int64_t>(1, p.inner * p.out);
      for (int64_t o = 0; o < p.out; ++o) {
        if (!p.table.outside[static_cast<size_t>(o)]) continue;
        for (int64_t r = 0; r < below; ++r) {
          std::fill_n(y + (r * p.out + o) * p.inner, p.inner, static_cast<float>(s_.extrapolation_value));
        }
      }
    }
  }

  ResizeShape s_;
  std::vector<Pass> passes_;
  std::vector<float> buffers_[2];
  std::vector<int64_t> elements_;
};

}  // namespace

const KernelFunctions kernel_resize = {ResizeKernel::Supports, MakeKernel<ResizeKernel>};

}  // namespace plumb::cpu
