// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/model_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace plumb::tflite {
namespace {

constexpr size_t kMaxTables = 4000000;
constexpr size_t kLargestFlatbuffer = (size_t{1} << 31) - 2;  // offsets have 32 bits; buffers may lie behind it
constexpr int kTableDepth = 16;                               // a model's tables lie five deep in each other

// "tensor 3 'conv1'".
std::string TensorFrame(size_t index, const schema::Tensor& tensor) {
  return fmt::format("tensor {} '{}'", index, Text(tensor.name()));
}

Status CheckIndices(const flatbuffers::Vector<int32_t>* indices, int64_t count, int64_t least, const char* what) {
  for (size_t i = 0; indices != nullptr && i < indices->size(); ++i) {
    const int32_t index = indices->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (index >= least && index < count) continue;
    return Status::CorruptModel(
        fmt::format("{} {} is tensor {}, expected one of the {} tensors of the subgraph", what, i, index, count));
  }
  return Status::Ok();
}

Status CheckQuantization(const schema::QuantizationParameters& grid, const Shape& shape) {
  const size_t scales = grid.scale() == nullptr ? 0 : grid.scale()->size();
  const size_t zeros = grid.zero_point() == nullptr ? 0 : grid.zero_point()->size();
  const auto details = static_cast<int>(grid.details_type());
  const bool of_blocks = details == static_cast<int>(schema::QuantizationDetails::BlockwiseQuantization);
  if (details > static_cast<int>(schema::QuantizationDetails::BlockwiseQuantization) ||
      (of_blocks && grid.details_as_BlockwiseQuantization() == nullptr))
    return Status::NotSupported("its scales are of a kind that Plumb does not read; quantise it with one per channel");
  if (of_blocks) return Status::Ok();
  if (scales == 0) return Status::Ok();
  if (zeros != scales && zeros > 1)
    return Status::CorruptModel(fmt::format("it has {} scales and {} zero points", scales, zeros));
  for (const float scale : *grid.scale()) {
    if (!(scale >= 0) || std::isinf(scale))
      return Status::CorruptModel(fmt::format("it has the scale {}, expected a positive number", scale));
  }
  if (scales == 1) return Status::Ok();
  const int axis = grid.quantized_dimension();
  if (axis < 0 || axis >= shape.rank() || shape[axis] != static_cast<int64_t>(scales)) {
    return Status::CorruptModel(fmt::format("it has {} scales along axis {} of {}", scales, axis, shape.ToString()));
  }
  return Status::Ok();
}

}  // namespace

std::string Text(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

Shape ShapeOf(const schema::Tensor& tensor) {
  std::vector<int64_t> dims;
  if (tensor.shape() != nullptr) dims.assign(tensor.shape()->begin(), tensor.shape()->end());
  return Shape(std::move(dims));
}

schema::BuiltinOperator CodeOf(const schema::OperatorCode& code) {
  return std::max(code.builtin_code(), static_cast<schema::BuiltinOperator>(code.deprecated_builtin_code()));
}

std::string OperatorName(const schema::OperatorCode& code) {
  const schema::BuiltinOperator number = CodeOf(code);
  if (number == schema::BuiltinOperator::CUSTOM) return fmt::format("CUSTOM '{}'", Text(code.custom_code()));
  const std::string name = schema::EnumNameBuiltinOperator(number);
  return name.empty() ? fmt::format("operator {}", static_cast<int>(number)) : name;
}

Result<std::shared_ptr<const ModelFile>> ModelFile::Open(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(FileBytes bytes, ReadFile(path));
  return Read(std::move(bytes), path);
}

Result<std::shared_ptr<const ModelFile>> ModelFile::Read(FileBytes bytes, const std::string& path) {
  std::shared_ptr<ModelFile> file(new ModelFile(std::move(bytes), path));
  PLUMB_RETURN_IF_ERROR(file->Check().AddContext(fmt::format("model '{}'", path)));
  return std::shared_ptr<const ModelFile>(std::move(file));
}

Status ModelFile::Check() {
  const size_t length = std::min(bytes_.size(), kLargestFlatbuffer);
  if (length < 8 || !schema::ModelBufferHasIdentifier(bytes_.data())) {
    return Status::CorruptModel(fmt::format("it is no TFLite model: bytes 4 to 7 are not TFL3, of {} bytes", length));
  }
  flatbuffers::Verifier verifier(bytes_.data(), length, kTableDepth, kMaxTables);
  if (!schema::VerifyModelBuffer(verifier)) {
    return Status::CorruptModel(
        fmt::format("it is cut short or damaged: an offset leads outside the file of {} bytes", bytes_.size()));
  }
  root_ = schema::GetModel(bytes_.data());
  if (root_->subgraphs() == nullptr || root_->subgraphs()->size() == 0)
    return Status::CorruptModel("it holds no subgraph, expected one at least");
  PLUMB_RETURN_IF_ERROR(CheckBuffers());
  for (size_t i = 0; i < num_graphs(); ++i)
    PLUMB_RETURN_IF_ERROR(CheckGraph(graph(i)).AddContext(fmt::format("subgraph {}", i)));
  return CheckSignatures();
}

Status ModelFile::CheckSignatures() const {
  const auto* signatures = root_->signature_defs();
  for (size_t i = 0; signatures != nullptr && i < signatures->size(); ++i) {
    const schema::SignatureDef& signature = *signatures->Get(static_cast<flatbuffers::uoffset_t>(i));
    const std::string frame = fmt::format("signature {} '{}'", i, Text(signature.signature_key()));
    if (signature.subgraph_index() >= num_graphs())
      return Status::CorruptModel(
          fmt::format("{} is of subgraph {} of {}", frame, signature.subgraph_index(), num_graphs()));
    const auto* tensors = graph(signature.subgraph_index()).tensors();
    const size_t count = tensors == nullptr ? 0 : tensors->size();
    for (const auto* maps : {signature.inputs(), signature.outputs()}) {
      for (size_t m = 0; maps != nullptr && m < maps->size(); ++m) {
        const uint32_t index = maps->Get(static_cast<flatbuffers::uoffset_t>(m))->tensor_index();
        if (index >= count) return Status::CorruptModel(fmt::format("{} names tensor {} of {}", frame, index, count));
      }
    }
  }
  return Status::Ok();
}

Result<size_t> ModelFile::GraphOf(const std::string& signature) const {
  if (signature.empty()) return size_t{0};
  std::string known;
  const auto* signatures = root_->signature_defs();
  for (size_t i = 0; signatures != nullptr && i < signatures->size(); ++i) {
    const schema::SignatureDef& found = *signatures->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (Text(found.signature_key()) == signature) return static_cast<size_t>(found.subgraph_index());
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", Text(found.signature_key()));
  }
  return Status::InvalidArgument(fmt::format("model '{}' has no signature '{}'; its signatures are {}", path_,
                                             signature, known.empty() ? "none" : known));
}

Status ModelFile::CheckBuffers() const {
  for (size_t i = 0; root_->buffers() != nullptr && i < root_->buffers()->size(); ++i) {
    const schema::Buffer& buffer = *root_->buffers()->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (buffer.offset() <= 1) continue;  // the bytes stand in the buffer itself
    if (buffer.offset() > bytes_.size() || buffer.size() > bytes_.size() - buffer.offset()) {
      return Status::CorruptModel(fmt::format("buffer {} has {} bytes at offset {} of a file of {}", i, buffer.size(),
                                              buffer.offset(), bytes_.size()));
    }
  }
  return Status::Ok();
}

Status ModelFile::CheckGraph(const schema::SubGraph& graph) const {
  const size_t count = graph.tensors() == nullptr ? 0 : graph.tensors()->size();
  const auto num_tensors = static_cast<int64_t>(count);
  for (size_t i = 0; i < count; ++i) {
    const schema::Tensor& tensor = *graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
    PLUMB_RETURN_IF_ERROR(CheckTensor(tensor).AddContext(TensorFrame(i, tensor)));
  }
  PLUMB_RETURN_IF_ERROR(CheckIndices(graph.inputs(), num_tensors, 0, "input"));
  PLUMB_RETURN_IF_ERROR(CheckIndices(graph.outputs(), num_tensors, 0, "output"));
  for (size_t i = 0; graph.operators() != nullptr && i < graph.operators()->size(); ++i) {
    const schema::Operator& op = *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
    PLUMB_RETURN_IF_ERROR(CheckOperator(op, num_tensors).AddContext(fmt::format("operator {}", i)));
  }
  return Status::Ok();
}

Status ModelFile::CheckTensor(const schema::Tensor& tensor) const {
  const Shape shape = ShapeOf(tensor);
  PLUMB_RETURN_IF_ERROR(Status(shape.Validate()).AddContext("its shape"));
  const size_t buffers = root_->buffers() == nullptr ? 0 : root_->buffers()->size();
  if (tensor.buffer() >= buffers && tensor.buffer() != 0)
    return Status::CorruptModel(fmt::format("it lies in buffer {} of {}", tensor.buffer(), buffers));
  const auto* signature = tensor.shape_signature();
  if (signature != nullptr && signature->size() != 0 && static_cast<int>(signature->size()) != shape.rank()) {
    return Status::CorruptModel(
        fmt::format("its shape signature has {} dims, its shape {}", signature->size(), shape.ToString()));
  }
  return tensor.quantization() == nullptr ? Status::Ok() : CheckQuantization(*tensor.quantization(), shape);
}

Status ModelFile::CheckOperator(const schema::Operator& op, int64_t num_tensors) const {
  const size_t codes = root_->operator_codes() == nullptr ? 0 : root_->operator_codes()->size();
  if (op.opcode_index() >= codes)
    return Status::CorruptModel(fmt::format("it has operator code {} of {}", op.opcode_index(), codes));
  PLUMB_RETURN_IF_ERROR(CheckIndices(op.inputs(), num_tensors, -1, "input"));
  PLUMB_RETURN_IF_ERROR(CheckIndices(op.intermediates(), num_tensors, 0, "intermediate"));
  return CheckIndices(op.outputs(), num_tensors, -1, "output");
}

std::string_view ModelFile::Data(uint32_t index) const {
  if (root_->buffers() == nullptr || index >= root_->buffers()->size()) return {};
  const schema::Buffer& buffer = *root_->buffers()->Get(index);
  if (buffer.offset() > 1)
    return bytes_.text().substr(static_cast<size_t>(buffer.offset()), static_cast<size_t>(buffer.size()));
  if (buffer.data() == nullptr) return {};
  return {reinterpret_cast<const char*>(buffer.data()->data()), buffer.data()->size()};
}

}  // namespace plumb::tflite
