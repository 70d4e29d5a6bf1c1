// SPDX-License-Identifier: Apache-2.0
// Gather, GatherND in plain order. Constant indices are resolved when the kernel is prepared; others by a kernel of
// their own, which reports an index outside its dim (Device::Finish makes it an error).
#include "op/gather.h"

#include <fmt/core.h>

#include "device/opencl/constant.h"
#include "device/opencl/device.h"
#include "device/opencl/kernel_list.h"
#include "device/opencl/walk.h"

namespace plumb::opencl {
namespace {

// Index of gather.cl.
struct IndexFacts {
  int width, count, batched;
  int dims[kMaxRank], steps[kMaxRank];
  int batch_step;
};

const char* TypeName(DType dtype) {
  switch (dtype) {
    case DType::kI8: return "char";
    case DType::kU8:
    case DType::kBool: return "uchar";
    case DType::kI16: return "short";
    case DType::kU16: return "ushort";
    case DType::kI32: return "int";
    case DType::kU32: return "uint";
    case DType::kI64: return "long";
    default: return nullptr;
  }
}

class GatherKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_ASSIGN_OR_RETURN(const GatherShape g, ResolveGather(spec.layer(), spec.inputs));
    if (TypeName(g.indices.dtype) == nullptr) return Status::NotSupported("indices are whole numbers");
    return g.dims.size() <= kMaxRank ? Status::Ok() : Status::NotSupported("an index has at most 8 entries");
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(g_, ResolveGather(spec.layer(), spec.inputs));
    constant_indices_ = !g_.indices.value.empty();
    if (spec.layer().kind == OpKind::kGather && ParamOf<GatherParam>(spec.layer()).data_in_resource) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, g_.data.value.ConvertedTo(spec.outputs[0].dtype));
      PLUMB_ASSIGN_OR_RETURN(data_, UploadConstant(spec.device, value, StoredLayout(spec, value.dtype())));
    }
    PLUMB_ASSIGN_OR_RETURN(
        copy_, Launcher::Create(spec.device, "gather.cl", "gather_" + std::to_string(ElementBytes(outputs[0])), false));
    return constant_indices_ ? Resolve(spec.device) : PrepareIndices(spec);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t slices = g_.batch * g_.count, count = outputs[0].shape.NumElements();
    if (!constant_indices_) {
      PLUMB_RETURN_IF_ERROR(starts_kernel_.Run({slices}, starts_, flag_, inputs.back(), slices, facts_));
    }
    return copy_.Run({count}, outputs[0], data_.buffer != nullptr ? data_ : inputs[0], starts_, count, g_.slice);
  }

 private:
  Status Resolve(Device* device) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor indices, g_.indices.value.ConvertedTo(DType::kI64));
    std::vector<int64_t> starts(static_cast<size_t>(g_.batch * g_.count));
    for (size_t s = 0; s < starts.size(); ++s) {
      PLUMB_ASSIGN_OR_RETURN(starts[s], SliceStart(g_, indices.data<int64_t>(), static_cast<int64_t>(s)));
    }
    PLUMB_ASSIGN_OR_RETURN(starts_, UploadArray(device, starts.data(), starts.size() * sizeof(int64_t)));
    return Status::Ok();
  }

  Status PrepareIndices(const KernelSpec& spec) {
    facts_.width = static_cast<int>(g_.dims.size());
    facts_.count = static_cast<int>(g_.count);
    facts_.batched = g_.batched_indices;
    facts_.batch_step = static_cast<int>(g_.batch_step);
    std::string dims;
    for (size_t i = 0; i < g_.dims.size(); ++i) {
      facts_.dims[i] = static_cast<int>(g_.dims[i]);
      facts_.steps[i] = static_cast<int>(g_.steps[i]);
      dims += (i > 0 ? ", " : "") + std::to_string(g_.dims[i]);
    }
    PLUMB_ASSIGN_OR_RETURN(starts_.buffer,
                           spec.device->Allocate(static_cast<size_t>(g_.batch * g_.count) * sizeof(int64_t)));
    PLUMB_ASSIGN_OR_RETURN(flag_, static_cast<OpenclDevice*>(spec.device)
                                      ->AddFlag(fmt::format("layer '{}' ({}): an index lies outside its dim of {}",
                                                            spec.layer().name, spec.layer().type, dims)));
    PLUMB_ASSIGN_OR_RETURN(starts_kernel_,
                           Load(spec, "gather.cl", std::string("gather_starts_") + TypeName(g_.indices.dtype)));
    return Status::Ok();
  }

  GatherShape g_;
  bool constant_indices_ = false;
  IndexFacts facts_{};
  DeviceTensor data_;
  Array starts_, flag_;
  Launcher copy_, starts_kernel_;
};

}  // namespace

const KernelFunctions kernel_gather = {GatherKernel::Supports, MakeKernel<GatherKernel>};

}  // namespace plumb::opencl
