// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/small_model.h"

#include <fmt/core.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <climits>
#include <map>

#include "base/file.h"
#include "format/onnx/proto_tensor.h"
#include "plumb/tool/file.h"

namespace plumb::onnx {

struct SmallModel::Impl {
  ::onnx::ModelProto proto;  // without the constants below
  std::map<std::string, Tensor> constants;
};

namespace {

using NodeOrder = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

// Initialisers and Constant nodes that Plumb carries in their own dtype become `constants`; all others stay.
Status TakeConstants(const std::string& path, ::onnx::GraphProto* graph, std::map<std::string, Tensor>* constants) {
  const auto take = [&](const std::string& name, ::onnx::TensorProto tensor) -> Result<bool> {
    PLUMB_ASSIGN_OR_RETURN(const ConstantIr read, ConvertTensor(&tensor, path));
    const bool same = !read.value.empty() && TypeOf(read.value.dtype()) == read.type;  // as the file has it
    if (same) (*constants)[name] = read.value;
    return same;
  };
  google::protobuf::RepeatedPtrField<::onnx::TensorProto> kept;
  for (const auto& tensor : graph->initializer()) {
    PLUMB_ASSIGN_OR_RETURN(const bool taken, take(tensor.name(), tensor));
    if (!taken) *kept.Add() = tensor;
  }
  graph->mutable_initializer()->Swap(&kept);
  NodeOrder nodes;
  for (const auto& node : graph->node()) {
    bool taken = false;
    if (node.op_type() == "Constant" && node.attribute_size() == 1 && node.attribute(0).has_t()) {
      PLUMB_ASSIGN_OR_RETURN(taken, take(node.output(0), node.attribute(0).t()));
    }
    if (!taken) *nodes.Add() = node;
  }
  graph->mutable_node()->Swap(&nodes);
  return Status::Ok();
}

}  // namespace

Result<SmallModel> SmallModel::Open(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path));
  auto impl = std::make_shared<Impl>();
  if (bytes.size() > INT_MAX || !impl->proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Status::CorruptModel(fmt::format("model '{}': protobuf cannot read it", path));
  ::onnx::GraphProto* graph = impl->proto.mutable_graph();
  PLUMB_RETURN_IF_ERROR(TakeConstants(path, graph, &impl->constants));
  graph->clear_value_info();
  for (auto& output : *graph->mutable_output()) {  // their shapes follow from what is cut
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  SmallModel model;
  model.impl_ = std::move(impl);
  return model;
}

SmallModel::Impl* SmallModel::Own() {
  const auto copy = std::make_shared<Impl>(*impl_);
  impl_ = copy;
  return copy.get();
}

std::vector<ModelSize> SmallModel::Sizes() const {
  std::vector<ModelSize> sizes;
  for (const auto& [name, value] : impl_->constants) AddSizesOf(value, -1, name, &sizes);
  for (int i = 0; i < impl_->proto.graph().node_size(); ++i) {
    for (const auto& attribute : impl_->proto.graph().node(i).attribute()) {
      if (attribute.i() > 1) sizes.push_back({ModelSize::kNumber, i, attribute.name(), -1, attribute.i()});
      for (int k = 0; k < attribute.ints_size(); ++k) {
        if (attribute.ints(k) > 1) sizes.push_back({ModelSize::kNumber, i, attribute.name(), k, attribute.ints(k)});
      }
    }
  }
  return sizes;
}

Status SmallModel::Cut(const ModelSize& size, int64_t begin, int64_t end) {
  Impl* impl = Own();
  if (size.kind != ModelSize::kNumber) {
    Tensor& value = impl->constants.at(size.name);
    PLUMB_ASSIGN_OR_RETURN(value, CutConstant(value, size, begin, end));
    return Status::Ok();
  }
  for (auto& attribute : *impl->proto.mutable_graph()->mutable_node(size.layer)->mutable_attribute()) {
    if (attribute.name() != size.name) continue;
    size.at < 0 ? attribute.set_i(end - begin) : attribute.set_ints(size.at, end - begin);
  }
  return Status::Ok();
}

bool SmallModel::HasInput(const std::string& input) const {
  const auto& inputs = impl_->proto.graph().input();
  return std::any_of(inputs.begin(), inputs.end(), [&](const auto& one) { return one.name() == input; });
}

void SmallModel::SetInputShape(const std::string& input, const Shape& shape) {
  for (auto& one : *Own()->proto.mutable_graph()->mutable_input()) {
    if (one.name() != input) continue;
    auto* dims = one.mutable_type()->mutable_tensor_type()->mutable_shape();
    dims->clear_dim();
    for (const int64_t dim : shape.dims()) dims->add_dim()->set_dim_value(dim);
  }
}

Status SmallModel::Write(const std::string& path) const {
  ::onnx::ModelProto whole = impl_->proto;
  for (const auto& [name, value] : impl_->constants)
    FillTensorProto(name, value, whole.mutable_graph()->add_initializer());
  std::string bytes;
  if (whole.ByteSizeLong() > INT_MAX || !whole.SerializeToString(&bytes))
    return Status::NotSupported(fmt::format("file '{}' would have more than 2 GiB, which protobuf cannot write", path));
  return WriteFile(path, bytes);
}

}  // namespace plumb::onnx
