// SPDX-License-Identifier: Apache-2.0
// Gather, GatherND in plain order: one copy per index. Constant indices are resolved when the kernel is prepared.
#include "op/gather.h"

#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kGatherGrain = 1 << 16;  // bytes that are worth a second thread

class GatherKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return ResolveGather(spec.layer(), spec.inputs).status();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(g_, ResolveGather(spec.layer(), spec.inputs));
    const bool along_axis = spec.layer().kind == OpKind::kGather;
    data_input_ = !(along_axis && ParamOf<GatherParam>(spec.layer()).data_in_resource);
    constant_indices_ = !g_.indices.value.empty();
    starts_.resize(static_cast<size_t>(g_.batch * g_.count));
    indices_.resize(static_cast<size_t>(g_.indices.shape.NumElements()));
    return constant_indices_ ? Resolve(g_.indices.value) : Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (!constant_indices_) {
      const DeviceTensor& in = inputs.back();
      PLUMB_RETURN_IF_ERROR(Resolve(Tensor::View(in.dtype, in.shape, in.host<char>(), in.buffer)));
    }
    const char* data = data_input_ ? inputs[0].host<char>() : static_cast<const char*>(g_.data.value.raw());
    char* out = outputs[0].host<char>();
    const size_t size = DTypeSize(g_.data.dtype), bytes = static_cast<size_t>(g_.slice) * size;
    const auto grain = std::max<int64_t>(1, kGatherGrain / static_cast<int64_t>(bytes + 1));
    ParallelFor(static_cast<int64_t>(starts_.size()), grain, [&](int64_t begin, int64_t end) {
      for (auto s = static_cast<size_t>(begin); s < static_cast<size_t>(end); ++s) {
        std::memcpy(out + s * bytes, data + static_cast<size_t>(starts_[s]) * size, bytes);
      }
    });
    return Status::Ok();
  }

 private:
  Status Resolve(const Tensor& indices) {
    for (size_t i = 0; i < indices_.size(); ++i) indices_[i] = IndexAt(indices, i);
    for (size_t s = 0; s < starts_.size(); ++s) {
      PLUMB_ASSIGN_OR_RETURN(starts_[s], SliceStart(g_, indices_.data(), static_cast<int64_t>(s)));
    }
    return Status::Ok();
  }

  static int64_t IndexAt(const Tensor& indices, size_t i) {
    if (indices.dtype() == DType::kI64) return indices.data<int64_t>()[i];
    if (indices.dtype() == DType::kI32) return indices.data<int32_t>()[i];
    return static_cast<int64_t>(indices.ValueAt(static_cast<int64_t>(i)));  // narrow integers fit a double
  }

  GatherShape g_;
  bool data_input_ = true;
  bool constant_indices_ = false;
  std::vector<int64_t> indices_, starts_;  // element offsets of the slices
};

}  // namespace

const KernelFunctions kernel_gather = {GatherKernel::Supports, MakeKernel<GatherKernel>};

}  // namespace plumb::cpu
