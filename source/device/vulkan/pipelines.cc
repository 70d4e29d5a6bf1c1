// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/pipelines.h"

#include <fmt/core.h>

#include <optional>

#include "device/shared/compiling.h"
#include "device/shared/program_cache.h"
#include "device/vulkan/context.h"
#include "device/vulkan/launch.h"
#include "device/vulkan/shaders.h"

namespace plumb::vulkan {
namespace {

constexpr char kCacheKind[] = "vulkan";

uint64_t HashOfShaders() {
  uint64_t hash = kHashStart;
  for (size_t i = 0; i < kNumEmbedded; ++i) hash = Hash(kEmbedded[i].data, kEmbedded[i].bytes(), hash);
  return hash;
}

}  // namespace

Status Pipelines::Init() {
  cache_key_ = fmt::format("shaders {}, {}", Hex(HashOfShaders()), context_->adapter().identity);
  const std::string data = LoadCached(kCacheKind, cache_key_);
  cached_ = !data.empty();
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

void Pipelines::Save() {
  if (!changed_ || cache_ == VK_NULL_HANDLE) return;
  const Api& api = context_->api();
  size_t size = 0;
  if (api.GetPipelineCacheData(context_->device(), cache_, &size, nullptr) != VK_SUCCESS || size == 0) return;
  std::string data(size, '\0');
  if (api.GetPipelineCacheData(context_->device(), cache_, &size, data.data()) != VK_SUCCESS) return;
  data.resize(size);
  StoreCached(kCacheKind, cache_key_, data);
}

Result<const Pipeline*> Pipelines::Get(const std::string& shader, const std::vector<uint32_t>& constants,
                                       const std::vector<bool>& texels) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Key key(shader, constants, texels);
  const auto it = pipelines_.find(key);
  if (it != pipelines_.end()) return &it->second;
  std::optional<CompilingScope> compiling;  // with a file the driver has most of it, in no time
  if (!cached_) compiling.emplace("VULKAN", shader, CacheFolder());
  Pipeline pipeline;
  const Status status = Create(key, &pipeline);
  if (!status.ok()) {
    Destroy(pipeline);
    return status.AddContext(fmt::format("shader '{}'", shader));
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
  code.codeSize = file->bytes();
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
