// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/kernel_list.h"

#include <fmt/core.h>

namespace plumb::vulkan {
namespace {

class LaunchKernel : public Kernel {
 public:
  explicit LaunchKernel(const KernelFunctions& functions) : functions_(functions) {}

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    if (functions_.layouts == nullptr) return Kernel::ChooseLayouts(spec, arriving, choice);
    return functions_.layouts(spec, arriving, choice);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    Builder builder(spec, inputs, outputs);
    PLUMB_RETURN_IF_ERROR(functions_.build(&builder));
    detail_ = builder.detail;
    numerics_ = builder.numerics;
    for (LaunchSpec& launch : builder.launches) {
      PLUMB_ASSIGN_OR_RETURN(launches_.emplace_back(), Launch::Create(builder.device().context(), std::move(launch)));
      PLUMB_RETURN_IF_ERROR(launches_.back()->Bind(inputs, outputs));
    }
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    for (const auto& launch : launches_) PLUMB_RETURN_IF_ERROR(launch->Run(inputs, outputs));
    return Status::Ok();
  }

  std::string Detail() const override { return detail_; }
  Numerics DeclaredNumerics() const override { return numerics_; }

 private:
  const KernelFunctions& functions_;
  std::vector<std::unique_ptr<Launch>> launches_;
  std::string detail_;
  Numerics numerics_;
};

template <const KernelFunctions* functions>
KernelRow Row(const char* name, OpKind op) {
  return {name, op, [](const KernelSpec& spec) { return functions->supports(spec); },
          [](const KernelSpec& spec) -> std::unique_ptr<Kernel> {
            if (functions->create != nullptr) return functions->create(spec);
            return std::make_unique<LaunchKernel>(*functions);
          }};
}

}  // namespace

const std::vector<KernelRow>& KernelList() {
  static const std::vector<KernelRow>* list = [] {
    auto* rows = new std::vector<KernelRow>{
#define PLUMB_VULKAN_KERNEL(op, name, file) Row<&kernel_##name>(#name, OpKind::k##op),
#include "device/vulkan/kernel_list.def"
#undef PLUMB_VULKAN_KERNEL
    };
    AddGpuKernels(rows);
    AddMovingRows(Row<&kernel_strided>("strided", {}), rows);
    return rows;
  }();
  return *list;
}

bool MayFuse(const LayerGroup& group, const Layer& next, const BlobTable& blobs) {
  std::vector<const Layer*> members = group.members;
  members.push_back(&next);
  const auto read = ReadGroup(members, blobs);
  return read.ok() && read->head != nullptr;
}

Result<Argument> Builder::Constant(const void* data, size_t bytes, Argument::View view) {
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> buffer, device().Allocate(bytes));
  PLUMB_RETURN_IF_ERROR(device().Write(data, bytes, *buffer, 0));
  return Argument::Own(buffer, view);
}

const Adapter& AdapterOf(const KernelSpec& spec) {
  return static_cast<const VulkanDevice*>(spec.device)->context()->adapter();
}

Status RequireDType(const KernelSpec& spec, DType dtype) {
  const Adapter& adapter = AdapterOf(spec);
  const size_t size = DTypeSize(dtype);
  const char* missing = size == 1 && !adapter.storage8             ? "storageBuffer8BitAccess"
                        : size == 2 && !adapter.storage16          ? "storageBuffer16BitAccess"
                        : size == 8 && !adapter.int64              ? "shaderInt64"
                        : dtype == DType::kF64 && !adapter.float64 ? "shaderFloat64"
                                                                   : nullptr;
  if (missing == nullptr) return Status::Ok();
  return Status::NotSupported(
      fmt::format("{} needs the Vulkan feature {}, which adapter '{}' lacks", DTypeName(dtype), missing, adapter.name));
}

Status RequireNumber(const KernelSpec& spec) {
  const DType dtype = spec.inputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kI32 && dtype != DType::kI64) {
    return Status::NotSupported(std::string("takes f32, i32 and i64, found ") + DTypeName(dtype));
  }
  return RequireDType(spec, dtype);
}

std::string DTypeSuffix(DType dtype) {
  return std::string("_") + DTypeName(dtype == DType::kBool ? DType::kU8 : dtype);
}
std::string SizeSuffix(DType dtype) { return "_b" + std::to_string(DTypeSize(dtype)); }

Status PlainInPlace(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs.assign(arriving.size(), PlainLayout());
  choice->outputs.assign(spec.outputs.size(), PlainLayout());
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const BlobInfo& in = spec.inputs[i];
    if (in.shape == spec.outputs[0].shape && in.dtype == spec.outputs[0].dtype) {
      choice->shares.push_back({ShareWish::kOverwrite, 0, static_cast<int>(i)});
    }
  }
  return Status::Ok();
}

}  // namespace plumb::vulkan
