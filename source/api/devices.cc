// The table of devices: one row each. A device that is not built in stays listed, with what to do about it.
#include "device/device.h"
#include "device/naive/naive_device.h"
#include "device/naive/naive_op.h"
#include "plumb/dump.h"
#include "plumb/plumb.h"
#ifdef PLUMB_DEVICE_VULKAN
#include "device/vulkan/vulkan_device.h"
#endif
#ifdef PLUMB_DEVICE_X86
#include "device/x86/x86_device.h"
#endif

namespace plumb {
namespace {

struct Row {
  const char* name;
  Result<std::unique_ptr<Device>> (*create)();  // null: not built in
  const char* absent;
};

Result<std::unique_ptr<Device>> CreateNaive() { return CreateNaiveDevice(); }
#ifdef PLUMB_DEVICE_VULKAN
Result<std::unique_ptr<Device>> CreateVulkan() { return CreateVulkanDevice(); }
#endif

constexpr const char* kLater = "not part of this version of Plumb";

const Row kRows[] = {
    {"NAIVE", CreateNaive, ""},
#ifdef PLUMB_DEVICE_X86
    {"X86", CreateX86Device, ""},
#else
    {"X86", nullptr, "not built in: configure with -DPLUMB_DEVICE_X86=ON on an x86-64 machine with libdnnl-dev"},
#endif
    {"ARM", nullptr, kLater},
    {"OPENCL", nullptr, kLater},
#ifdef PLUMB_DEVICE_VULKAN
    {"VULKAN", CreateVulkan, ""},
#else
    {"VULKAN", nullptr, "not built in: install libvulkan-dev and glslang-tools and configure with -DPLUMB_DEVICE_VULKAN=ON"},
#endif
};

}  // namespace

const char* Version() { return PLUMB_VERSION; }

std::vector<DeviceInfo> ListDevices() {
  std::vector<DeviceInfo> infos;
  for (const Row& row : kRows) {
    DeviceInfo info;
    info.name = row.name;
    info.description = row.absent;
    if (row.create != nullptr) {
      auto device = row.create();
      info.present = device.ok();
      info.description = device.ok() ? (*device)->Description() : device.status().message();
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

Result<std::shared_ptr<Device>> OpenDevice(const std::string& name) {
  std::string known;
  for (const Row& row : kRows) {
    known += std::string(known.empty() ? "" : ", ") + row.name;
    if (name != row.name) continue;
    if (row.create == nullptr) return Status::NotFound("device " + name + " is " + row.absent);
    PLUMB_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, row.create());
    return std::shared_ptr<Device>(std::move(device));
  }
  return Status::InvalidArgument("unknown device '" + name + "'; the devices are " + known);
}

Result<std::unique_ptr<Network>> CreateNetwork(std::shared_ptr<const Graph> graph, const std::string& device,
                                               const NetworkOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(const DumpOptions dump, DumpOptionsFromEnvironment());
  PLUMB_ASSIGN_OR_RETURN(std::shared_ptr<Device> opened, OpenDevice(device));
  NetworkOptions effective = options;
  effective.unfuse = options.unfuse || dump.unfuse;
  PLUMB_ASSIGN_OR_RETURN(auto network, Network::Create(std::move(graph), std::move(opened), std::move(effective)));
  PLUMB_RETURN_IF_ERROR(AddDump(network.get(), dump));
  return network;
}

Evaluator ReferenceEvaluator() {
  return [](const Layer& layer, const std::vector<const Tensor*>& inputs, const std::vector<Tensor*>& outputs) {
    return GetNaiveOp(layer.kind).run({layer, inputs, outputs});
  };
}

}  // namespace plumb
