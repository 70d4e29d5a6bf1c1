// SPDX-License-Identifier: Apache-2.0
// Launch: one dispatch of a shader over the tensors of a layer. What kernels are made of; no Vulkan type is seen here.
#ifndef PLUMB_DEVICE_VULKAN_LAUNCH_H_
#define PLUMB_DEVICE_VULKAN_LAUNCH_H_

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/kernel.h"

namespace plumb::vulkan {

class Context;

constexpr uint32_t kPushBytes = 128;  // what every driver allows
constexpr uint32_t kGroup = 64;       // invocations of a workgroup in shaders that walk a range (include/common.glslh)

constexpr size_t kBufferAlign = 256;  // the largest offset alignment that Vulkan lets a driver ask for
constexpr size_t Aligned(size_t bytes) { return (bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign; }

// A buffer as a shader sees it.
struct Argument {
  enum From { kOutput, kInput, kOwn };
  enum View { kStorage, kTexelsF32x4, kTexelsF16x4 };  // storage buffer; samplerBuffer of four f32 or f16
  From from = kInput;
  int index = 0;                // of the layer's outputs or inputs
  std::shared_ptr<Buffer> own;  // kOwn: a constant or workspace of the kernel ...
  View view = kStorage;
  size_t offset = 0, bytes = 0;  // ... and which part of it

  static Argument Output(int i, View view = kStorage) { return {kOutput, i, nullptr, view}; }
  static Argument Input(int i, View view = kStorage) { return {kInput, i, nullptr, view}; }
  static Argument Own(std::shared_ptr<Buffer> buffer, View view = kStorage) {
    const size_t size = buffer->size();
    return {kOwn, 0, std::move(buffer), view, 0, size};
  }
  // `offset` is a multiple of kBufferAlign.
  static Argument Part(std::shared_ptr<Buffer> buffer, size_t offset, size_t bytes) {
    return {kOwn, 0, std::move(buffer), kStorage, offset, bytes};
  }
  Argument As(View other) const {
    Argument argument = *this;
    argument.view = other;
    return argument;
  }
};

// Push constants, word by word.
class Words {
 public:
  Words& Int(int64_t value) {
    words_.push_back(static_cast<uint32_t>(value));
    return *this;
  }
  Words& Float(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    words_.push_back(bits);
    return *this;
  }
  // `count` words: the values, then zeros.
  Words& Ints(const std::vector<int64_t>& values, size_t count) {
    for (size_t i = 0; i < count; ++i) Int(i < values.size() ? values[i] : 0);
    return *this;
  }
  const std::vector<uint32_t>& words() const { return words_; }

 private:
  std::vector<uint32_t> words_;
};

struct LaunchSpec {
  std::string shader;               // a name of shader_list.def
  std::vector<uint32_t> constants;  // specialization constants 0, 1, ...
  std::vector<Argument> arguments;  // binding order: outputs, inputs, constants
  Words push;
  uint32_t groups[3] = {1, 1, 1};

  // One invocation for each of `count` elements, in workgroups of `group`.
  void Over(int64_t count, uint32_t group = kGroup);
};

class Launch {
 public:
  // NotSupported when an argument is larger than the adapter binds.
  static Result<std::unique_ptr<Launch>> Create(std::shared_ptr<Context> context, LaunchSpec spec);
  virtual ~Launch() = default;
  // Binds the tensors; a later Run with the same ones only enqueues.
  virtual Status Bind(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) = 0;
  virtual Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) = 0;
};

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_LAUNCH_H_
