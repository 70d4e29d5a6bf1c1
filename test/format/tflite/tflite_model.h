// SPDX-License-Identifier: Apache-2.0
// TfliteModel: a .tflite file that a test builds, loads and runs on NAIVE.
#ifndef PLUMB_TEST_FORMAT_TFLITE_TFLITE_MODEL_H_
#define PLUMB_TEST_FORMAT_TFLITE_TFLITE_MODEL_H_

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "format/tflite/import.h"
#include "format/tflite/schema.h"
#include "plumb/plumb.h"

namespace plumb {

namespace schema = tflite::schema;

// Of a tensor, beside its name and dims.
struct TensorSpec {
  schema::TensorType type = schema::TensorType::FLOAT32;
  std::vector<float> scale;
  std::vector<int64_t> zero_point;
  int axis = 0;
  bool variable = false;
  schema::QuantizationDetails details = schema::QuantizationDetails::NONE;  // without a table
  int block_scales = -1, block_size = 0;  // a tensor with scales of blocks of that size
};

class TfliteModel {
 public:
  using Code = schema::BuiltinOperator;

  TfliteModel() { buffers_.push_back(schema::CreateBuffer(builder_)); }

  // Computed, or given by the caller.
  int Tensor(const std::string& name, const std::vector<int>& dims, const TensorSpec& spec = TensorSpec()) {
    return AddTensor(name, dims, spec, 0);
  }
  int Input(const std::string& name, const std::vector<int>& dims, const TensorSpec& spec = TensorSpec()) {
    inputs_.push_back(Tensor(name, dims, spec));
    return inputs_.back();
  }
  template <class T>
  int Constant(const std::string& name, const std::vector<int>& dims, const std::vector<T>& values,
               const TensorSpec& spec = TensorSpec()) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    buffers_.push_back(schema::CreateBuffer(builder_, builder_.CreateVector(bytes, values.size() * sizeof(T))));
    return AddTensor(name, dims, spec, static_cast<uint32_t>(buffers_.size() - 1));
  }
  int Ints(const std::string& name, const std::vector<int32_t>& values) {
    TensorSpec spec;
    spec.type = schema::TensorType::INT32;
    return Constant(name, {static_cast<int>(values.size())}, values, spec);
  }

  flatbuffers::FlatBufferBuilder& builder() { return builder_; }
  template <class T>
  void Op(Code code, const std::vector<int>& inputs, const std::vector<int>& outputs, flatbuffers::Offset<T> options) {
    AddOp(code, "", inputs, outputs, schema::BuiltinOptionsTraits<T>::enum_value, options.Union());
  }
  void Op(Code code, const std::vector<int>& inputs, const std::vector<int>& outputs) {
    AddOp(code, "", inputs, outputs, schema::BuiltinOptions::NONE, 0);
  }
  void Custom(const std::string& name, const std::vector<int>& inputs, const std::vector<int>& outputs,
              const std::vector<int32_t>& options = {}) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(options.data());
    AddOp(Code::CUSTOM, name, inputs, outputs, schema::BuiltinOptions::NONE, 0,
          {bytes, bytes + options.size() * sizeof(int32_t)});
  }
  // Its second version, with options of any bytes.
  void SecondCustom(const std::string& name, const std::vector<int>& inputs, const std::vector<int>& outputs,
                    const std::string& options = "") {
    AddOp(Code::CUSTOM, name, inputs, outputs, schema::BuiltinOptions::NONE, 0, {options.begin(), options.end()}, 2);
  }

  void Metadata(const std::string& name, const std::string& bytes) {
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    buffers_.push_back(schema::CreateBuffer(builder_, builder_.CreateVector(data, bytes.size())));
    metadata_.push_back(
        schema::CreateMetadata(builder_, builder_.CreateString(name), static_cast<uint32_t>(buffers_.size() - 1)));
  }

  // Of the subgraph that is ended next.
  void Signature(const std::string& name, const std::vector<std::pair<std::string, int>>& inputs,
                 const std::vector<std::pair<std::string, int>>& outputs) {
    const auto maps = [this](const std::vector<std::pair<std::string, int>>& names) {
      std::vector<flatbuffers::Offset<schema::TensorMap>> made;
      for (const auto& [key, tensor] : names)
        made.push_back(schema::CreateTensorMap(builder_, builder_.CreateString(key), static_cast<uint32_t>(tensor)));
      return builder_.CreateVector(made);
    };
    signatures_.push_back(schema::CreateSignatureDef(builder_, maps(inputs), maps(outputs), builder_.CreateString(name),
                                                     0, static_cast<uint32_t>(graphs_.size())));
  }
  // Ends a subgraph; the next tensors belong to another.
  void EndGraph(const std::vector<int>& outputs) {
    graphs_.push_back(schema::CreateSubGraph(builder_, builder_.CreateVector(tensors_), builder_.CreateVector(inputs_),
                                             builder_.CreateVector(outputs), builder_.CreateVector(operators_)));
    tensors_.clear(), inputs_.clear(), operators_.clear();
  }
  // The file. REQUIRES: called once, with every subgraph ended.
  std::string Bytes() {
    const auto model = schema::CreateModel(builder_, 3, builder_.CreateVector(codes_), builder_.CreateVector(graphs_),
                                           0, builder_.CreateVector(buffers_), 0, builder_.CreateVector(metadata_),
                                           builder_.CreateVector(signatures_));
    schema::FinishModelBuffer(builder_, model);
    return {reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

  static Result<Graph> LoadBytes(const std::string& bytes, const std::string& signature = "",
                                 FileNodes* file_nodes = nullptr) {
    auto owner = std::make_shared<std::vector<uint64_t>>(bytes.size() / sizeof(uint64_t) + 1);
    if (!bytes.empty()) std::memcpy(owner->data(), bytes.data(), bytes.size());
    LoadOptions options;
    options.evaluator = ReferenceEvaluator();
    options.signature = signature;
    options.file_nodes = file_nodes;
    return tflite::LoadTfliteBytes(FileBytes(std::shared_ptr<void>(owner, owner->data()), bytes.size()), "x.tflite",
                                   options);
  }
  Result<Graph> Load(const std::vector<int>& outputs) {
    EndGraph(outputs);
    return LoadBytes(Bytes());
  }
  // The values of the first output, of a network whose inputs are given in order.
  Result<std::vector<double>> Run(const std::vector<int>& outputs, const std::vector<std::vector<float>>& values) {
    PLUMB_ASSIGN_OR_RETURN(Graph graph, Load(outputs));
    const std::vector<GraphInput> inputs = graph.inputs;
    const std::string output = graph.outputs[0];
    PLUMB_ASSIGN_OR_RETURN(const auto network, CreateNetwork(std::move(graph), "NAIVE"));
    for (size_t i = 0; i < inputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(plumb::Tensor given, plumb::Tensor::Create(DType::kF32, inputs[i].shape));
      for (int64_t k = 0; k < given.NumElements(); ++k)
        given.data<float>()[k] = values[i][static_cast<size_t>(k) % values[i].size()];
      PLUMB_ASSIGN_OR_RETURN(given, given.ConvertedTo(inputs[i].dtype));
      PLUMB_RETURN_IF_ERROR(network->SetInput(inputs[i].name, given));
    }
    PLUMB_RETURN_IF_ERROR(network->Forward());
    PLUMB_ASSIGN_OR_RETURN(const plumb::Tensor result, network->GetOutput(output));
    shape_ = result.shape();
    std::vector<double> found;
    for (int64_t k = 0; k < result.NumElements(); ++k) found.push_back(result.ValueAt(k));
    return found;
  }
  const Shape& shape() const { return shape_; }

 private:
  int AddTensor(const std::string& name, const std::vector<int>& dims, const TensorSpec& spec, uint32_t buffer) {
    flatbuffers::Offset<schema::QuantizationParameters> grid = 0;
    if (!spec.scale.empty()) {
      grid = schema::CreateQuantizationParameters(builder_, 0, 0, builder_.CreateVector(spec.scale),
                                                  builder_.CreateVector(spec.zero_point), spec.details, 0, spec.axis);
    }
    if (spec.block_scales >= 0) {
      grid = schema::CreateQuantizationParameters(
          builder_, 0, 0, 0, 0, schema::QuantizationDetails::BlockwiseQuantization,
          schema::CreateBlockwiseQuantization(builder_, spec.block_scales, 0, spec.block_size).Union());
    }
    tensors_.push_back(schema::CreateTensor(builder_, builder_.CreateVector(dims), spec.type, buffer,
                                            builder_.CreateString(name), grid, spec.variable));
    return static_cast<int>(tensors_.size()) - 1;
  }

  void AddOp(Code code, const std::string& custom, const std::vector<int>& inputs, const std::vector<int>& outputs,
             schema::BuiltinOptions type, flatbuffers::Offset<void> options, const std::vector<uint8_t>& bytes = {},
             int version = 1) {
    const auto old = static_cast<int8_t>(std::min(static_cast<int>(code), 127));
    const auto name = custom.empty() ? 0 : builder_.CreateString(custom);
    const auto given = bytes.empty() ? 0 : builder_.CreateVector(bytes);
    codes_.push_back(schema::CreateOperatorCode(builder_, old, name, version, code));
    operators_.push_back(schema::CreateOperator(builder_, static_cast<uint32_t>(codes_.size() - 1),
                                                builder_.CreateVector(inputs), builder_.CreateVector(outputs), type,
                                                options, given));
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<schema::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<schema::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<schema::Operator>> operators_;
  std::vector<flatbuffers::Offset<schema::Metadata>> metadata_;
  std::vector<flatbuffers::Offset<schema::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<schema::SubGraph>> graphs_;
  std::vector<flatbuffers::Offset<schema::SignatureDef>> signatures_;
  std::vector<int> inputs_;
  Shape shape_;
};

}  // namespace plumb

#endif  // PLUMB_TEST_FORMAT_TFLITE_TFLITE_MODEL_H_
