// SPDX-License-Identifier: Apache-2.0
// Upsample: tap tables per axis, then the separable resize of simd, in the layout in which the blob arrives.
// Nearest moves every dtype (in plain order; 4-byte ones as if they were floats, whose bits it does not touch).
#include "op/upsample.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "simd/resize.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kUpsampleGrain = 16384;

// The taps of all outputs of one axis, tap by tap.
struct TapTable {
  int taps = 1;
  std::vector<int32_t> index;
  std::vector<float> weight;

  TapTable() = default;
  TapTable(const UpsampleShape& s, int axis)
      : taps(s.mode == kUpsampleNearest  ? 1
             : s.mode == kUpsampleLinear ? 2
                                         : 4) {
    const int64_t in = s.in[axis], out = s.out[axis];
    index.resize(static_cast<size_t>(taps * out));
    weight.resize(index.size());
    for (int64_t o = 0; o < out; ++o) {
      if (taps == 1) {
        index[static_cast<size_t>(o)] = static_cast<int32_t>(o * in / out);
      } else {
        Interpolate(s.align_corners, o, in, out);
      }
    }
  }

  simd::ResizeAxis axis() const {
    return {taps, static_cast<int64_t>(index.size()) / taps, index.data(), weight.data()};
  }

 private:
  // Twice the position as a fraction: exact, so that every weight is rounded once.
  void Interpolate(bool align_corners, int64_t o, int64_t in, int64_t out) {
    double at = -0.5;
    if (align_corners) at = out > 1 ? static_cast<double>(o * (in - 1)) / static_cast<double>(out - 1) : 0;
    if (!align_corners && out > 1)
      at = (static_cast<double>(o) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
    if (taps == 2) at = std::min(std::max(at, 0.0), static_cast<double>(in - 1));
    const double below = std::floor(at), x = at - below;
    const double cubic[4] = {((-0.75 * x + 1.5) * x - 0.75) * x, (1.25 * x - 2.25) * x * x + 1,
                             ((-1.25 * x + 1.5) * x + 0.75) * x, (0.75 * x - 0.75) * x * x};
    for (int k = 0; k < taps; ++k) {
      const auto slot = static_cast<size_t>(k * out + o);
      const int64_t source = static_cast<int64_t>(below) + k - (taps == 4 ? 1 : 0);
      index[slot] = static_cast<int32_t>(std::clamp<int64_t>(source, 0, in - 1));
      weight[slot] = static_cast<float>(taps == 4 ? cubic[k] : k == 0 ? 1 - x : x);
    }
  }
};

class UpsampleKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_ASSIGN_OR_RETURN(const UpsampleShape s, ResolveUpsample(spec.layer(), spec.inputs));
    const DType dtype = spec.inputs[0].dtype;
    if (s.mode != kUpsampleNearest && dtype != DType::kF32) {
      return Status::NotSupported(std::string("interpolates f32 only, found ") + DTypeName(dtype));
    }
    if (std::max(s.in.CountFrom(2), s.out.CountFrom(2)) > INT32_MAX) {
      return Status::NotSupported(
          fmt::format("needs maps below 2^31 elements, got {} to {}", s.in.ToString(), s.out.ToString()));
    }
    return Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = arriving[0];
    choice->outputs = {arriving[0]};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const UpsampleShape s, ResolveUpsample(spec.layer(), spec.inputs));
    shape_ = s;
    rows_ = TapTable(s, 2);
    columns_ = TapTable(s, 3);
    block_ = IsBlocked(inputs[0].layout) ? ChannelBlock() : 1;
    planes_ = s.in[0] * MapOf(s.in).Blocks(block_);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    switch (DTypeSize(inputs[0].dtype)) {
      case 1: Pick<uint8_t>(inputs[0], outputs[0]); break;
      case 2: Pick<uint16_t>(inputs[0], outputs[0]); break;
      case 4: Resize(inputs[0].host<float>(), outputs[0].host<float>()); break;
      default: Pick<uint64_t>(inputs[0], outputs[0]); break;
    }
    return Status::Ok();
  }

 private:
  // Rows of all planes are numbered through; f(plane, first row, last row).
  template <class F>
  void ForRows(F f) const {
    const int64_t rows = shape_.out[2], row = shape_.out[3] * block_;
    ParallelFor(planes_ * rows, std::max<int64_t>(1, kUpsampleGrain / row), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t first = i % rows, last = std::min(rows, first + end - i);
        f(i / rows, first, last);
        i += last - first;
      }
    });
  }

  void Resize(const float* src, float* dst) const {
    const int64_t in_plane = shape_.in.CountFrom(2) * block_, out_row = shape_.out[3] * block_;
    ForRows([&](int64_t plane, int64_t first, int64_t last) {
      thread_local std::vector<float> line;  // grows once
      line.resize(std::max(line.size(), static_cast<size_t>(shape_.in[3] * block_)));
      simd::ResizePlane(rows_.axis(), columns_.axis(), shape_.in[3], block_, src + plane * in_plane,
                        dst + (plane * shape_.out[2] + first) * out_row, first, last, line.data());
    });
  }

  template <class T>
  void Pick(const DeviceTensor& in, const DeviceTensor& out) const {
    ForRows([&](int64_t plane, int64_t first, int64_t last) {
      for (int64_t h = first; h < last; ++h) {
        const T* src = in.host<T>() + (plane * shape_.in[2] + rows_.index[static_cast<size_t>(h)]) * shape_.in[3];
        T* dst = out.host<T>() + (plane * shape_.out[2] + h) * shape_.out[3];
        for (size_t w = 0; w < columns_.index.size(); ++w) dst[w] = src[columns_.index[w]];
      }
    });
  }

  UpsampleShape shape_;
  TapTable rows_, columns_;
  int block_ = 1;
  int64_t planes_ = 0;
};

}  // namespace

const KernelFunctions kernel_upsample = {UpsampleKernel::Supports, MakeKernel<UpsampleKernel>};

}  // namespace plumb::cpu
