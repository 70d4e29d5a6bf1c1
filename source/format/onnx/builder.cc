// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/builder.h"

#include <fmt/core.h>

#include <algorithm>

namespace plumb::onnx {
namespace {

constexpr size_t kMaxFoldedBytes = size_t{1} << 30;  // of one layer's outputs; larger ones stay layers
constexpr size_t kMaxLayers = 1000000;

size_t Bytes(const BlobInfo& info) { return static_cast<size_t>(info.shape.NumElements()) * DTypeSize(info.dtype); }

// Operators that read indices or lengths while they run, behind their first input when they have several.
bool ReadsIndices(OpKind kind) {
  static const std::set<OpKind> kinds = {
      OpKind::kGather,         OpKind::kGatherND,       OpKind::kPlumbGatherElements,  OpKind::kScatterElements,
      OpKind::kScatterND,      OpKind::kPlumbScatterND, OpKind::kPlumbScatterElements, OpKind::kPlumbReverseSequence,
      OpKind::kPlumbMaxUnpool, OpKind::kPlumbRoiAlign,  OpKind::kPlumbCumSum,          OpKind::kPlumbLSTM,
      OpKind::kPlumbGRU,       OpKind::kPlumbRNN};
  return kinds.count(kind) > 0;
}

// What it takes to compute it while the model loads, in operations.
double FoldingWork(const Layer& layer, const std::vector<const Tensor*>& values, const std::vector<BlobInfo>& outputs) {
  constexpr double kPerElement = 16;  // of NAIVE, whatever it computes
  double work = 0;
  for (const BlobInfo& output : outputs) work += kPerElement * static_cast<double>(output.shape.NumElements());
  const OpDef& op = GetOp(layer.kind);
  if (op.flops == nullptr) return work;
  std::vector<BlobInfo> inputs;
  for (const Tensor* value : values) inputs.push_back({value->dtype(), value->shape(), *value});
  return work + op.flops(layer, inputs, outputs);
}

}  // namespace

std::string DependsOn(const std::vector<std::string>& inputs) {
  if (inputs.empty()) return "is computed from values that are not folded";
  std::string names, options;
  for (const std::string& name : inputs) {
    names += fmt::format("{}{}'", names.empty() ? "'" : ", '", name);
    options += fmt::format(" LoadOptions::input_values {}=VALUES", name);
  }
  const bool one = inputs.size() == 1;
  return fmt::format("depends on the network input{}{}:{}{}", one ? " " : "s ", names, options,
                     one ? " makes it a constant" : " makes them constants");
}

bool Builder::MayFail(size_t layer) const {
  const PendingLayer& pending = layers_[layer];
  if (!ReadsIndices(pending.layer.kind)) return false;
  for (size_t i = pending.inputs.size() == 1 ? 0 : 1; i < pending.inputs.size(); ++i) {
    const BlobInfo& info = blobs_[static_cast<size_t>(pending.inputs[i])].info;
    if (!IsFloat(info.dtype) && info.value.empty()) return true;
  }
  return false;
}

int Builder::AddBlob(Blob blob) {
  blobs_.push_back(std::move(blob));
  return static_cast<int>(blobs_.size()) - 1;
}

Status Builder::CheckSize(DType dtype, const Shape& shape) const {
  PLUMB_RETURN_IF_ERROR(shape.Validate());
  if (Bytes({dtype, shape, Tensor()}) <= max_bytes_) return Status::Ok();
  return Status::NotSupported(
      fmt::format("a blob of shape {} takes more than {} MiB", shape.ToString(), max_bytes_ >> 20));
}

Status Builder::CheckCount() const {
  const size_t count = layers_.size() + blobs_.size();
  if (layers_.size() < kMaxLayers && count * 1024 <= max_bytes_) return Status::Ok();
  return Status::NotSupported(fmt::format("the model unrolls to more than {} layers and blobs", count - 1));
}

Status Builder::Reserve(DType dtype, const Shape& shape) {
  PLUMB_RETURN_IF_ERROR(CheckSize(dtype, shape));
  reserved_ += Bytes({dtype, shape, Tensor()});
  if (reserved_ <= max_bytes_) return Status::Ok();
  return Status::NotSupported(fmt::format("the model's constants grow beyond {} MiB", max_bytes_ >> 20));
}

Value Builder::AddInput(const std::string& name, DType dtype, const Shape& shape, int type) {
  inputs_.push_back({name, dtype, shape});
  Blob blob;
  blob.name = name;
  blob.info = {dtype, shape, Tensor()};
  blob.input = true;
  blob.type = type;
  blob_names_.insert(name);
  return {AddBlob(std::move(blob)), type, nullptr};
}

Value Builder::AddConstant(const Tensor& value, int type, const std::string& name) {
  Blob blob;
  blob.stem = name.empty() ? node_name_ + "/constant" : name;
  blob.info = {value.dtype(), value.shape(), value};
  return {AddBlob(std::move(blob)), type, nullptr};
}

// True when the outputs are known now.
Result<bool> Builder::Fold(const PendingLayer& pending, std::vector<BlobInfo>* outputs) {
  if (std::all_of(outputs->begin(), outputs->end(), [](const BlobInfo& out) { return !out.value.empty(); }))
    return true;
  if (evaluator_ == nullptr) return false;
  std::vector<const Tensor*> values;
  for (const int input : pending.inputs) {
    const Tensor& value = blobs_[static_cast<size_t>(input)].info.value;
    if (value.empty()) return false;
    values.push_back(&value);
  }
  size_t bytes = 0;
  for (const BlobInfo& out : *outputs) bytes += Bytes(out);
  if (bytes > kMaxFoldedBytes) return false;
  // What takes too long stays a layer, and its work counts when it runs.
  const double work = FoldingWork(pending.layer, values, *outputs);
  if (budget_->folding + work > budget_->max_folding) {
    ended_folding_ = true;
    return false;
  }
  budget_->folding += work;
  for (const BlobInfo& out : *outputs) PLUMB_RETURN_IF_ERROR(Reserve(out.dtype, out.shape));
  std::vector<Tensor> results(outputs->size());
  std::vector<Tensor*> pointers;
  for (size_t i = 0; i < outputs->size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(results[i], Tensor::Create((*outputs)[i].dtype, (*outputs)[i].shape));
    pointers.push_back(&results[i]);
  }
  PLUMB_RETURN_IF_ERROR(evaluator_(pending.layer, values, pointers));
  for (size_t i = 0; i < outputs->size(); ++i) (*outputs)[i].value = results[i];
  return true;
}

Builder::PendingLayer Builder::Pending(LayerSpec spec) const {
  const OpDef& op = GetOp(spec.kind);
  PendingLayer pending;
  pending.layer.kind = spec.kind;
  pending.layer.type = op.name;
  pending.layer.name = node_name_;
  pending.layer.nodes = {node_name_};
  pending.layer.source_line = source_line_;
  pending.file_node = file_node_;
  pending.layer.param = spec.param != nullptr ? std::move(spec.param) : op.make_param();
  pending.layer.resources = std::move(spec.resources);
  pending.layer.outputs.resize(spec.num_outputs);
  for (const Value& input : spec.inputs) pending.inputs.push_back(input.blob);
  pending.layer.inputs.resize(pending.inputs.size());
  return pending;
}

Value Builder::HandOn(const Value& value) {
  if (record_ == nullptr || value.blob < 0) return value;
  const BlobInfo info = blobs_[static_cast<size_t>(value.blob)].info;
  if (info.value.empty() || !IsFloat(info.dtype)) return value;
  for (auto folded = folded_.rbegin(); folded != folded_.rend() && folded->layer.nodes[0] == node_name_; ++folded) {
    const std::vector<int>& made = folded->outputs;
    if (std::find(made.begin(), made.end(), value.blob) != made.end()) return value;
  }
  LayerSpec spec;
  spec.kind = OpKind::kIdentity;
  spec.inputs = {value};
  PendingLayer pending = Pending(std::move(spec));
  Blob blob;
  blob.stem = node_name_;
  blob.info = info;
  Value own = value;
  own.blob = AddBlob(std::move(blob));
  pending.outputs = {own.blob};
  folded_.push_back(std::move(pending));
  return own;
}

void Builder::AddWhole(LayerSpec spec, const std::vector<Value>& outputs) {
  spec.num_outputs = outputs.size();
  PendingLayer pending = Pending(std::move(spec));
  for (const Value& output : outputs) pending.outputs.push_back(output.blob);
  wholes_.push_back(std::move(pending));
}

Result<std::vector<Value>> Builder::Add(LayerSpec spec) {
  const OpDef& op = GetOp(spec.kind);
  PLUMB_RETURN_IF_ERROR(CheckCount());
  const size_t num_outputs = spec.num_outputs;
  PendingLayer pending = Pending(std::move(spec));
  ShapeContext context{pending.layer, {}, std::vector<BlobInfo>(num_outputs)};
  for (const int input : pending.inputs) context.inputs.push_back(blobs_[static_cast<size_t>(input)].info);
  PLUMB_RETURN_IF_ERROR(op.infer(context));
  for (const BlobInfo& out : context.outputs) PLUMB_RETURN_IF_ERROR(CheckSize(out.dtype, out.shape));
  PLUMB_ASSIGN_OR_RETURN(const bool folded, Fold(pending, &context.outputs));
  std::vector<Value> outputs;
  for (const BlobInfo& info : context.outputs) {
    Blob blob;
    blob.stem = fmt::format("{}/{}", node_name_, op.name);
    blob.info = info;
    if (!folded) {
      blob.layer = static_cast<int>(layers_.size());
      blob.info.value = Tensor();
    }
    outputs.push_back({AddBlob(std::move(blob)), TypeOf(info.dtype), nullptr});
    pending.outputs.push_back(outputs.back().blob);
  }
  const bool floats =
      std::any_of(context.outputs.begin(), context.outputs.end(), [](const BlobInfo& o) { return IsFloat(o.dtype); });
  if (!folded)
    layers_.push_back(std::move(pending));
  else if (record_ != nullptr && floats)
    folded_.push_back(std::move(pending));
  return outputs;
}

void Builder::NoteType(const Value& value) {
  if (value.blob < 0) return;
  Blob& blob = blobs_[static_cast<size_t>(value.blob)];
  if (blob.type == kTypeUnknown) blob.type = value.type;
}

bool Builder::Name(const Value& value, const std::string& name) {
  Blob& blob = blobs_[static_cast<size_t>(value.blob)];
  if (!blob.name.empty()) return false;
  if (!blob_names_.insert(name).second) return false;
  blob.name = name;
  return true;
}

bool Builder::Rename(const Value& value, const std::string& inner_prefix, const std::string& name) {
  Blob& blob = blobs_[static_cast<size_t>(value.blob)];
  if (blob.input || blob.name.empty() || blob.name.compare(0, inner_prefix.size(), inner_prefix) != 0)
    return Name(value, name);
  if (!blob_names_.insert(name).second) return false;
  blob_names_.erase(blob.name);
  blob.name = name;
  return true;
}

std::string Builder::InputName(const Value& value) const {
  if (value.blob < 0) return "";
  const Blob& blob = blobs_[static_cast<size_t>(value.blob)];
  return blob.input ? blob.name : "";
}

bool Builder::IsKnown(const Value& value) const {
  if (value.sequence != nullptr)
    return std::all_of(value.sequence->begin(), value.sequence->end(),
                       [this](const Value& one) { return IsKnown(one); });
  return value.blob >= 0 && !Info(value).value.empty();
}

std::vector<std::string> Builder::Ancestors(const Value& value) const {
  std::set<std::string> names;
  std::vector<int> pending = {value.blob};
  std::set<int> seen;
  while (!pending.empty()) {
    const int id = pending.back();
    pending.pop_back();
    if (id < 0 || !seen.insert(id).second) continue;
    const Blob& blob = blobs_[static_cast<size_t>(id)];
    if (blob.input) names.insert(blob.name);
    if (blob.layer < 0) continue;
    for (const int input : layers_[static_cast<size_t>(blob.layer)].inputs) pending.push_back(input);
  }
  return {names.begin(), names.end()};
}

Status Builder::AddOutput(const std::string& name, const Value& value) {
  Blob& blob = blobs_[static_cast<size_t>(value.blob)];
  if (blob.name == name && blob.layer >= 0) {
    blob.type = value.type;
    outputs_.push_back(value.blob);
    return Status::Ok();
  }
  BeginNode(name);
  PendingLayer pending;
  pending.layer.kind = OpKind::kIdentity;
  pending.layer.type = GetOp(OpKind::kIdentity).name;
  pending.layer.name = name;
  pending.layer.nodes = {name};
  pending.layer.param = GetOp(OpKind::kIdentity).make_param();
  pending.inputs = {value.blob};
  Blob out;
  out.info = blob.info;
  out.info.value = Tensor();
  out.type = value.type;
  out.layer = static_cast<int>(layers_.size());
  out.stem = name;
  // A blob inside the graph may carry the output's name already (a constant): the output goes first.
  if (!blob_names_.insert(name).second) {
    for (Blob& other : blobs_) {
      if (other.name == name && !other.input) other.name.clear();
      if (other.name == name && other.input)
        return Status::NotSupported(fmt::format("network output '{}' is a network input too", name));
    }
  }
  out.name = name;
  const int id = AddBlob(std::move(out));
  pending.outputs = {id};
  pending.layer.outputs.resize(1);
  pending.layer.inputs.resize(1);
  layers_.push_back(std::move(pending));
  outputs_.push_back(id);
  return Status::Ok();
}

std::string Builder::UniqueBlobName(const std::string& stem) {
  std::string name = stem;
  for (int i = 2; !blob_names_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

// A node's last layer carries the node's name, the ones before it "<node>/<type>".
void Builder::NameLayers(const std::vector<bool>& used) {
  std::set<std::string> names;
  const auto unique = [&names](const std::string& stem) {
    std::string name = stem;
    for (int i = 2; !names.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    return name;
  };
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (used[i]) last[layers_[i].layer.nodes[0]] = i;
  }
  for (const auto& [node, i] : last) layers_[i].layer.name = unique(node);
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i].layer;
    if (used[i] && last.at(layer.nodes[0]) != i) layer.name = unique(fmt::format("{}/{}", layer.nodes[0], layer.type));
    for (size_t k = 0; used[i] && k < layers_[i].outputs.size(); ++k) {  // an unnamed blob is called like its layer
      blobs_[static_cast<size_t>(layers_[i].outputs[k])].stem =
          k == 0 ? layer.name : fmt::format("{}/{}", layer.name, k);
    }
  }
}

const std::string& Builder::NameOf(int id) {
  Blob& blob = blobs_[static_cast<size_t>(id)];
  if (blob.name.empty()) blob.name = UniqueBlobName(blob.stem);
  return blob.name;
}

void Builder::NamePorts(PendingLayer* pending, std::map<std::string, Tensor>* constants) {
  for (size_t k = 0; k < pending->inputs.size(); ++k) {
    const int id = pending->inputs[k];
    pending->layer.inputs[k] = NameOf(id);
    const Blob& blob = blobs_[static_cast<size_t>(id)];
    if (!blob.info.value.empty() && blob.layer < 0) (*constants)[blob.name] = blob.info.value;
  }
  for (size_t k = 0; k < pending->outputs.size(); ++k) pending->layer.outputs[k] = NameOf(pending->outputs[k]);
}

void Builder::RecordWholes(const std::vector<bool>& used) {
  ImportRecord::Part& part = record_->wholes;
  for (PendingLayer& whole : wholes_) {
    int last = -1;
    for (const int output : whole.outputs) {
      const int layer = blobs_[static_cast<size_t>(output)].layer;
      if (layer >= 0 && used[static_cast<size_t>(layer)]) last = std::max(last, layer);
    }
    if (last < 0) continue;  // folded, or nobody reads it
    whole.layer.index = layers_[static_cast<size_t>(last)].layer.index;
    whole.layer.name = layers_[static_cast<size_t>(last)].layer.name;
    NamePorts(&whole, &part.constants);
    part.layers.push_back(std::move(whole.layer));
  }
}

void Builder::RecordFolded() {
  ImportRecord::Part& part = record_->folded;
  for (PendingLayer& folded : folded_) {
    folded.layer.index = -1;
    NamePorts(&folded, &part.constants);
    for (const int output : folded.outputs) {
      const Blob& blob = blobs_[static_cast<size_t>(output)];
      part.constants[blob.name] = blob.info.value;
    }
    part.layers.push_back(std::move(folded.layer));
  }
}

void Builder::RecordTypes(Graph* graph) const {
  for (const Blob& blob : blobs_) {
    if (blob.name.empty() || blob.type == kTypeUnknown || (blob.layer < 0 && !blob.input)) continue;
    const Result<DType> carried = CarriedDType(blob.type), stored = StoredDType(blob.type);
    if (!stored.ok() || *carried != blob.info.dtype || *stored == blob.info.dtype) continue;
    graph->model_dtypes[blob.name] = *stored;
  }
}

Graph Builder::Finish() {
  std::vector<bool> used(layers_.size(), false);
  std::vector<int> pending = outputs_;
  pending.insert(pending.end(), kept_.begin(), kept_.end());
  while (!pending.empty()) {
    const int layer = blobs_[static_cast<size_t>(pending.back())].layer;
    pending.pop_back();
    if (layer < 0 || used[static_cast<size_t>(layer)]) continue;
    used[static_cast<size_t>(layer)] = true;
    for (const int input : layers_[static_cast<size_t>(layer)].inputs) pending.push_back(input);
  }
  NameLayers(used);
  Graph graph;
  graph.inputs = inputs_;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!used[i]) continue;
    Layer& layer = layers_[i].layer;
    layer.index = static_cast<int>(graph.layers.size());
    NamePorts(&layers_[i], &graph.constants);
    graph.layers.push_back(layer);
    file_nodes_.push_back(layers_[i].file_node);
  }
  RecordTypes(&graph);
  for (const int id : outputs_) graph.outputs.push_back(blobs_[static_cast<size_t>(id)].name);
  if (record_ != nullptr) {
    *record_ = {};  // shapes may have been tried before
    RecordWholes(used);
    RecordFolded();
  }
  return graph;
}

}  // namespace plumb::onnx
