// SPDX-License-Identifier: Apache-2.0
// Pipelines: one per shader, specialization constants and kinds of bindings, kept for the life of the process, and the
// driver's own cache of them on disk (device/shared/program_cache.h), by driver, device and shaders. Threading: safe.
#ifndef PLUMB_DEVICE_VULKAN_PIPELINES_H_
#define PLUMB_DEVICE_VULKAN_PIPELINES_H_

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "device/vulkan/vulkan_api.h"

namespace plumb::vulkan {

class Context;

struct Pipeline {
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

class Pipelines {
 public:
  explicit Pipelines(Context* context) : context_(context) {}
  ~Pipelines();
  Status Init();

  // `texels[i]`: binding i is a uniform texel buffer instead of a storage buffer. The pointer stays valid.
  Result<const Pipeline*> Get(const std::string& shader, const std::vector<uint32_t>& constants,
                              const std::vector<bool>& texels);

 private:
  using Key = std::tuple<std::string, std::vector<uint32_t>, std::vector<bool>>;
  Status Create(const Key& key, Pipeline* pipeline);
  Status CreateLayout(const std::vector<bool>& texels, Pipeline* pipeline);
  void Destroy(const Pipeline& pipeline);
  void Save();

  Context* context_;
  std::mutex mutex_;
  std::map<Key, Pipeline> pipelines_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::string cache_key_;
  bool cached_ = false;  // there was a file of this driver, device and shaders
  bool changed_ = false;
};

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_PIPELINES_H_
