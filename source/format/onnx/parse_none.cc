// SPDX-License-Identifier: Apache-2.0
// The ONNX reader of a build without protobuf, or with -DPLUMB_ONNX=OFF: says so.
#include <fmt/core.h>

#include "format/onnx/extract.h"
#include "format/onnx/parse.h"
#include "format/onnx/small_model.h"

namespace plumb::onnx {
namespace {

Status Missing(const std::string& path) {
  return Status::NotSupported(
      fmt::format("model '{}': this build of Plumb reads no ONNX files; install libprotobuf-dev and libonnx-dev and "
                  "configure it with -DPLUMB_ONNX=ON, or convert the model to tnnproto and tnnmodel elsewhere",
                  path));
}

}  // namespace

Result<ModelIr> ParseModel(const FileSource&, const std::string& path, bool) { return Missing(path); }
Result<ConstantIr> ParseTensor(const FileBytes&, const std::string& path) { return Missing(path); }

Status WriteOnnxPart(const std::string& model, const std::string&, const std::vector<NamedTensor>&,
                     const std::vector<NamedTensor>&) {
  return Missing(model);
}

struct SmallModel::Impl {};
Result<SmallModel> SmallModel::Open(const std::string& path) { return Missing(path); }
std::vector<ModelSize> SmallModel::Sizes() const { return {}; }
Status SmallModel::Cut(const ModelSize&, int64_t, int64_t) { return Missing("part"); }
bool SmallModel::HasInput(const std::string&) const { return false; }
void SmallModel::SetInputShape(const std::string&, const Shape&) {}
Status SmallModel::Write(const std::string& path) const { return Missing(path); }

}  // namespace plumb::onnx
