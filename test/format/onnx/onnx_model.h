// SPDX-License-Identifier: Apache-2.0
// Small ONNX models for tests, through protobuf.
#ifndef PLUMB_TEST_FORMAT_ONNX_ONNX_MODEL_H_
#define PLUMB_TEST_FORMAT_ONNX_ONNX_MODEL_H_

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "format/onnx/import.h"
#include "format/onnx/parse.h"
#include "plumb/plumb.h"

namespace plumb {

class OnnxModel {
 public:
  explicit OnnxModel(int opset = 17) {
    proto_.set_ir_version(8);
    auto* import = proto_.add_opset_import();
    import->set_version(opset);
    graph().set_name("g");
  }

  ::onnx::ModelProto& proto() { return proto_; }
  ::onnx::GraphProto& graph() { return *proto_.mutable_graph(); }

  OnnxModel& Input(const std::string& name, const std::vector<int64_t>& dims, int type = 1) {
    Declare(graph().add_input(), name, dims, type);
    return *this;
  }
  OnnxModel& Output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  ::onnx::NodeProto& Node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& name = "") {
    return Add(graph().add_node(), op, inputs, outputs, name);
  }
  ::onnx::TensorProto& Floats(const std::string& name, const std::vector<int64_t>& dims,
                              const std::vector<float>& values) {
    ::onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(1);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    for (const float value : values) tensor.add_float_data(value);
    return tensor;
  }
  ::onnx::TensorProto& Ints(const std::string& name, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& values) {
    ::onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(7);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    for (const int64_t value : values) tensor.add_int64_data(value);
    return tensor;
  }

  static ::onnx::NodeProto& Add(::onnx::NodeProto* node, const std::string& op, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs, const std::string& name = "") {
    node->set_op_type(op);
    node->set_name(name);
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return *node;
  }
  static void Declare(::onnx::ValueInfoProto* info, const std::string& name, const std::vector<int64_t>& dims,
                      int type) {
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    (void)tensor->mutable_shape();  // a scalar has a shape without dims
    for (const int64_t dim : dims) {
      if (dim < 0)
        tensor->mutable_shape()->add_dim()->set_dim_param("N");
      else
        tensor->mutable_shape()->add_dim()->set_dim_value(dim);
    }
  }
  static void SetInt(::onnx::NodeProto* node, const std::string& name, int64_t value) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::INT);
    attribute->set_i(value);
  }
  static void SetFloat(::onnx::NodeProto* node, const std::string& name, float value) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::FLOAT);
    attribute->set_f(value);
  }
  static void SetInts(::onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute->add_ints(value);
  }
  static ::onnx::GraphProto* SetGraph(::onnx::NodeProto* node, const std::string& name) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    return attribute->mutable_g();
  }

  std::string Bytes() const { return proto_.SerializeAsString(); }
  Result<Graph> Import(const LoadOptions& given = {}, const std::string& path = "test.onnx") const {
    return ImportBytes(Bytes(), given, path);
  }
  static Result<Graph> ImportBytes(const std::string& bytes, const LoadOptions& given = {},
                                   const std::string& path = "test.onnx") {
    const FileBytes file(std::shared_ptr<void>(const_cast<char*>(bytes.data()), [](void*) {}), bytes.size());
    PLUMB_ASSIGN_OR_RETURN(const onnx::ModelIr model, onnx::ParseModel(file, path));
    LoadOptions options = given;
    options.evaluator = ReferenceEvaluator();
    onnx::ImportResult result = onnx::ImportModel(model, options);
    if (!result.status.ok()) return result.status;
    return std::move(result.graph);
  }

 private:
  ::onnx::ModelProto proto_;
};

}  // namespace plumb

#endif  // PLUMB_TEST_FORMAT_ONNX_ONNX_MODEL_H_
