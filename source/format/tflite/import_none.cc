// SPDX-License-Identifier: Apache-2.0
// The TFLite reader of a build without flatbuffers, or with -DPLUMB_TFLITE=OFF: says so.
#include <fmt/core.h>

#include "format/tflite/import.h"

namespace plumb::tflite {
namespace {

Status NoTflite(const std::string& path) {
  return Status::NotSupported(
      fmt::format("model '{}': this build of Plumb reads no TFLite files; install libflatbuffers-dev and "
                  "flatbuffers-compiler and configure it with -DPLUMB_TFLITE=ON, or convert the model to tnnproto and "
                  "tnnmodel elsewhere",
                  path));
}

}  // namespace

Result<Graph> LoadTflite(const std::string& path, const LoadOptions&) { return NoTflite(path); }
Result<Graph> LoadTfliteBytes(FileBytes, const std::string& path, const LoadOptions&) { return NoTflite(path); }
Result<onnx::ModelIr> NodesOf(const std::string& path) { return NoTflite(path); }
Result<std::vector<ModelTensor>> Tensors(const std::string& path) { return NoTflite(path); }
Result<std::vector<DeclaredInput>> DeclaredInputs(const std::string& path, const std::string&) {
  return NoTflite(path);
}
Result<std::vector<ModelSignature>> Signatures(const std::string& path) { return NoTflite(path); }

}  // namespace plumb::tflite
