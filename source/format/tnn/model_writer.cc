// SPDX-License-Identifier: Apache-2.0
// The tnnmodel writer: records in TNN's order, no section that is empty.
#include <fmt/core.h>

#include <map>
#include <set>
#include <string>

#include "format/tnn/model.h"
#include "format/tnn/name_writer.h"
#include "format/tnn/types.h"
#include "graph/resources.h"
#include "op/core/op.h"

namespace plumb::tnn {
namespace {

constexpr size_t kFlushFrom =
    size_t{1} << 16;  // small fields are collected, tensors of this size go straight to the sink

// Primitive encodings, little endian.
class ByteWriter {
 public:
  ByteWriter(int version, ByteSink sink) : magic_(version == 1 ? kMagicV1 : kMagicV2), sink_(sink) {}

  void U32(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) pending_ += static_cast<char>(value >> shift & 0xFF);
  }
  void I32(int64_t value) { U32(static_cast<uint32_t>(value)); }
  void Byte(bool value) { pending_ += static_cast<char>(value); }
  void String(const std::string& text) {
    I32(static_cast<int64_t>(text.size()));
    Bytes(text.data(), text.size());
  }
  // with_dims: a v2 buffer, whatever the file is. Empty buffers have no dims in either version.
  void Raw(const Tensor* tensor, bool with_dims) {
    U32(with_dims ? kMagicV2 : magic_);
    const bool has_data = tensor != nullptr && !tensor->empty() && tensor->NumElements() > 0;
    I32(tensor == nullptr ? 0 : DataTypeNumber(tensor->dtype()));
    if (has_data && tensor->bytes() > 0x7FFFFFFF) {
      status_ = Status::NotSupported(
          fmt::format("a tensor {} has more than the 2 GiB that a tnnmodel can say", tensor->shape().ToString()));
    }
    I32(has_data ? static_cast<int64_t>(tensor->bytes()) : 0);
    if (!has_data) return;
    if (with_dims || magic_ == kMagicV2) {
      I32(tensor->shape().rank());
      for (const int64_t dim : tensor->shape().dims()) I32(dim);
    }
    Bytes(tensor->raw(), tensor->bytes());
  }
  void Magic() { U32(magic_); }
  bool has_dims() const { return magic_ == kMagicV2; }

  Status Finish() {
    Flush();
    return status_;
  }

 private:
  void Bytes(const void* data, size_t size) {
    if (size < kFlushFrom) {
      pending_.append(static_cast<const char*>(data), size);
      if (pending_.size() >= kFlushFrom) Flush();
      return;
    }
    Flush();
    if (status_.ok()) status_ = sink_(data, size);
  }
  void Flush() {
    if (status_.ok() && !pending_.empty()) status_ = sink_(pending_.data(), pending_.size());
    pending_.clear();
  }

  const uint32_t magic_;
  ByteSink sink_;
  std::string pending_;
  Status status_;
};

class BodyWriter : public ResourceVisitor {
 public:
  // implied: the shape that a reader gives each slot when the file has no dims.
  BodyWriter(const Layer& layer, const std::string& name, const std::map<std::string, Shape>& implied,
             ByteWriter* writer)
      : layer_(layer), name_(name), implied_(implied), writer_(*writer) {}

  void Name() override { writer_.String(name_); }
  bool Flag(const char* slot) override {
    const bool has = layer_.Resource(slot) != nullptr;
    writer_.I32(has ? 1 : 0);
    return has;
  }
  bool Flag8(const char* slot) override {
    const bool has = layer_.Resource(slot) != nullptr;
    writer_.Byte(has);
    return has;
  }
  void Raw(const char* slot) override { WriteSlot(slot); }
  void QuantTail(const char* weight_slot) override {
    const Tensor* weight = layer_.Resource(weight_slot);
    if (weight == nullptr || weight->dtype() != DType::kI8) return;
    const std::string slot = weight_slot;
    if (layer_.Resource(slot + "_zero_point") != nullptr) WriteSlot(slot + "_zero_point");
    WriteSlot(slot + "_scale");
  }

 private:
  void WriteSlot(const std::string& slot) {
    const Tensor* tensor = layer_.Resource(slot);
    const auto implied = implied_.find(slot);
    const bool is_implied = implied != implied_.end() && tensor != nullptr && implied->second == tensor->shape();
    writer_.Raw(tensor, writer_.has_dims() || (tensor != nullptr && tensor->shape().rank() > 1 && !is_implied));
  }

  const Layer& layer_;
  const std::string& name_;
  const std::map<std::string, Shape>& implied_;
  ByteWriter& writer_;
};

class ModelWriter {
 public:
  ModelWriter(const Graph& graph, int version, ByteSink sink) : graph_(graph), names_(graph), writer_(version, sink) {}

  Status Write() {
    if (!writer_.has_dims()) {
      PLUMB_ASSIGN_OR_RETURN(blobs_, InferShapes(graph_));
    }
    PLUMB_RETURN_IF_ERROR(CollectRecords());
    writer_.Magic();
    writer_.I32(static_cast<int64_t>(records_.size() + graph_.blob_scales.size()));
    std::set<std::string> written;
    for (const Layer& layer : graph_.layers) {
      if (layer.quantized) WriteScales(layer.inputs, &written);
      const auto record = records_.find(layer.name);
      if (record != records_.end() && record->second == &layer) PLUMB_RETURN_IF_ERROR(WriteRecord(layer));
      if (layer.quantized) WriteScales(layer.outputs, &written);
    }
    for (const auto& entry : graph_.blob_scales) WriteScales({entry.first}, &written);
    WriteConstants();
    return writer_.Finish();
  }

 private:
  // One record per layer with resources; layers of one name share theirs (a reader gives it to all of them).
  Status CollectRecords() {
    for (const Layer& layer : graph_.layers) {
      if (layer.resources.empty()) continue;
      const auto [first, is_new] = records_.emplace(layer.name, &layer);
      if (is_new || (first->second->kind == layer.kind && SameResources(first->second->resources, layer.resources)))
        continue;
      return Status::InvalidArgument(
          fmt::format("{} and {} have one name and different weights, which a tnnmodel cannot say; rename one",
                      Frame(*first->second), Frame(layer)));
    }
    return Status::Ok();
  }

  static std::string Frame(const Layer& layer) {
    return fmt::format("layer {} '{}' ({})", layer.index, layer.name, layer.type);
  }

  // The shapes that follow from the layer when its own tensors are not looked at; only a v1 file needs them.
  std::map<std::string, Shape> ImpliedShapes(const Layer& layer) const {
    std::map<std::string, Shape> shapes;
    const OpDef& op = GetOp(layer.kind);
    if (writer_.has_dims() || op.resource_specs == nullptr) return shapes;
    Layer bare = layer;
    bare.resources.clear();
    std::vector<BlobInfo> inputs;
    for (const std::string& name : layer.inputs) inputs.push_back(blobs_.at(name));
    std::vector<ResourceSpec> specs;
    if (!op.resource_specs(bare, inputs, &specs).ok()) return shapes;
    for (const ResourceSpec& spec : specs) shapes[spec.slot] = spec.shape;
    return shapes;
  }

  Status WriteRecord(const Layer& layer) {
    const OpDef& op = GetOp(layer.kind);
    const std::optional<int> number = FindTypeNumber(op.name);
    if (!number || op.visit_resources == nullptr) {
      return Status::Internal(Frame(layer) + ": has resources, but a tnnmodel has no record for its type");
    }
    PLUMB_ASSIGN_OR_RETURN(const std::string type, TypeStringOf(layer));
    const std::string name = names_.Other(layer.name);
    writer_.I32(*number);
    writer_.String(type);
    writer_.String(name);
    const std::map<std::string, Shape> implied = ImpliedShapes(layer);
    BodyWriter body(layer, name, implied, &writer_);
    op.visit_resources(body, layer);
    return Status::Ok();
  }

  void WriteScales(const std::vector<std::string>& blobs, std::set<std::string>* written) {
    for (const std::string& blob : blobs) {
      const auto it = graph_.blob_scales.find(blob);
      if (it == graph_.blob_scales.end() || !written->insert(blob).second) continue;
      writer_.I32(kBlobScaleType);
      writer_.String("BlobScale");
      writer_.String(names_.Blob(blob) + "_scale_data_");
      if (!it->second.zero_point.empty()) writer_.Raw(&it->second.zero_point, writer_.has_dims());
      writer_.Raw(&it->second.scale, writer_.has_dims());
      writer_.Raw(it->second.bias.empty() ? nullptr : &it->second.bias, writer_.has_dims());
    }
  }

  // Constants need their dims, which a v1 buffer does not have: they are v2 buffers in every file, as in TNN's own.
  void WriteConstants() {
    if (graph_.constants.empty()) return;
    writer_.U32(kMagicV2);
    writer_.I32(static_cast<int64_t>(graph_.constants.size()));
    for (const auto& [name, value] : graph_.constants) {
      writer_.String(names_.Blob(name));
      writer_.Raw(&value, true);
    }
  }

  const Graph& graph_;
  const NameWriter names_;
  ByteWriter writer_;
  BlobTable blobs_;
  std::map<std::string, const Layer*> records_;  // the layer that writes each name's record
};

}  // namespace

Status WriteModel(const Graph& graph, int version, ByteSink sink) {
  if (version != 1 && version != 2) {
    return Status::InvalidArgument("a tnnmodel is version 1 or 2, not " + std::to_string(version));
  }
  return ModelWriter(graph, version, sink).Write().AddContext(fmt::format("model '{}'", graph.source));
}

}  // namespace plumb::tnn
