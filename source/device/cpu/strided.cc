// SPDX-License-Identifier: Apache-2.0
// Every operator that only moves elements (OpDef::map): Reshape, Permute, slices, Tile, Expand, PixelShuffle ... in
// plain order. What is a contiguous piece of the input becomes a view: nothing is written where the runtime grants it.
// Blocked feature maps stay blocked where an output is the whole input, or whole blocks of its channels.
#include "op/core/strided.h"

#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "device/shared/moved_elements.h"
#include "simd/transpose.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kStridedGrain = 1 << 14;  // elements that are worth a second thread
constexpr int64_t kStridedColumns = 64;     // of one transposed piece

// How one output is copied: `rows` times `row` elements along the innermost dim.
struct CopyPlan {
  StridedMap map;
  std::vector<int64_t> dst_strides;
  int transposed = -1;  // the dim that is contiguous in the input, when it is not the innermost one
};

CopyPlan PlanCopy(StridedMap map) {
  CopyPlan plan;
  plan.dst_strides = DenseStrides(Shape(map.dims));
  for (size_t d = 0; d + 1 < map.dims.size(); ++d) {
    if (map.strides[d] == 1 && map.strides.back() > 1) plan.transposed = static_cast<int>(d);
  }
  plan.map = std::move(map);
  return plan;
}

template <class T>
void CopyRow(const T* src, int64_t step, T* dst, int64_t count) {
  if (step == 1) {
    std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(T));
  } else if (step == 0) {
    std::fill(dst, dst + count, *src);
  } else {
    for (int64_t i = 0; i < count; ++i) dst[i] = src[i * step];
  }
}

template <class T>
void CopyRows(const CopyPlan& plan, const T* src, T* dst) {
  const StridedMap& map = plan.map;
  const int64_t row = map.dims.back(), rows = row == 0 ? 0 : map.out.NumElements() / row;
  ParallelFor(rows, kStridedGrain / std::max<int64_t>(1, row), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t at = map.offset, rest = r;
      for (size_t d = map.dims.size() - 1; d-- > 0; rest /= map.dims[d]) at += rest % map.dims[d] * map.strides[d];
      CopyRow(src + at, map.strides.back(), dst + r * row, row);
    }
  });
}

// Pieces of kStridedColumns along the contiguous dim, transposed one by one.
void CopyTransposed(const CopyPlan& plan, const float* src, float* dst) {
  const StridedMap& map = plan.map;
  const size_t t = static_cast<size_t>(plan.transposed), last = map.dims.size() - 1;
  const int64_t pieces = (map.dims[t] + kStridedColumns - 1) / kStridedColumns, row = map.dims[last];
  const int64_t tasks = map.out.NumElements() / (map.dims[t] * row) * pieces;
  ParallelFor(tasks, kStridedGrain / std::max<int64_t>(1, kStridedColumns * row), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kStridedColumns;
      int64_t from = map.offset + first, to = first * plan.dst_strides[t], rest = i / pieces;
      for (size_t d = last; d-- > 0;) {
        if (d == t) continue;
        from += rest % map.dims[d] * map.strides[d];
        to += rest % map.dims[d] * plan.dst_strides[d];
        rest /= map.dims[d];
      }
      simd::Transpose(src + from, map.strides[last], row, std::min(kStridedColumns, map.dims[t] - first), dst + to,
                      plan.dst_strides[t]);
    }
  });
}

class StridedKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    for (size_t i = 0; i < spec.outputs.size(); ++i) PLUMB_RETURN_IF_ERROR(MapOfOutput(spec, i).status());
    return Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    blocked_ = IsBlocked(arriving[0]);
    if (blocked_) {
      PLUMB_ASSIGN_OR_RETURN(blocked_, MovesWholeBlocks(spec, ChannelBlock()));
    }
    const LayoutPtr layout = LayoutOf(blocked_ ? Format::kBlocked : Format::kPlain);
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = layout;
    choice->outputs.assign(spec.outputs.size(), layout);
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const StridedMap map, MapOfOutput(spec, i));
      const size_t offset = static_cast<size_t>(map.offset) * DTypeSize(spec.inputs[0].dtype);
      if (map.Contiguous()) choice->shares.push_back({ShareWish::kView, static_cast<int>(i), 0, offset});
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(StridedMap map, MapOfOutput(spec, i));
      plans_.push_back(PlanCopy(std::move(map)));
    }
    return Status::Ok();
  }

  bool MovesOnly() const override { return true; }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const CopyPlan& plan = plans_[i];
      const size_t size = DTypeSize(inputs[0].dtype);
      const char* src = inputs[0].host<char>();
      char* dst = outputs[i].host<char>();
      if (plan.map.Contiguous()) {
        const char* from = src + static_cast<size_t>(plan.map.offset) * size;
        if (from != dst) std::memcpy(dst, from, outputs[i].bytes());
      } else if (size == 4 && plan.transposed >= 0) {
        CopyTransposed(plan, inputs[0].host<float>(), outputs[i].host<float>());
      } else if (size == 4) {
        CopyRows(plan, inputs[0].host<uint32_t>(), outputs[i].host<uint32_t>());
      } else if (size == 8) {
        CopyRows(plan, inputs[0].host<uint64_t>(), outputs[i].host<uint64_t>());
      } else if (size == 2) {
        CopyRows(plan, inputs[0].host<uint16_t>(), outputs[i].host<uint16_t>());
      } else {
        CopyRows(plan, inputs[0].host<uint8_t>(), outputs[i].host<uint8_t>());
      }
    }
    return Status::Ok();
  }

 private:
  bool blocked_ = false;
  std::vector<CopyPlan> plans_;
};

}  // namespace

const KernelFunctions kernel_strided = {StridedKernel::Supports, MakeKernel<StridedKernel>};

}  // namespace plumb::cpu
