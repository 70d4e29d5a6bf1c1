#include "device/vulkan/pipelines.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "device/vulkan/context.h"
#include "device/vulkan/launch.h"
#include "device/vulkan/shaders.h"

namespace plumb::vulkan {
namespace {

uint64_t Hash(const void* data, size_t bytes, uint64_t hash = 1469598103934665603u) {  // FNV-1a
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  return hash;
}

std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

uint64_t HashOfShaders() {
  uint64_t hash = Hash(nullptr, 0);
  for (size_t i = 0; i < kNumEmbedded; ++i) hash = Hash(kEmbedded[i].data, *kEmbedded[i].bytes, hash);
  return hash;
}

// $PLUMB_CACHE_DIR, else $XDG_CACHE_HOME/plumb, else ~/.cache/plumb; empty when there is none.
std::string CacheFolder() {
  if (const char* folder = std::getenv("PLUMB_CACHE_DIR")) return folder;
  if (const char* folder = std::getenv("XDG_CACHE_HOME")) return std::string(folder) + "/plumb";
  if (const char* folder = std::getenv("HOME")) return std::string(folder) + "/.cache/plumb";
  return "";
}

// What follows the header and the data's own checksum; empty when the file is not exactly what Save wrote.
std::string ReadCache(const std::string& path, const std::string& header) {
  std::ifstream file(path, std::ios::binary);
  std::string first, checksum;
  if (!file || !std::getline(file, first) || !std::getline(file, checksum) || first != header) return "";
  std::ostringstream rest;
  rest << file.rdbuf();
  const std::string data = rest.str();
  return checksum == Hex(Hash(data.data(), data.size())) ? data : "";
}

}  // namespace

Status Pipelines::Init() {
  cache_header_ = "plumb pipeline cache, shaders " + Hex(HashOfShaders()) + ", " + context_->adapter().identity;
  const std::string folder = CacheFolder();
  if (!folder.empty()) cache_path_ = folder + "/vulkan-" + Hex(Hash(cache_header_.data(), cache_header_.size())) + ".bin";
  const std::string data = cache_path_.empty() ? "" : ReadCache(cache_path_, cache_header_);
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  return CheckResult(context_->api().CreatePipelineCache(context_->device(), &info, nullptr, &cache_),
                     "vkCreatePipelineCache");
}

Pipelines::~Pipelines() {
  Save();
  for (const auto& entry : pipelines_) Destroy(entry.second);
  if (cache_ != VK_NULL_HANDLE) context_->api().DestroyPipelineCache(context_->device(), cache_, nullptr);
}

void Pipelines::Destroy(const Pipeline& pipeline) {
  const Api& api = context_->api();
  api.DestroyPipeline(context_->device(), pipeline.pipeline, nullptr);
  api.DestroyPipelineLayout(context_->device(), pipeline.layout, nullptr);
  api.DestroyDescriptorSetLayout(context_->device(), pipeline.set_layout, nullptr);
}

// Whole or not at all: another process may write the same file.
void Pipelines::Save() {
  if (!changed_ || cache_path_.empty() || cache_ == VK_NULL_HANDLE) return;
  const Api& api = context_->api();
  size_t size = 0;
  if (api.GetPipelineCacheData(context_->device(), cache_, &size, nullptr) != VK_SUCCESS || size == 0) return;
  std::string data(size, '\0');
  if (api.GetPipelineCacheData(context_->device(), cache_, &size, data.data()) != VK_SUCCESS) return;
  data.resize(size);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(cache_path_).parent_path(), ignored);
  const std::string part = cache_path_ + "." + std::to_string(getpid()) + ".part";
  std::ofstream file(part, std::ios::binary);
  file << cache_header_ << "\n" << Hex(Hash(data.data(), data.size())) << "\n" << data;
  file.close();
  if (!file || std::rename(part.c_str(), cache_path_.c_str()) != 0) std::remove(part.c_str());
}

Result<const Pipeline*> Pipelines::Get(const std::string& shader, const std::vector<uint32_t>& constants,
                                       const std::vector<bool>& texels) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Key key(shader, constants, texels);
  const auto it = pipelines_.find(key);
  if (it != pipelines_.end()) return &it->second;
  Pipeline pipeline;
  const Status status = Create(key, &pipeline);
  if (!status.ok()) {
    Destroy(pipeline);
    return status.AddContext("shader '" + shader + "'");
  }
  changed_ = true;
  return &pipelines_.emplace(std::move(key), pipeline).first->second;
}

Status Pipelines::CreateLayout(const std::vector<bool>& texels, Pipeline* pipeline) {
  const Api& api = context_->api();
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (size_t i = 0; i < texels.size(); ++i) {
    VkDescriptorSetLayoutBinding binding{};
    binding.binding = static_cast<uint32_t>(i);
    binding.descriptorType = texels[i] ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    binding.descriptorCount = 1;
    binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    bindings.push_back(binding);
  }
  VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = static_cast<uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  PLUMB_VK_RETURN_IF_ERROR(api, CreateDescriptorSetLayout, context_->device(), &set, nullptr, &pipeline->set_layout);
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes};
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &pipeline->set_layout;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  PLUMB_VK_RETURN_IF_ERROR(api, CreatePipelineLayout, context_->device(), &layout, nullptr, &pipeline->layout);
  return Status::Ok();
}

Status Pipelines::Create(const Key& key, Pipeline* pipeline) {
  const auto& [shader, constants, texels] = key;
  const EmbeddedFile* file = nullptr;
  for (size_t i = 0; i < kNumEmbedded; ++i) {
    if (shader + ".spv" == kEmbedded[i].name) file = &kEmbedded[i];
  }
  if (file == nullptr) return Status::Internal("no such file was embedded");
  PLUMB_RETURN_IF_ERROR(CreateLayout(texels, pipeline));
  const Api& api = context_->api();
  VkShaderModuleCreateInfo code{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  code.codeSize = *file->bytes;
  code.pCode = reinterpret_cast<const uint32_t*>(file->data);
  VkShaderModule module = VK_NULL_HANDLE;
  PLUMB_VK_RETURN_IF_ERROR(api, CreateShaderModule, context_->device(), &code, nullptr, &module);
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < constants.size(); ++i) entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo specialization{static_cast<uint32_t>(entries.size()), entries.data(), constants.size() * 4,
                                            constants.data()};
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &specialization;
  info.layout = pipeline->layout;
  const VkResult result =
      api.CreateComputePipelines(context_->device(), cache_, 1, &info, nullptr, &pipeline->pipeline);
  api.DestroyShaderModule(context_->device(), module, nullptr);
  return CheckResult(result, "vkCreateComputePipelines");
}

}  // namespace plumb::vulkan
