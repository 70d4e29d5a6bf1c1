// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/extract.h"

#include <fmt/core.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <climits>
#include <map>
#include <set>

#include "base/file.h"
#include "format/onnx/proto_tensor.h"
#include "plumb/tool/file.h"

namespace plumb::onnx {
namespace {

void Declare(const NamedTensor& named, ::onnx::ValueInfoProto* info) {
  info->set_name(named.name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(TypeOf(named.tensor.dtype()));
  auto* shape = tensor->mutable_shape();
  for (const int64_t dim : named.tensor.shape().dims()) shape->add_dim()->set_dim_value(dim);
}

[[maybe_unused]] void Clear(std::string* unknown) { unknown->clear(); }
template <class Fields>
void Clear(Fields* unknown) {
  unknown->Clear();
}

// What exporters write down for themselves, stack traces with paths among it; newer fields are not known by name.
void Forget(::onnx::NodeProto* node) {
  node->clear_doc_string();
  Clear(node->mutable_unknown_fields());
}

Status WriteProto(const std::string& path, const google::protobuf::MessageLite& message) {
  std::string bytes;
  if (message.ByteSizeLong() > INT_MAX || !message.SerializeToString(&bytes))
    return Status::NotSupported(fmt::format("file '{}' would have more than 2 GiB, which protobuf cannot write", path));
  return WriteFile(path, bytes);
}

// The nodes behind tensors, back to what is given.
class Part {
 public:
  Part(const std::string& path, const ::onnx::GraphProto& graph) : path_(path), graph_(graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      for (const std::string& output : graph.node(i).output()) writers_[output] = i;
    }
    for (int i = 0; i < graph.initializer_size(); ++i) initialisers_[graph.initializer(i).name()] = i;
  }

  Status Take(const std::vector<NamedTensor>& inputs, const std::vector<NamedTensor>& outputs,
              ::onnx::GraphProto* part) {
    std::set<std::string> given;
    for (const NamedTensor& input : inputs) given.insert(input.name);
    std::vector<std::string> wanted;
    for (const NamedTensor& output : outputs) {
      if (writers_.count(output.name) == 0) {
        return Status::NotSupported(fmt::format("no node of '{}' writes the tensor '{}'", path_, output.name));
      }
      wanted.push_back(output.name);
    }
    std::set<std::string> seen(wanted.begin(), wanted.end());
    while (!wanted.empty()) {
      const std::string name = wanted.back();
      wanted.pop_back();
      const auto writer = writers_.find(name);
      const auto initialiser = initialisers_.find(name);
      if (given.count(name) > 0 && !IsOutput(outputs, name)) {
        read_.insert(name);
      } else if (writer != writers_.end()) {
        nodes_.insert(writer->second);
        AddReads(graph_.node(writer->second), &seen, &wanted);
      } else if (initialiser != initialisers_.end()) {
        constants_.insert(initialiser->second);
      } else if (!inside_.count(name)) {
        return Status::NotSupported(fmt::format("nodes of the step read '{}', which is not among its inputs", name));
      }
    }
    for (const int i : nodes_) {
      *part->add_node() = graph_.node(i);
      Forget(part->mutable_node(part->node_size() - 1));
    }
    for (const int i : constants_) PLUMB_RETURN_IF_ERROR(AddInitialiser(graph_.initializer(i), part));
    return Status::Ok();
  }

  bool Reads(const std::string& name) const { return read_.count(name) > 0; }

 private:
  static bool IsOutput(const std::vector<NamedTensor>& outputs, const std::string& name) {
    return std::any_of(outputs.begin(), outputs.end(), [&](const NamedTensor& one) { return one.name == name; });
  }

  void AddReads(const ::onnx::NodeProto& node, std::set<std::string>* seen, std::vector<std::string>* wanted) {
    for (const std::string& input : node.input()) {
      if (!input.empty() && seen->insert(input).second) wanted->push_back(input);
    }
    for (const auto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      for (const auto& value : attribute.g().input()) inside_.insert(value.name());
      for (const auto& value : attribute.g().initializer()) inside_.insert(value.name());
      for (const auto& inner : attribute.g().node()) {
        inside_.insert(inner.output().begin(), inner.output().end());
        AddReads(inner, seen, wanted);
      }
    }
  }

  Status AddInitialiser(const ::onnx::TensorProto& stored, ::onnx::GraphProto* part) {
    ::onnx::TensorProto* copy = part->add_initializer();
    *copy = stored;
    if (stored.data_location() != ::onnx::TensorProto::EXTERNAL) return Status::Ok();
    ::onnx::TensorProto external = stored;
    PLUMB_ASSIGN_OR_RETURN(const ConstantIr read, ConvertTensor(&external, path_));
    if (read.value.empty())
      return Status::NotSupported(fmt::format("initialiser '{}' cannot be read: {}", stored.name(), read.why));
    FillTensorProto(stored.name(), read.value, copy);
    return Status::Ok();
  }

  const std::string& path_;
  const ::onnx::GraphProto& graph_;
  std::map<std::string, int> writers_, initialisers_;
  std::set<int> nodes_, constants_;  // in the file's order, which is that of execution
  std::set<std::string> read_;       // of what is given
  std::set<std::string> inside_;     // made in the graphs of If, Loop and Scan
};

}  // namespace

Status WriteOnnxPart(const std::string& model, const std::string& folder, const std::vector<NamedTensor>& inputs,
                     const std::vector<NamedTensor>& outputs) {
  PLUMB_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(model));
  ::onnx::ModelProto whole;
  if (bytes.size() > INT_MAX || !whole.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Status::CorruptModel(fmt::format("model '{}': protobuf cannot read it", model));
  ::onnx::ModelProto part;
  part.set_ir_version(whole.ir_version());
  part.set_producer_name("Plumb");
  *part.mutable_opset_import() = whole.opset_import();
  *part.mutable_functions() = whole.functions();
  ::onnx::GraphProto* graph = part.mutable_graph();
  graph->set_name("step");
  Part taken(model, whole.graph());
  PLUMB_RETURN_IF_ERROR(taken.Take(inputs, outputs, graph));
  ::onnx::TensorProto proto;
  int count = 0;
  for (const NamedTensor& input : inputs) {
    if (!taken.Reads(input.name)) continue;
    Declare(input, graph->add_input());
    FillTensorProto(input.name, input.tensor, &proto);
    PLUMB_RETURN_IF_ERROR(WriteProto(fmt::format("{}/test_data_set_0/input_{}.pb", folder, count++), proto));
  }
  count = 0;
  for (const NamedTensor& output : outputs) {
    Declare(output, graph->add_output());
    FillTensorProto(output.name, output.tensor, &proto);
    PLUMB_RETURN_IF_ERROR(WriteProto(fmt::format("{}/test_data_set_0/output_{}.pb", folder, count++), proto));
  }
  return WriteProto(folder + "/model.onnx", part);
}

}  // namespace plumb::onnx
