// SPDX-License-Identifier: Apache-2.0
// A small ONNX file whose sizes can be cut (graph/model_size.h): what WriteOnnxPart wrote. A build without protobuf
// answers NotSupported.
#ifndef PLUMB_FORMAT_ONNX_SMALL_MODEL_H_
#define PLUMB_FORMAT_ONNX_SMALL_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "graph/model_size.h"

namespace plumb::onnx {

class SmallModel {
 public:
  static Result<SmallModel> Open(const std::string& path);

  // Dims and elements of its initialisers (layer -1) and the integers among its nodes' attributes.
  std::vector<ModelSize> Sizes() const;
  Status Cut(const ModelSize& size, int64_t begin, int64_t end);
  bool HasInput(const std::string& input) const;
  void SetInputShape(const std::string& input, const Shape& shape);
  Status Write(const std::string& path) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;  // shared by copies until one is cut
  Impl* Own();
};

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_SMALL_MODEL_H_
