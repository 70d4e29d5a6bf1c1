// SPDX-License-Identifier: Apache-2.0
// ModelFile: a .tflite file in memory whose every offset, index and size was checked. Nothing here knows an operator.
#ifndef PLUMB_FORMAT_TFLITE_MODEL_FILE_H_
#define PLUMB_FORMAT_TFLITE_MODEL_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "format/tflite/schema.h"
#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb::tflite {

class ModelFile {
 public:
  // NotFound, IoError, CorruptModel: with the file, the place in it, what was expected and what was found.
  static Result<std::shared_ptr<const ModelFile>> Open(const std::string& path);
  static Result<std::shared_ptr<const ModelFile>> Read(FileBytes bytes, const std::string& path);

  const std::string& path() const { return path_; }
  size_t size() const { return bytes_.size(); }
  const schema::Model& root() const { return *root_; }
  const schema::SubGraph& graph(size_t index) const {
    return *root_->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
  size_t num_graphs() const { return root_->subgraphs()->size(); }
  // The subgraph of that signature; of an empty one the first. InvalidArgument: the file has no such signature.
  Result<size_t> GraphOf(const std::string& signature) const;
  // The bytes of a buffer; empty: the tensors that name it are computed or given.
  std::string_view Data(uint32_t buffer) const;

 private:
  ModelFile(FileBytes bytes, std::string path) : bytes_(std::move(bytes)), path_(std::move(path)) {}
  Status Check();
  Status CheckBuffers() const;
  Status CheckSignatures() const;
  Status CheckGraph(const schema::SubGraph& graph) const;
  Status CheckTensor(const schema::Tensor& tensor) const;
  Status CheckOperator(const schema::Operator& op, int64_t num_tensors) const;

  FileBytes bytes_;
  std::string path_;
  const schema::Model* root_ = nullptr;
};

// The operator's number: old files have the 8-bit field alone.
schema::BuiltinOperator CodeOf(const schema::OperatorCode& code);
// "CONV_2D"; "CUSTOM 'Name'"; "operator 300" for a number without a name here.
std::string OperatorName(const schema::OperatorCode& code);
std::string Text(const flatbuffers::String* text);
Shape ShapeOf(const schema::Tensor& tensor);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_MODEL_FILE_H_
