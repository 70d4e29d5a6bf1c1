// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/context.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/log.h"
#include "device/vulkan/memory.h"
#include "device/vulkan/pipelines.h"
#include "device/vulkan/queue.h"

namespace plumb::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

bool WantsValidation() {
  const char* value = std::getenv("PLUMB_VULKAN_VALIDATION");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

Status CheckValidationEnvironment() {
  const char* value = std::getenv("PLUMB_VULKAN_VALIDATION");
  if (value == nullptr || *value == 0 || std::strcmp(value, "0") == 0 || WantsValidation()) return Status::Ok();
  return Status::InvalidArgument(fmt::format("PLUMB_VULKAN_VALIDATION is 1 or 0, found '{}'", value));
}

VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                         VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
    static_cast<Context*>(user)->AddMessage(data->pMessage);
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT MessengerInfo(Context* context) {
  VkDebugUtilsMessengerCreateInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;  // not the loader's words about other drivers
  info.pfnUserCallback = OnMessage;
  info.pUserData = context;
  return info;
}

std::string VersionText(uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

const char* KindOf(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "software on the CPU";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual GPU";
    default: return "other";
  }
}

struct Features {
  VkPhysicalDeviceShaderFloat16Int8Features small{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  VkPhysicalDevice8BitStorageFeatures storage8{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  VkPhysicalDevice16BitStorageFeatures storage16{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};

  // `small` and `storage8` are of Vulkan 1.2: a 1.1 device does without int8.
  explicit Features(uint32_t version) {
    all.pNext = &storage16;
    if (version < VK_API_VERSION_1_2) return;
    storage16.pNext = &storage8;
    storage8.pNext = &small;
  }
};

Result<std::vector<VkPhysicalDevice>> PhysicalDevices(const Api& api, VkInstance instance) {
  uint32_t count = 0;
  PLUMB_VK_RETURN_IF_ERROR(api, EnumeratePhysicalDevices, instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  if (count > 0) PLUMB_VK_RETURN_IF_ERROR(api, EnumeratePhysicalDevices, instance, &count, devices.data());
  return devices;
}

Adapter Describe(const Api& api, VkPhysicalDevice device) {
  VkPhysicalDeviceIDProperties id{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties maintenance{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, &id};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &maintenance};
  api.GetPhysicalDeviceProperties2(device, &properties);
  const VkPhysicalDeviceProperties& p = properties.properties;
  Adapter adapter;
  adapter.name = p.deviceName;
  adapter.description = fmt::format("{}, {}, Vulkan {}, driver {}", adapter.name, KindOf(p.deviceType),
                                    VersionText(p.apiVersion), p.driverVersion);
  adapter.identity = fmt::format("{} {}:{}", adapter.description, p.vendorID, p.deviceID);
  for (const uint8_t byte : id.driverUUID) adapter.identity += "." + std::to_string(byte);
  for (const uint8_t byte : p.pipelineCacheUUID) adapter.identity += "." + std::to_string(byte);
  if (adapter.name.compare(0, 8, "llvmpipe") == 0) {
    adapter.max_loop_rounds = 65535;
    adapter.description += ", at most 65535 loop rounds an invocation";
  }
  adapter.cpu = p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  adapter.max_storage_range = p.limits.maxStorageBufferRange;
  adapter.max_texels = p.limits.maxTexelBufferElements;
  adapter.max_allocation = maintenance.maxMemoryAllocationSize;
  adapter.max_groups = p.limits.maxComputeWorkGroupCount[0];
  adapter.max_invocations = std::min(p.limits.maxComputeWorkGroupInvocations, p.limits.maxComputeWorkGroupSize[0]);
  return adapter;
}

int ComputeFamily(const Api& api, VkPhysicalDevice device) {
  uint32_t count = 0;
  api.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return static_cast<int>(i);
  }
  return -1;
}

std::map<int, std::shared_ptr<Context>>& OpenContexts() {
  static auto* contexts = new std::map<int, std::shared_ptr<Context>>;
  return *contexts;
}

std::mutex& OpenMutex() {
  static std::mutex mutex;
  return mutex;
}

// Whether the validation layer is one that cannot be called at the end of the process: from 1.4 on it has state that it
// makes as it needs it, whose handlers have run by then, and crashes (1.4.309, Debian 13; 1.3.239 of Debian 12 does
// not).
bool LayerEndsEarly(const Api& api) {
  const auto list = reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(
      api.GetInstanceProcAddr(nullptr, "vkEnumerateInstanceLayerProperties"));
  uint32_t count = 0;
  if (list == nullptr || list(&count, nullptr) != VK_SUCCESS) return true;
  std::vector<VkLayerProperties> layers(count);
  if (list(&count, layers.data()) < VK_SUCCESS) return true;
  return std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
    return std::strcmp(layer.layerName, kValidationLayer) == 0 && layer.specVersion >= VK_MAKE_API_VERSION(0, 1, 4, 0);
  });
}

// Drivers destroy their own state in handlers of theirs, which were registered earlier and so run later. Under such a
// layer contexts stay as they are, and the pipelines' cache is not written.
void CloseAll() {
  auto& contexts = OpenContexts();
  if (contexts.empty() || (WantsValidation() && LayerEndsEarly(contexts.begin()->second->api()))) return;
  contexts.clear();
}

}  // namespace

Status Context::CreateInstance() {
  PLUMB_RETURN_IF_ERROR(LoadGlobalFunctions(&api_));
  uint32_t version = 0;
  PLUMB_VK_RETURN_IF_ERROR(api_, EnumerateInstanceVersion, &version);
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "plumb";
  PLUMB_RETURN_IF_ERROR(CheckValidationEnvironment());
  application.apiVersion = version < VK_API_VERSION_1_2 ? VK_API_VERSION_1_1 : VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const VkDebugUtilsMessengerCreateInfoEXT messenger = MessengerInfo(this);
  if (WantsValidation()) {
    info.pNext = &messenger;
    info.enabledLayerCount = info.enabledExtensionCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.ppEnabledExtensionNames = &extension;
  }
  const VkResult result = api_.CreateInstance(&info, nullptr, &instance_);
  if (result == VK_ERROR_LAYER_NOT_PRESENT) {
    return Status::NotFound("PLUMB_VULKAN_VALIDATION=1 needs the package vulkan-validationlayers");
  }
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return Status::NotFound(
        fmt::format("device VULKAN found libvulkan.so.1 but no driver (vkCreateInstance: {}); install "
                    "mesa-vulkan-drivers or your GPU's driver",
                    ResultText(result)));
  }
  PLUMB_RETURN_IF_ERROR(CheckResult(result, "vkCreateInstance"));
  PLUMB_RETURN_IF_ERROR(LoadInstanceFunctions(instance_, &api_));
  if (!WantsValidation()) return Status::Ok();
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      api_.GetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  return CheckResult(create(instance_, &messenger, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
}

Status Context::CreateDevice(int index) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<VkPhysicalDevice> devices, PhysicalDevices(api_, instance_));
  if (devices.empty()) {
    return Status::NotFound("device VULKAN found no adapter; install mesa-vulkan-drivers or your GPU's driver");
  }
  if (index < 0 || index >= static_cast<int>(devices.size())) {
    return Status::NotFound(
        fmt::format("device VULKAN has {} adapter(s), numbered from 0; {} is none of them (device_info lists them)",
                    devices.size(), index));
  }
  physical_device_ = devices[static_cast<size_t>(index)];
  adapter_ = Describe(api_, physical_device_);
  const int family = ComputeFamily(api_, physical_device_);
  if (family < 0) return Status::NotFound(fmt::format("adapter '{}' has no queue for compute", adapter_.name));
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  api_.GetPhysicalDeviceProperties2(physical_device_, &properties);
  Features present(properties.properties.apiVersion), wanted(properties.properties.apiVersion);
  api_.GetPhysicalDeviceFeatures2(physical_device_, &present.all);
  VkPhysicalDeviceFeatures& core = wanted.all.features;
  core.shaderInt64 = present.all.features.shaderInt64;
  core.shaderFloat64 = present.all.features.shaderFloat64;
  core.shaderInt16 = present.all.features.shaderInt16;
  core.robustBufferAccess = present.all.features.robustBufferAccess;
  wanted.storage16.storageBuffer16BitAccess = present.storage16.storageBuffer16BitAccess;
  wanted.storage8.storageBuffer8BitAccess = present.storage8.storageBuffer8BitAccess;
  wanted.small.shaderInt8 = present.small.shaderInt8;
  adapter_.int64 = core.shaderInt64 != 0;
  adapter_.float64 = core.shaderFloat64 != 0;
  adapter_.storage16 = core.shaderInt16 != 0 && wanted.storage16.storageBuffer16BitAccess != 0;
  adapter_.storage8 = wanted.small.shaderInt8 != 0 && wanted.storage8.storageBuffer8BitAccess != 0;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = static_cast<uint32_t>(family);
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &wanted.all};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  PLUMB_VK_RETURN_IF_ERROR(api_, CreateDevice, physical_device_, &info, nullptr, &device_);
  PLUMB_RETURN_IF_ERROR(LoadDeviceFunctions(device_, &api_));
  memory_ = std::make_unique<Memory>(this);
  pipelines_ = std::make_unique<Pipelines>(this);
  queue_ = std::make_unique<Queue>(this, static_cast<uint32_t>(family));
  PLUMB_RETURN_IF_ERROR(pipelines_->Init());
  return queue_->Init();
}

Context::~Context() {
  if (device_ != VK_NULL_HANDLE) {
    if (api_.DeviceWaitIdle != nullptr) api_.DeviceWaitIdle(device_);
    queue_.reset();
    pipelines_.reset();
    memory_.reset();
    api_.DestroyDevice(device_, nullptr);
  }
  if (messenger_ != VK_NULL_HANDLE) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        api_.GetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(instance_, messenger_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE && api_.DestroyInstance != nullptr) api_.DestroyInstance(instance_, nullptr);
}

Result<std::shared_ptr<Context>> Context::Open(int index) {
  const std::lock_guard<std::mutex> lock(OpenMutex());
  auto& contexts = OpenContexts();
  if (const auto it = contexts.find(index); it != contexts.end()) return it->second;
  auto context = std::make_shared<Context>();
  PLUMB_RETURN_IF_ERROR(context->CreateInstance());
  PLUMB_RETURN_IF_ERROR(context->CreateDevice(index));
  PLUMB_RETURN_IF_ERROR(context->TakeMessages());
  if (contexts.empty()) std::atexit(CloseAll);
  contexts[index] = context;
  return context;
}

Result<std::vector<std::string>> Context::Adapters() {
  const std::lock_guard<std::mutex> lock(OpenMutex());
  Context own;
  const bool open = !OpenContexts().empty();  // one instance is enough
  if (!open) PLUMB_RETURN_IF_ERROR(own.CreateInstance());
  const Context& context = open ? *OpenContexts().begin()->second : own;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<VkPhysicalDevice> devices, PhysicalDevices(context.api_, context.instance_));
  std::vector<std::string> lines;
  for (const VkPhysicalDevice device : devices) {
    lines.push_back(Describe(context.api_, device).description);
    Log(LogLevel::kDebug, fmt::format("VULKAN adapter {}: {}", lines.size() - 1, lines.back()));
  }
  return lines;
}

void Context::AddMessage(const char* text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (messages_.size() < 4000) messages_ += (messages_.empty() ? "" : "\n") + std::string(text);
}

Status Context::TakeMessages() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (messages_.empty()) return Status::Ok();
  std::string messages;
  messages.swap(messages_);
  return Status::DeviceError("the Vulkan validation layer reports: " + messages);
}

}  // namespace plumb::vulkan
