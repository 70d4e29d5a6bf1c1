// SPDX-License-Identifier: Apache-2.0
// ModelFormats: the table that LoadModel and the tools read.
#include <fmt/core.h>

#include "base/text.h"
#include "format/onnx/import.h"
#include "format/tflite/import.h"
#include "plumb/model.h"

namespace plumb {
namespace {

Result<std::map<std::string, std::string>> OpenOfOnnx(const std::string& path, const std::string&) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<DeclaredInput> inputs, onnx::DeclaredInputs(path));
  return OpenAmong(inputs);
}

Result<std::map<std::string, std::string>> OpenOfTflite(const std::string& path, const std::string& signature) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<DeclaredInput> inputs, tflite::DeclaredInputs(path, signature));
  return OpenAmong(inputs);
}

}  // namespace

const std::vector<ModelFormat>& ModelFormats() {
  static const auto* formats = new std::vector<ModelFormat>{
      {".tnnproto", "TNN", ModelFormat::kStructure, nullptr, nullptr, nullptr, nullptr},
      {".tnnmodel", "TNN", ModelFormat::kWeights, nullptr, nullptr, nullptr, nullptr},
      {".onnx", "ONNX", ModelFormat::kBoth, &onnx::LoadOnnx, &OpenOfOnnx, nullptr, nullptr},
      {".tflite", "TFLITE", ModelFormat::kBoth, &tflite::LoadTflite, &OpenOfTflite, &tflite::Tensors,
       &tflite::Signatures},
  };
  return *formats;
}

const ModelFormat* FindModelFormat(const std::string& path) {
  for (const ModelFormat& format : ModelFormats()) {
    if (EndsWith(path, format.suffix)) return &format;
  }
  return nullptr;
}

Result<std::vector<ModelTensor>> ModelTensors(const std::string& path) {
  const ModelFormat* format = FindModelFormat(path);
  if (format != nullptr && format->tensors != nullptr) return format->tensors(path);
  return Status::NotSupported(
      fmt::format("model '{}': only the tensors of a .tflite file have numbers and buffers of their own", path));
}

Result<std::vector<ModelSignature>> ModelSignatures(const std::string& path) {
  const ModelFormat* format = FindModelFormat(path);
  if (format != nullptr && format->signatures != nullptr) return format->signatures(path);
  return Status::NotSupported(fmt::format("model '{}': only a .tflite file has signatures", path));
}

std::string ModelSuffixes() {
  std::vector<std::string> suffixes;
  for (const ModelFormat& format : ModelFormats()) {
    if (format.holds != ModelFormat::kWeights) suffixes.emplace_back(format.suffix);
  }
  std::string text;
  for (size_t i = 0; i < suffixes.size(); ++i)
    text += (i == 0 ? "" : i + 1 == suffixes.size() ? " or " : ", ") + suffixes[i];
  return text;
}

}  // namespace plumb
