// SPDX-License-Identifier: Apache-2.0
// Gather, GatherND in plain order: gather.comp copies slices whose starts the host works out. Constant indices are
// resolved when the kernel is prepared; others are read back at each Forward, so that one outside the data is an error
// that names it: such a layer ends a submission.
#include "op/gather.h"

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {
namespace {

class GatherKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_ASSIGN_OR_RETURN(const GatherShape g, ResolveGather(spec.layer(), spec.inputs));
    return RequireDType(spec, g.data.dtype);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(g_, ResolveGather(spec.layer(), spec.inputs));
    Builder b(spec, inputs, outputs);
    device_ = &b.device();
    constant_indices_ = !g_.indices.value.empty();
    std::vector<uint32_t> starts(static_cast<size_t>(g_.batch * g_.count));
    if (constant_indices_) {
      PLUMB_ASSIGN_OR_RETURN(starts, Starts(g_.indices.value));
    }
    PLUMB_ASSIGN_OR_RETURN(const Argument table, b.Constant(starts.data(), starts.size() * sizeof(uint32_t)));
    starts_ = table.own;
    const bool in_resource =
        spec.layer().kind == OpKind::kGather && ParamOf<GatherParam>(spec.layer()).data_in_resource;
    Argument data = Argument::Input(0);
    if (in_resource) {
      PLUMB_ASSIGN_OR_RETURN(data, b.Constant(g_.data.value));
    }
    LaunchSpec launch;
    launch.shader = "gather" + SizeSuffix(g_.data.dtype);
    launch.arguments = {Argument::Output(0), data, table};
    const int64_t count = outputs[0].shape.NumElements();
    launch.push.Int(count).Int(g_.slice);
    launch.Over(count);
    PLUMB_ASSIGN_OR_RETURN(launch_, Launch::Create(device_->context(), std::move(launch)));
    return launch_->Bind(inputs, outputs);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (!constant_indices_) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor indices, device_->Download(inputs.back()));
      PLUMB_ASSIGN_OR_RETURN(const std::vector<uint32_t> starts, Starts(indices));
      PLUMB_RETURN_IF_ERROR(device_->Write(starts.data(), starts.size() * sizeof(uint32_t), *starts_, 0));
    }
    return launch_->Run(inputs, outputs);
  }

 private:
  Result<std::vector<uint32_t>> Starts(const Tensor& indices) const {
    PLUMB_ASSIGN_OR_RETURN(const Tensor wide, indices.ConvertedTo(DType::kI64));
    std::vector<uint32_t> starts(static_cast<size_t>(g_.batch * g_.count));
    for (size_t s = 0; s < starts.size(); ++s) {
      PLUMB_ASSIGN_OR_RETURN(const int64_t start, SliceStart(g_, wide.data<int64_t>(), static_cast<int64_t>(s)));
      starts[s] = static_cast<uint32_t>(start);
    }
    return starts;
  }

  GatherShape g_;
  VulkanDevice* device_ = nullptr;
  bool constant_indices_ = false;
  std::shared_ptr<Buffer> starts_;
  std::unique_ptr<Launch> launch_;
};

}  // namespace

const KernelFunctions kernel_gather = {
    GatherKernel::Supports, nullptr, nullptr,
    [](const KernelSpec&) -> std::unique_ptr<Kernel> { return std::make_unique<GatherKernel>(); }};

}  // namespace plumb::vulkan
