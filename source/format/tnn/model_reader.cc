// SPDX-License-Identifier: Apache-2.0
// The tnnmodel reader: magic, layer count, one record per layer with resources, then constants.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "format/tnn/byte_reader.h"
#include "format/tnn/model.h"
#include "format/tnn/names.h"
#include "format/tnn/types.h"
#include "graph/resources.h"

namespace plumb::tnn {
namespace {

constexpr uint32_t kCountMask = 0x1FFFFFFF;  // TNN's reader ignores the upper three bits
constexpr size_t kSmallestRecord = 8;        // oldest form: type and an empty name
constexpr std::string_view kScaleSuffix = "_scale_data_";

// Reads one record's body into a layer's slots.
class BodyReader : public ResourceVisitor {
 public:
  BodyReader(ByteReader* reader, std::map<std::string, Tensor>* slots) : reader_(*reader), slots_(*slots) {}

  void Name() override {
    if (status_.ok()) status_ = reader_.String("repeated layer name").status();
  }
  bool Flag(const char* slot) override { return TakeFlag(slot, &ByteReader::Bool32); }
  bool Flag8(const char* slot) override { return TakeFlag(slot, &ByteReader::Bool8); }
  void Raw(const char* slot) override { Store(slot, Take(slot)); }
  void QuantTail(const char* weight_slot) override {
    const auto weight = slots_.find(weight_slot);
    if (!status_.ok() || weight == slots_.end() || weight->second.dtype() != DType::kI8) return;
    const std::string slot = weight_slot;
    const size_t start = reader_.offset();
    const std::string first = slot + " zero point or scale";
    Tensor tensor = Take(first.c_str());
    if (!status_.ok()) return;
    if (tensor.dtype() == DType::kI8) {
      Store(slot + "_zero_point", std::move(tensor));
      Store(slot + "_scale", Take((slot + " scale").c_str()));
    } else if (tensor.dtype() == DType::kF32) {  // old files and dynamic-range files have no zero point: all are 0
      Store(slot + "_scale", std::move(tensor));
    } else {
      status_ = reader_.Corrupt(start, "the buffer behind int8 weights expects i8 (zero point) or f32 (scale), found " +
                                           std::string(DTypeName(tensor.dtype())));
    }
  }

  const Status& status() const { return status_; }

 private:
  bool TakeFlag(const char* slot, Result<bool> (ByteReader::*read)(const char*)) {
    if (!status_.ok()) return false;
    const Result<bool> flag = (reader_.*read)((std::string("has ") + slot).c_str());
    status_ = flag.status();
    return flag.ok() && *flag;
  }

  Tensor Take(const char* field) {
    if (!status_.ok()) return {};
    Result<Tensor> tensor = reader_.Raw(field);
    status_ = tensor.status();
    return tensor.ok() ? std::move(*tensor) : Tensor();
  }

  void Store(const std::string& slot, Tensor tensor) {
    if (status_.ok() && !tensor.empty() && tensor.NumElements() > 0) slots_[slot] = std::move(tensor);
  }

  ByteReader& reader_;
  std::map<std::string, Tensor>& slots_;
  Status status_;
};

class ModelReader {
 public:
  ModelReader(const FileSource& source, bool escaped, Graph* graph, bool skip_weights)
      : reader_(source, skip_weights), escaped_(escaped), graph_(*graph) {
    for (Layer& layer : graph_.layers) layers_[layer.name].push_back(&layer);
  }

  Status Read() {
    PLUMB_ASSIGN_OR_RETURN(const uint32_t count, ReadCount());
    for (uint32_t i = 0; i < count; ++i) {
      PLUMB_RETURN_IF_ERROR(ReadRecord().AddContext("record " + std::to_string(i)));
    }
    if (reader_.left() > 0) PLUMB_RETURN_IF_ERROR(ReadConstants().AddContext("constants"));
    if (reader_.left() > 0) {
      return reader_.Corrupt(reader_.offset(), std::to_string(reader_.left()) +
                                                   " bytes follow the end of the model: the file "
                                                   "is damaged, or is no tnnmodel");
    }
    PLUMB_RETURN_IF_ERROR(reader_.Settle());
    if (!unused_.empty()) {
      graph_.notes.push_back(
          fmt::format("{} records of the tnnmodel belong to no layer and are ignored: {}", num_unused_, unused_));
    }
    return Status::Ok();
  }

 private:
  Result<uint32_t> ReadCount() {
    PLUMB_ASSIGN_OR_RETURN(const uint32_t magic, reader_.U32("magic"));
    if (magic != kMagicV1 && magic != kMagicV2) reader_.Rewind(0);  // the oldest form begins with the count
    const size_t start = reader_.offset();
    PLUMB_ASSIGN_OR_RETURN(const uint32_t bits, reader_.U32("layer count"));
    const uint32_t count = bits & kCountMask;
    if (count > reader_.left() / kSmallestRecord) {
      return reader_.Corrupt(
          start,
          fmt::format("field 'layer count' is {}, but only {} bytes follow: the file is cut short or no tnnmodel",
                      count, reader_.left()));
    }
    return count;
  }

  Result<std::string> Name(const char* field) {
    PLUMB_ASSIGN_OR_RETURN(std::string name, reader_.String(field));
    if (escaped_) return UnescapeName(name);
    return name;
  }

  // In the oldest form the name stands where newer files have the type string. TNN takes any string of its table for a
  // type; a layer that is called like a type is told apart by the number in front, which then belongs to another type.
  bool IsLayerName(const std::string& text, std::optional<int> number, int type) const {
    if (!number) return true;
    if (*number == type) return false;
    const OpDef* op = FindOpByNumber(type);
    return op != nullptr && !LayersOf(text, *op).empty();
  }

  // The layers that a record of that name and operator belongs to.
  std::vector<Layer*> LayersOf(const std::string& name, const OpDef& op) const {
    std::vector<Layer*> found;
    const auto it = layers_.find(name);
    if (it == layers_.end()) return found;
    std::copy_if(it->second.begin(), it->second.end(), std::back_inserter(found),
                 [&](const Layer* layer) { return layer->kind == op.kind; });
    return found;
  }

  Status ReadRecord() {
    const size_t start = reader_.offset();
    PLUMB_ASSIGN_OR_RETURN(int type, reader_.I32("type"));
    PLUMB_ASSIGN_OR_RETURN(std::string name, Name("type string"));
    const std::optional<int> number = FindTypeNumber(name);
    std::string type_string = name;
    if (IsLayerName(name, number, type)) {
      type_string = "type " + std::to_string(type);
    } else {
      type = *number;
      PLUMB_ASSIGN_OR_RETURN(name, Name("name"));
    }
    if (type == kBlobScaleType) return ReadBlobScale(name).AddContext(fmt::format("'{}' (BlobScale)", name));
    const OpDef* op = FindOpByNumber(type);
    if (op == nullptr) {
      return Status::NotSupported(
          fmt::format("byte {}: '{}' ({}): Plumb has no operator for this type, and the format does not say how long "
                      "the record is, so the rest of the file cannot be read",
                      start, name, type_string));
    }
    return ReadLayer(start, name, *op).AddContext(fmt::format("'{}' ({})", name, op->name));
  }

  Status ReadLayer(size_t start, const std::string& name, const OpDef& op) {
    const std::vector<Layer*> layers = LayersOf(name, op);
    Layer unused;
    if (layers.empty()) PLUMB_RETURN_IF_ERROR(MakeUnused(start, name, op, &unused));
    std::map<std::string, Tensor> slots;
    if (op.visit_resources != nullptr) {
      BodyReader body(&reader_, &slots);
      op.visit_resources(body, layers.empty() ? unused : *layers[0]);
      PLUMB_RETURN_IF_ERROR(body.status());
    }
    if (layers.empty()) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(CheckRepeated(start, *layers[0], slots));
    for (Layer* layer : layers) layer->resources = slots;  // layers of the same name share, as TNN's lookup makes them
    return Status::Ok();
  }

  // A record without a layer is read like any other and dropped.
  Status MakeUnused(size_t start, const std::string& name, const OpDef& op, Layer* unused) {
    const auto found = layers_.find(name);
    if (found != layers_.end()) {
      return reader_.Corrupt(start,
                             fmt::format("the tnnproto has this layer as {}: the two files do not belong together",
                                         found->second[0]->type));
    }
    unused->name = name;
    unused->kind = op.kind;
    unused->type = op.name;
    unused->param = op.make_param();
    unused->inputs.resize(1);
    if (++num_unused_ <= 20) unused_ += fmt::format("{}{}'", unused_.empty() ? "'" : ", '", name);
    return Status::Ok();
  }

  // TNN writes a record per layer, so layers of the same name repeat it; two different ones cannot both be meant.
  Status CheckRepeated(size_t start, const Layer& layer, const std::map<std::string, Tensor>& slots) {
    const auto [earlier, is_new] = records_.emplace(std::make_pair(layer.name, layer.kind), start);
    if (is_new) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(reader_.Settle());
    if (SameResources(layer.resources, slots)) return Status::Ok();
    return reader_.Corrupt(start,
                           "the layer has another record with other values at byte " + std::to_string(earlier->second));
  }

  Status ReadBlobScale(const std::string& name) {
    const size_t start = reader_.offset();
    if (name.size() <= kScaleSuffix.size() || name.substr(name.size() - kScaleSuffix.size()) != kScaleSuffix) {
      return reader_.Corrupt(start, "the name of a blob scale ends in '_scale_data_'");
    }
    BlobScale scale;
    PLUMB_ASSIGN_OR_RETURN(Tensor first, reader_.Raw("zero point or scale"));
    if (first.NumElements() > 0 && first.dtype() == DType::kI8) {
      scale.zero_point = std::move(first);
      PLUMB_ASSIGN_OR_RETURN(scale.scale, reader_.Raw("scale"));
    } else if (first.NumElements() == 0 || first.dtype() == DType::kF32) {
      scale.scale = std::move(first);  // the old form has no zero point: all are 0
    } else {
      return reader_.Corrupt(start,
                             std::string("expects i8 (zero point) or f32 (scale), found ") + DTypeName(first.dtype()));
    }
    PLUMB_ASSIGN_OR_RETURN(scale.bias, reader_.Raw("bias"));
    return StoreBlobScale(start, name.substr(0, name.size() - kScaleSuffix.size()), std::move(scale));
  }

  Status StoreBlobScale(size_t start, const std::string& blob, BlobScale scale) {
    const int64_t count = scale.scale.NumElements();
    if (scale.scale.dtype() != DType::kF32 || count == 0)
      return reader_.Corrupt(start, "expects at least one f32 scale");
    if (!scale.zero_point.empty() && scale.zero_point.NumElements() != count) {
      return reader_.Corrupt(
          start, fmt::format("{} scales and {} zero points do not agree", count, scale.zero_point.NumElements()));
    }
    const auto [it, is_new] = graph_.blob_scales.emplace(blob, scale);
    if (is_new) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(reader_.Settle());
    if (SameTensor(it->second.scale, scale.scale) && SameTensor(it->second.zero_point, scale.zero_point)) {
      return Status::Ok();
    }
    return reader_.Corrupt(start, "the blob has another scale record with other values");
  }

  Status ReadConstants() {
    const size_t start = reader_.offset();
    PLUMB_ASSIGN_OR_RETURN(const uint32_t magic, reader_.U32("constants magic"));
    if (magic != kMagicV1 && magic != kMagicV2) {
      return reader_.Corrupt(start, std::to_string(reader_.left() + 4) +
                                        " bytes follow the layers, but they do not begin a "
                                        "constants section (0xFABC0004)");
    }
    PLUMB_ASSIGN_OR_RETURN(const int32_t count, reader_.I32("constant count"));
    if (count < 0 || static_cast<size_t>(count) > reader_.left() / (4 + 12)) {
      return reader_.Corrupt(start + 4,
                             fmt::format("field 'constant count' is {}, but {} bytes follow", count, reader_.left()));
    }
    for (int32_t i = 0; i < count; ++i) {
      PLUMB_RETURN_IF_ERROR(ReadConstant().AddContext("constant " + std::to_string(i)));
    }
    return Status::Ok();
  }

  Status ReadConstant() {
    const size_t start = reader_.offset();
    PLUMB_ASSIGN_OR_RETURN(const std::string name, Name("name"));
    const Result<Tensor> value = reader_.Raw("value");
    PLUMB_RETURN_IF_ERROR(value.status().AddContext(fmt::format("'{}'", name)));
    const auto [it, is_new] = graph_.constants.emplace(name, *value);
    if (is_new) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(reader_.Settle());
    if (!SameTensor(it->second, *value)) {
      return reader_.Corrupt(start, fmt::format("'{}': another constant of that name has other values", name));
    }
    return Status::Ok();
  }

  ByteReader reader_;
  const bool escaped_;
  Graph& graph_;
  std::map<std::string, std::vector<Layer*>> layers_;
  std::map<std::pair<std::string, OpKind>, size_t> records_;  // where the first record of that name begins
  std::string unused_;
  int num_unused_ = 0;
};

}  // namespace

Status ReadModel(const FileSource& bytes, const std::string& source, bool escaped, Graph* graph, bool skip_weights) {
  const std::string frame = fmt::format("model '{}'", source);
  if (bytes.size() == 0) {
    return Status::CorruptModel(frame +
                                ": the file is empty, expected a tnnmodel: it is cut short; to run with generated "
                                "weights, take it away and name the tnnproto alone");
  }
  return ModelReader(bytes, escaped, graph, skip_weights).Read().AddContext(frame);
}

}  // namespace plumb::tnn
