// SPDX-License-Identifier: Apache-2.0
// ModelProto -> ModelIr. The other files that see protobuf are extract.cc and proto_tensor.cc.
#include "format/onnx/parse.h"

#include <fmt/core.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "format/onnx/proto_tensor.h"
#include "format/onnx/source_line.h"

namespace plumb::onnx {
namespace {

constexpr int kParseMaxDepth = 64;  // of graphs inside graphs

// Hands the bytes over in pieces, so that a file is not in memory beside the message that is made of it.
class SourceStream : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit SourceStream(const FileSource& source) : source_(source) {}

  // What ended it before the source's end.
  const Status& status() const { return status_; }
  bool Next(const void** data, int* size) override {
    piece_.resize(std::min(kPiece, source_.size() - at_));
    *data = piece_.data();
    *size = static_cast<int>(piece_.size());
    if (piece_.empty()) return false;
    status_ = source_.Read(at_, piece_.size(), piece_.data());
    at_ += piece_.size();
    return status_.ok();
  }
  void BackUp(int count) override { at_ -= static_cast<size_t>(count); }
  bool Skip(int count) override {
    const size_t left = std::min(static_cast<size_t>(std::max(count, 0)), source_.size() - at_);
    at_ += left;
    return left == static_cast<size_t>(count);
  }
  int64_t ByteCount() const override { return static_cast<int64_t>(at_); }

 private:
  static constexpr size_t kPiece = size_t{256} << 10;
  const FileSource& source_;
  std::vector<uint8_t> piece_;
  size_t at_ = 0;
  Status status_;
};

// NodeProto::metadata_props (field 9) is younger than Debian 12's libonnx, which keeps it unread.
std::string StackOf(const ::onnx::NodeProto& proto) {
  constexpr int kMetadataProps = 9;
  const auto stack_of = [](const std::string& bytes) {
    ::onnx::StringStringEntryProto entry;
    const bool is_stack = entry.ParseFromString(bytes) && entry.key() == "pkg.torch.onnx.stack_trace";
    return is_stack ? entry.value() : std::string();
  };
  const google::protobuf::Reflection& fields = *proto.GetReflection();
  const auto* known = proto.GetDescriptor()->FindFieldByNumber(kMetadataProps);
  for (int i = 0; known != nullptr && i < fields.FieldSize(proto, known); ++i) {
    std::string stack = stack_of(fields.GetRepeatedMessage(proto, known, i).SerializeAsString());
    if (!stack.empty()) return stack;
  }
  const auto& unknown = fields.GetUnknownFields(proto);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    if (field.number() != kMetadataProps || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    std::string stack = stack_of(field.length_delimited());
    if (!stack.empty()) return stack;
  }
  return proto.doc_string();
}

class Reader {
 public:
  Reader(std::string path, bool skip_weights) : path_(std::move(path)), skip_weights_(skip_weights) {}

  Result<ModelIr> Read(::onnx::ModelProto* proto) {
    ModelIr model;
    model.source = path_;
    model.ir_version = proto->ir_version();
    model.producer = proto->producer_name();
    if (!proto->has_graph()) {
      return Status::CorruptModel("it holds no graph: the file is no ONNX model, or cut short");
    }
    for (const auto& opset : proto->opset_import()) PLUMB_RETURN_IF_ERROR(AddOpset(opset, &model.opsets));
    PLUMB_RETURN_IF_ERROR(ReadGraph(proto->mutable_graph(), 0, &model.graph));
    for (auto& function : *proto->mutable_functions()) {
      model.functions.emplace_back();
      PLUMB_RETURN_IF_ERROR(
          ReadFunction(&function, &model.functions.back()).AddContext(fmt::format("function '{}'", function.name())));
    }
    NumberNodes(&model);
    return model;
  }

 private:
  static void NumberNodes(ModelIr* model) {
    for (NodeIr& node : model->graph.nodes) {
      node.file_node = static_cast<int>(model->file_nodes.size());
      const std::string type = (node.domain.empty() ? "" : node.domain + ".") + node.op_type;
      model->file_nodes.push_back(
          {NameOf(node), type, node.inputs, node.outputs, node.source_line, FileNodes::Fate::kUnread, {}});
    }
  }

  static std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

  static Status AddOpset(const ::onnx::OperatorSetIdProto& opset, std::map<std::string, int>* opsets) {
    const std::string domain = Domain(opset.domain());
    const int version = static_cast<int>(std::min<int64_t>(std::max<int64_t>(opset.version(), INT_MIN), INT_MAX));
    if (opsets->emplace(domain, version).first->second == version) return Status::Ok();
    return Status::CorruptModel(fmt::format("it imports the operators of domain '{}' in two opsets, {} and {}", domain,
                                            opsets->at(domain), version));
  }

  Status ReadGraph(::onnx::GraphProto* proto, int depth, GraphIr* graph) {
    if (depth > kParseMaxDepth)
      return Status::CorruptModel(fmt::format("graphs lie more than {} deep in each other", kParseMaxDepth));
    graph->name = proto->name();
    for (auto& tensor : *proto->mutable_initializer()) {
      const std::string name = tensor.name();
      Result<ConstantIr> constant = ConvertTensor(&tensor, path_, skip_weights_);
      if (!constant.ok()) return constant.status().AddContext(fmt::format("initialiser '{}'", name));
      if (!graph->constants.emplace(name, std::move(*constant)).second) {
        return Status::CorruptModel(fmt::format("initialiser '{}' is there twice", name));
      }
    }
    for (auto& sparse : *proto->mutable_sparse_initializer()) {
      ConstantIr constant;
      constant.why = "sparse tensors are not supported";
      graph->constants.emplace(sparse.values().name(), std::move(constant));
    }
    for (const auto& input : proto->input()) graph->inputs.push_back(ReadValueInfo(input));
    for (const auto& output : proto->output()) graph->outputs.push_back(ReadValueInfo(output));
    for (auto& node : *proto->mutable_node()) {
      graph->nodes.emplace_back();
      PLUMB_RETURN_IF_ERROR(ReadNode(&node, depth, &graph->nodes.back())
                                .AddContext(fmt::format("node '{}' ({})", node.name(), node.op_type())));
    }
    return Status::Ok();
  }

  static ValueInfoIr ReadValueInfo(const ::onnx::ValueInfoProto& proto) {
    ValueInfoIr info;
    info.name = proto.name();
    const ::onnx::TypeProto& type = proto.type();
    if (type.has_sequence_type())
      info.kind = ValueInfoIr::kSequence;
    else if (type.has_optional_type())
      info.kind = ValueInfoIr::kOptional;
    else if (!type.has_tensor_type() && type.value_case() != ::onnx::TypeProto::VALUE_NOT_SET)
      info.kind = ValueInfoIr::kOther;
    if (info.kind != ValueInfoIr::kTensor) return info;
    info.type = type.tensor_type().elem_type();
    info.has_shape = type.tensor_type().has_shape();
    for (const auto& dim : type.tensor_type().shape().dim()) {
      info.dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
      info.dim_names.push_back(dim.dim_param());
    }
    return info;
  }

  Status ReadNode(::onnx::NodeProto* proto, int depth, NodeIr* node) {
    node->name = proto->name();
    node->op_type = proto->op_type();
    node->domain = Domain(proto->domain());
    node->inputs.assign(proto->input().begin(), proto->input().end());
    node->outputs.assign(proto->output().begin(), proto->output().end());
    node->source_line = SourceLine(StackOf(*proto));
    for (auto& attribute : *proto->mutable_attribute()) {
      AttributeIr& ir = node->attributes[attribute.name()];
      PLUMB_RETURN_IF_ERROR(
          ReadAttribute(&attribute, depth, &ir).AddContext(fmt::format("attribute '{}'", attribute.name())));
    }
    return Status::Ok();
  }

  Status ReadAttribute(::onnx::AttributeProto* proto, int depth, AttributeIr* ir) {
    ir->reference = proto->ref_attr_name();
    ir->i = proto->i();
    ir->f = proto->f();
    ir->s = proto->s();
    ir->ints.assign(proto->ints().begin(), proto->ints().end());
    ir->floats.assign(proto->floats().begin(), proto->floats().end());
    ir->strings.assign(proto->strings().begin(), proto->strings().end());
    ir->kind = KindOf(*proto);
    if (ir->kind == AttributeIr::kTensor) {
      PLUMB_ASSIGN_OR_RETURN(ir->tensor, ConvertTensor(proto->mutable_t(), path_, skip_weights_));
    }
    if (ir->kind == AttributeIr::kGraph) {
      auto graph = std::make_shared<GraphIr>();
      PLUMB_RETURN_IF_ERROR(ReadGraph(proto->mutable_g(), depth + 1, graph.get()));
      ir->graph = std::move(graph);
    }
    return Status::Ok();
  }

  // Old files leave the type out: then the field that is there decides.
  static AttributeIr::Kind KindOf(const ::onnx::AttributeProto& proto) {
    switch (proto.type()) {
      case ::onnx::AttributeProto::INT: return AttributeIr::kInt;
      case ::onnx::AttributeProto::FLOAT: return AttributeIr::kFloat;
      case ::onnx::AttributeProto::STRING: return AttributeIr::kString;
      case ::onnx::AttributeProto::TENSOR: return AttributeIr::kTensor;
      case ::onnx::AttributeProto::GRAPH: return AttributeIr::kGraph;
      case ::onnx::AttributeProto::INTS: return AttributeIr::kInts;
      case ::onnx::AttributeProto::FLOATS: return AttributeIr::kFloats;
      case ::onnx::AttributeProto::STRINGS: return AttributeIr::kStrings;
      case ::onnx::AttributeProto::UNDEFINED: break;
      default: return AttributeIr::kOther;
    }
    if (proto.has_i()) return AttributeIr::kInt;
    if (proto.has_f()) return AttributeIr::kFloat;
    if (proto.has_s()) return AttributeIr::kString;
    if (proto.has_t()) return AttributeIr::kTensor;
    if (proto.has_g()) return AttributeIr::kGraph;
    if (proto.ints_size() > 0) return AttributeIr::kInts;
    if (proto.floats_size() > 0) return AttributeIr::kFloats;
    if (proto.strings_size() > 0) return AttributeIr::kStrings;
    return AttributeIr::kNone;
  }

  Status ReadFunction(::onnx::FunctionProto* proto, FunctionIr* function) {
    function->domain = Domain(proto->domain());
    function->name = proto->name();
    function->inputs.assign(proto->input().begin(), proto->input().end());
    function->outputs.assign(proto->output().begin(), proto->output().end());
    function->attributes.assign(proto->attribute().begin(), proto->attribute().end());
    for (const auto& opset : proto->opset_import()) PLUMB_RETURN_IF_ERROR(AddOpset(opset, &function->opsets));
    for (auto& node : *proto->mutable_node()) {
      function->nodes.emplace_back();
      PLUMB_RETURN_IF_ERROR(
          ReadNode(&node, 0, &function->nodes.back()).AddContext(fmt::format("node '{}'", node.name())));
    }
    // Attributes with defaults (field 11) are younger than Debian's libonnx.
    const auto& unknown = proto->GetReflection()->GetUnknownFields(*proto);
    for (int i = 0; i < unknown.field_count(); ++i) {
      const auto& field = unknown.field(i);
      if (field.number() != 11 || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
      ::onnx::AttributeProto attribute;
      if (!attribute.ParseFromString(field.length_delimited())) {
        return Status::CorruptModel("an attribute's default cannot be read");
      }
      PLUMB_RETURN_IF_ERROR(ReadAttribute(&attribute, 0, &function->defaults[attribute.name()]));
    }
    return Status::Ok();
  }

  std::string path_;
  bool skip_weights_;
};

}  // namespace

Result<ModelIr> ParseModel(const FileSource& source, const std::string& path, bool skip_weights) {
  const std::string frame = fmt::format("model '{}'", path);
  if (source.size() > INT_MAX) {
    return Status::NotSupported(
        fmt::format("{}: protobuf reads files of up to 2 GiB, found {} bytes; store the weights as external data",
                    frame, source.size()));
  }
  ::onnx::ModelProto proto;
  SourceStream stream(source);
  const bool parsed = proto.ParseFromZeroCopyStream(&stream);
  PLUMB_RETURN_IF_ERROR(Status(stream.status()).AddContext(frame));
  if (!parsed) {
    return Status::CorruptModel(frame +
                                ": it is no ONNX model, or it is cut short or damaged (protobuf cannot read it)");
  }
  Result<ModelIr> model = Reader(path, skip_weights).Read(&proto);
  if (!model.ok()) return model.status().AddContext(frame);
  return model;
}

Result<ConstantIr> ParseTensor(const FileBytes& bytes, const std::string& path) {
  ::onnx::TensorProto proto;
  if (bytes.size() > INT_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Status::CorruptModel(fmt::format("file '{}' is no ONNX tensor", path));
  }
  Result<ConstantIr> tensor = ConvertTensor(&proto, path);
  if (!tensor.ok()) return tensor.status().AddContext(fmt::format("file '{}'", path));
  return tensor;
}

}  // namespace plumb::onnx
