// SPDX-License-Identifier: Apache-2.0
#include "interop/dump_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/memory_budget.h"
#include "dump/reader.h"
#include "format/onnx/import.h"
#include "format/onnx/importer.h"
#include "interop/ggml_blocks.h"
#include "interop/ggml_node.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr const char* kGgmlDomain = "ggml";
class GgmlReader {
 public:
  GgmlReader(const DumpReader& dump, const LoadOptions& options) : dump_(dump), options_(options) {}

  Result<DumpGraph> Read() {
    source_ = fmt::format("{}/{}", dump_.folder(), "manifest.json");
    PLUMB_RETURN_IF_ERROR(List());
    ir_.source = source_;
    ir_.opsets = {{"", 17}, {kGgmlDomain, 1}};
    for (GgmlNode& node : nodes_) {
      if (!node.IsLayer()) continue;
      PLUMB_RETURN_IF_ERROR(AddLayer(node).AddContext(Frame(node)));
    }
    return Finish();
  }

 private:
  std::string Frame(const GgmlNode& node) const {
    return fmt::format("manifest '{}': layer '{}' ({})", source_, Printable(node.name),
                       Printable(node.blob->place.type));
  }

  // Every tensor, in the order of the run; of what several layers read the first time.
  Status List() {
    nodes_.reserve(dump_.manifest().files.size());
    for (const DumpedBlob& blob : dump_.manifest().files) {
      if (blob.place.type.empty() || !IsGgml(blob)) continue;
      GgmlNode node;
      node.blob = &blob;
      node.name = blob.place.blob;
      node.time = nodes_.size();
      PLUMB_RETURN_IF_ERROR(ReadGgmlAttributes(&node).AddContext(Frame(node)));
      PLUMB_RETURN_IF_ERROR(ShapeOfGgml(node).status().AddContext(Frame(node)));
      PLUMB_RETURN_IF_ERROR(CheckFile(blob).AddContext(Frame(node)));
      if (blob.place.output && by_name_.count(node.name) != 0)
        return Status::CorruptModel(Frame(node) + ": a blob of that name is there already");
      if (!blob.place.output && by_name_.count(node.name) != 0) continue;
      nodes_.push_back(std::move(node));
      by_name_.emplace(blob.place.blob, nodes_.size() - 1);
    }
    const bool any = std::any_of(nodes_.begin(), nodes_.end(), [](const GgmlNode& node) { return node.IsLayer(); });
    if (any) return Status::Ok();
    return Status::NotFound(
        fmt::format("'{}' says no types and inputs of layers, so the dump carries no graph", source_));
  }

  // A shape that no file bears out would be believed up to the last byte of memory.
  Status CheckFile(const DumpedBlob& blob) const {
    if (blob.file.empty()) return Status::CorruptModel("it has statistics only (DUMP_BLOB_STATS=1), no values");
    std::error_code error;
    const auto bytes = std::filesystem::file_size(fmt::format("{}/{}", dump_.folder(), blob.file), error);
    if (error) return Status::NotFound(fmt::format("there is no file '{}/{}'", dump_.folder(), blob.file));
    const double wanted = static_cast<double>(blob.shape.NumElements()) * static_cast<double>(DTypeSize(blob.dtype));
    const bool plain = blob.file.size() > 4 && (blob.file.compare(blob.file.size() - 4, 4, ".npy") == 0 ||
                                                blob.file.compare(blob.file.size() - 4, 4, ".raw") == 0);
    if (!plain || static_cast<double>(bytes) >= wanted) return Status::Ok();
    return Status::CorruptModel(fmt::format("file '{}' has {} bytes, {} {} takes {}", blob.file, bytes,
                                            DTypeName(blob.dtype), blob.shape.ToString(), wanted));
  }

  Result<Tensor> LoadStored(const GgmlNode& node) const {
    DumpEntry entry;
    entry.place = node.blob->place;
    entry.dtype = node.blob->dtype;
    entry.shape = node.blob->shape;
    entry.path = fmt::format("{}/{}", dump_.folder(), node.blob->file);
    entry.checksum = node.blob->checksum;
    return DumpReader::Load(entry);
  }

  Result<Tensor> Load(const GgmlNode& node) const {
    PLUMB_ASSIGN_OR_RETURN(const Tensor stored, LoadStored(node));
    PLUMB_ASSIGN_OR_RETURN(const Shape shape, ShapeOfGgml(node));
    if (!node.IsPlain()) return FromGgmlBlocks(node.type, stored, shape);
    if (node.IsFloat()) return stored.ConvertedTo(DType::kF32);
    if (stored.dtype() == (node.type == "i64" ? DType::kI64 : DType::kI32)) return stored;
    return Status::CorruptModel(
        fmt::format("'{}' is {}, its attribute 'type' says {}", node.name, DTypeName(stored.dtype()), node.type));
  }

  static int TypeOf(const GgmlNode& node) {
    return node.type == "i64" ? onnx::kTypeInt64 : node.type == "i32" ? onnx::kTypeInt32 : onnx::kTypeFloat;
  }

  onnx::ValueInfoIr InputOf(const GgmlNode& node) const {
    onnx::ValueInfoIr info;
    info.name = node.name;
    info.type = TypeOf(node);
    info.has_shape = true;
    const auto shape = ShapeOfGgml(node);
    if (shape.ok()) info.dims = shape->dims();
    info.dim_names.resize(info.dims.size());
    return info;
  }

  // What nobody computes here becomes a constant or a network input, once.
  Status Define(const GgmlNode& node, bool as_constant) {
    if (ir_.graph.constants.count(node.name) != 0 || (inputs_.count(node.name) != 0 && !as_constant))
      return Status::Ok();
    if (!node.IsPlain() && !KnowsGgmlBlocks(node.type))
      return Status::NotSupported(fmt::format("it reads '{}' of type {}, which is not known", node.name, node.type));
    if (node.IsLayer() && !node.IsPlain())
      return Status::NotSupported(fmt::format("it reads '{}', computed as {}", node.name, node.type));
    if (!as_constant && (!node.blob->constant || node.IsLayer())) {
      inputs_.insert(node.name);
      return Status::Ok();
    }
    onnx::ConstantIr constant;
    PLUMB_ASSIGN_OR_RETURN(constant.value, Load(node));
    constant.type = TypeOf(node);
    ir_.graph.constants[node.name] = std::move(constant);
    return Status::Ok();
  }

  bool IsComputed(const std::string& name) const { return computed_.count(name) != 0; }

  // --- memory

  struct Write {
    std::string name;
    size_t time;
    int64_t base;  // where its elements begin among all that were and are there
  };
  struct Memory {
    std::vector<Write> writes;
    WholeNumbers at;  // per element of the memory: which of all
    int64_t size = 0;
  };

  const GgmlNode* RootOf(const GgmlNode& node) const {
    const auto found = by_name_.find(node.view_of.empty() ? node.name : node.view_of);
    return found == by_name_.end() ? nullptr : &nodes_[found->second];
  }

  Status AddWrite(const GgmlNode& node) {
    const GgmlNode* root = node.view_of.empty() ? nullptr : RootOf(node);
    if (root == nullptr || node.IsLook()) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const WholeNumbers elements, ElementsOfGgml(node, *root));
    Memory& memory = memories_[root->name];
    if (memory.at.empty()) {
      memory.size = root->NumElements();
      memory.at.resize(static_cast<size_t>(memory.size));
      std::iota(memory.at.begin(), memory.at.end(), int64_t{0});
    }
    memory.writes.push_back({node.name, node.time, memory.size});
    for (size_t i = 0; i < elements.size(); ++i)
      memory.at[static_cast<size_t>(elements[i])] = memory.size + static_cast<int64_t>(i);
    memory.size += static_cast<int64_t>(elements.size());
    return Status::Ok();
  }

  bool IsStale(const GgmlNode& node, const GgmlNode& root) const {
    const auto memory = memories_.find(root.name);
    return memory != memories_.end() && memory->second.writes.back().time > node.time;
  }

  // A node that reads the tensor's elements of memory as they are now.
  Result<onnx::NodeIr> ReadMemory(const GgmlNode& node, const GgmlNode& root, const std::string& name) {
    PLUMB_ASSIGN_OR_RETURN(WholeNumbers elements, ElementsOfGgml(node, root));
    std::vector<std::string> from = {root.name};
    const auto memory = memories_.find(root.name);
    if (memory != memories_.end()) {
      for (int64_t& element : elements) element = memory->second.at[static_cast<size_t>(element)];
      for (const Write& write : memory->second.writes) from.push_back(write.name);
    }
    for (const std::string& one : from) {
      if (!IsComputed(one)) PLUMB_RETURN_IF_ERROR(Define(nodes_[by_name_.at(one)], false));
    }
    onnx::ConstantIr which;
    PLUMB_ASSIGN_OR_RETURN(which.value, Tensor::Create(DType::kI64, Shape{static_cast<int64_t>(elements.size())}));
    std::copy(elements.begin(), elements.end(), which.value.data<int64_t>());
    which.type = onnx::kTypeInt64;
    const std::string places = name + "/elements";
    ir_.graph.constants[places] = std::move(which);
    from.insert(from.begin(), places);
    onnx::NodeIr view = NodeOf(node, "VIEW", std::move(from));
    view.name = name;
    view.outputs = {name};
    return view;
  }

  // --- layers

  onnx::NodeIr NodeOf(const GgmlNode& node, const std::string& type, std::vector<std::string> inputs) const {
    onnx::NodeIr ir;
    ir.name = node.name;
    ir.op_type = type;
    ir.domain = kGgmlDomain;
    ir.inputs = std::move(inputs);
    ir.outputs = {node.name};
    const auto text = [&](const char* name, const std::string& value) {
      ir.attributes[name].kind = onnx::AttributeIr::kString;
      ir.attributes[name].s = value;
    };
    const auto numbers = [&](const char* name, const WholeNumbers& value) {
      ir.attributes[name].kind = onnx::AttributeIr::kInts;
      ir.attributes[name].ints = value;
    };
    text("type", node.type);
    text("buffer", node.buffer);
    numbers("op_params", node.params);
    numbers("shape", node.blob->shape.dims());
    onnx::AttributeIr& types = ir.attributes["src_types"];
    types.kind = onnx::AttributeIr::kStrings;
    for (const std::string& input : node.blob->layer_inputs) {
      const auto found = by_name_.find(input);
      types.strings.push_back(found == by_name_.end() ? "" : nodes_[found->second].type);
    }
    return ir;
  }

  // The tensor as the layer reads it: by its name, or out of memory that was written into since.
  Result<std::string> InputFor(const GgmlNode& reader, size_t slot, std::vector<onnx::NodeIr>* before) {
    const std::string& name = reader.blob->layer_inputs[slot];
    if (name.empty()) return std::string();
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      return Status::CorruptModel(fmt::format(
          "it reads '{}', which no layer wrote and no file holds; dump with DUMP_INPUT_BLOB=1 and without filters",
          Printable(name)));
    }
    const GgmlNode& node = nodes_[found->second];
    if (node.IsLayer() && node.time >= reader.time)
      return Status::CorruptModel(fmt::format("it reads '{}', which is written later: a cycle", Printable(name)));
    const GgmlNode* root = RootOf(node);
    if (root != nullptr && IsStale(node, *root)) {
      const std::string now = fmt::format("{}/as '{}' reads it", name, reader.name);
      if (reads_.insert(now).second) {
        PLUMB_ASSIGN_OR_RETURN(onnx::NodeIr read, ReadMemory(node, *root, now));
        before->push_back(std::move(read));
      }
      return now;
    }
    const std::string& type = reader.blob->place.type;  // positions, frequency factors, places of rows
    const bool constant = slot > 0 && (type == "ROPE" || (type == "SET_ROWS" && slot == 1));
    if (!IsComputed(name)) PLUMB_RETURN_IF_ERROR(Define(node, constant));
    return name;
  }

  Status AddLayer(const GgmlNode& node) {
    std::vector<onnx::NodeIr> made;
    Status status = MakeLayer(node, &made);
    if (status.ok()) status = Try(made);
    if (status.ok()) {
      for (onnx::NodeIr& one : made) ir_.graph.nodes.push_back(std::move(one));
      computed_.insert(node.name);
      ++layers_;
    } else if (status.code() == StatusCode::kNotSupported) {
      left_out_.push_back({node.blob->place.layer_index, node.name, node.blob->place.type, Reason(status), false,
                           node.NumElements(), EstimateOf(node)});
    } else {
      return Status(status.code(), Reason(status));
    }
    if (!node.IsPlain()) return Status::Ok();
    const Status wrote = AddWrite(node);
    return wrote.code() == StatusCode::kNotSupported ? Status::Ok() : wrote;
  }

  // The multiply-adds of a layer whose rule nobody knows: each value a product of as many terms as its first input's
  // rows have, where it reads two tensors of numbers or more; what reads one, or is told places, multiplies nothing.
  double EstimateOf(const GgmlNode& node) const {
    int numbers = 0;
    int64_t terms = 0;
    for (const std::string& input : node.blob->layer_inputs) {
      const auto found = by_name_.find(input);
      if (found == by_name_.end() || nodes_[found->second].IsInteger()) continue;
      if (numbers++ == 0) terms = nodes_[found->second].dims[0];
    }
    return numbers < 2 || node.IsLook() ? 0 : static_cast<double>(node.NumElements()) * static_cast<double>(terms);
  }

  Status MakeLayer(const GgmlNode& node, std::vector<onnx::NodeIr>* made) {
    const std::string& type = node.blob->place.type;
    if (onnx::FindMapper(kGgmlDomain, type) == nullptr) {
      return Status::NotSupported(fmt::format("Plumb has no operator for ggml's {} (format/onnx/ggml_list.def)", type));
    }
    if (!node.IsPlain()) return Status::NotSupported(fmt::format("it writes {}", node.type));
    if (type == "VIEW") {
      const GgmlNode* root = RootOf(node);
      if (root == nullptr || root == &node)
        return Status::CorruptModel(
            fmt::format("it is a view of '{}', which no layer wrote and no file holds", Printable(node.view_of)));
      if (root->time >= node.time) return Status::CorruptModel("it is a view of what is written later: a cycle");
      PLUMB_ASSIGN_OR_RETURN(onnx::NodeIr view, ReadMemory(node, *root, node.name));
      made->push_back(std::move(view));
      return Status::Ok();
    }
    std::vector<std::string> inputs;
    const bool copies = type == "CPY" || type == "REPEAT" || node.IsLook();  // the second one says where, or how large
    const size_t count = copies ? std::min<size_t>(1, node.blob->layer_inputs.size()) : node.blob->layer_inputs.size();
    for (size_t slot = 0; slot < count; ++slot) {
      PLUMB_ASSIGN_OR_RETURN(std::string input, InputFor(node, slot, made));
      inputs.push_back(std::move(input));
    }
    const size_t operands = type == "MUL_MAT" ? 2 : type == "MUL_MAT_ID" ? 3 : 0;
    if (operands > 0 && inputs.size() == operands) PLUMB_RETURN_IF_ERROR(AddLeast(&inputs));
    made->push_back(NodeOf(node, type, std::move(inputs)));
    return Status::Ok();
  }

  // A product's last input: the least values of its weights' blocks, where the type has them.
  Status AddLeast(std::vector<std::string>* inputs) {
    const auto weights = by_name_.find(inputs->front());
    if (weights == by_name_.end()) return Status::Ok();
    const GgmlNode& node = nodes_[weights->second];
    if (!HasGgmlLeast(node.type)) return Status::Ok();
    inputs->push_back(node.name + "/least");
    onnx::ConstantIr& constant = ir_.graph.constants[inputs->back()];
    if (!constant.value.empty()) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const Tensor stored, LoadStored(node));
    PLUMB_ASSIGN_OR_RETURN(const Shape shape, ShapeOfGgml(node));
    PLUMB_ASSIGN_OR_RETURN(constant.value, LeastOfGgmlBlocks(node.type, stored, shape));
    constant.type = onnx::kTypeFloat;
    return Status::Ok();
  }

  // Imports the layer alone, so that what is refused is known of it alone.
  Status Try(const std::vector<onnx::NodeIr>& nodes) const {
    onnx::ModelIr trial;
    trial.source = source_;
    trial.opsets = ir_.opsets;
    trial.graph.nodes = nodes;
    std::set<std::string> known;
    for (const onnx::NodeIr& node : nodes) {
      for (const std::string& input : node.inputs) {
        if (input.empty() || !known.insert(input).second) continue;
        const auto constant = ir_.graph.constants.find(input);
        const auto tensor = by_name_.find(input);
        if (constant != ir_.graph.constants.end()) {
          trial.graph.constants.insert(*constant);
        } else if (tensor != by_name_.end()) {
          trial.graph.inputs.push_back(InputOf(nodes_[tensor->second]));
        }
      }
      known.insert(node.outputs.begin(), node.outputs.end());
    }
    trial.graph.outputs.push_back({});
    trial.graph.outputs.back().name = nodes.back().outputs[0];
    LoadOptions options;
    options.max_bytes = options_.max_bytes;
    return onnx::ImportModel(trial, options).status;
  }

  // Without what the importer says around it.
  static std::string Reason(const Status& status) {
    const std::string& text = status.message();
    const std::string frame = fmt::format("({}.", kGgmlDomain);
    const size_t at = text.find(frame), end = at == std::string::npos ? at : text.find("): ", at);
    return end == std::string::npos ? text : text.substr(end + 3);
  }

  Result<DumpGraph> Finish() {
    if (layers_ == 0) {
      return Status::NotSupported(fmt::format("manifest '{}': none of its layers is known: '{}' ({}): {}", source_,
                                              left_out_[0].name, left_out_[0].type, left_out_[0].reason));
    }
    std::set<std::string> read;
    for (const onnx::NodeIr& node : ir_.graph.nodes) read.insert(node.inputs.begin(), node.inputs.end());
    for (const onnx::NodeIr& node : ir_.graph.nodes) {
      if (read.count(node.outputs[0]) != 0) continue;
      ir_.graph.outputs.push_back({});
      ir_.graph.outputs.back().name = node.outputs[0];
    }
    for (const std::string& name : inputs_) {
      if (read.count(name) != 0 && !IsComputed(name)) ir_.graph.inputs.push_back(InputOf(nodes_[by_name_.at(name)]));
    }
    for (LayerLeftOut& layer : left_out_) layer.is_output = read.count(layer.name) == 0;
    LoadOptions load;
    load.evaluator = options_.evaluator;
    load.record = options_.record;
    load.max_bytes = options_.max_bytes;
    onnx::ImportResult imported = onnx::ImportModel(ir_, load);
    PLUMB_RETURN_IF_ERROR(imported.status);
    DumpGraph result;
    result.graph = std::move(imported.graph);
    result.graph.notes = {fmt::format("the graph is the dump's own: {} of ggml's operators as {} layers", layers_,
                                      result.graph.layers.size())};
    for (const std::string& name : computed_) result.types[name] = nodes_[by_name_.at(name)].blob->place.type;
    result.left_out = std::move(left_out_);
    return result;
  }

  const DumpReader& dump_;
  const LoadOptions& options_;
  std::string source_;
  std::vector<GgmlNode> nodes_;
  std::map<std::string, size_t> by_name_;
  onnx::ModelIr ir_;
  std::set<std::string> inputs_, computed_, reads_;
  std::map<std::string, Memory> memories_;  // that was written into, by its root
  std::vector<LayerLeftOut> left_out_;
  int layers_ = 0;
};

}  // namespace

Result<DumpGraph> LoadDumpGraph(const std::string& folder, const LoadOptions& options) {
  return CatchNoMemory(fmt::format("the graph of dump '{}'", folder), [&]() -> Result<DumpGraph> {
    PLUMB_ASSIGN_OR_RETURN(const DumpReader dump, DumpReader::Open(folder));
    return GgmlReader(dump, options).Read();
  });
}

}  // namespace plumb
