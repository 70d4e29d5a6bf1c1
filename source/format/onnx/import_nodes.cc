// SPDX-License-Identifier: Apache-2.0
// The nodes of one graph: sorted, mapped, and what they could not be mapped to.
#include <fmt/core.h>

#include <algorithm>
#include <queue>

#include "format/onnx/importer.h"
#include "plumb/tool/printing.h"

namespace plumb::onnx {
namespace {

void AddCaptured(const GraphIr& graph, std::set<std::string>* names);

// What the graphs inside a node read from around them (more than that: inner names are not told apart).
void AddCaptured(const NodeIr& node, std::set<std::string>* names) {
  for (const auto& entry : node.attributes) {
    if (entry.second.graph != nullptr) AddCaptured(*entry.second.graph, names);
  }
}

void AddCaptured(const GraphIr& graph, std::set<std::string>* names) {
  for (const NodeIr& node : graph.nodes) {
    names->insert(node.inputs.begin(), node.inputs.end());
    AddCaptured(node, names);
  }
  for (const ValueInfoIr& output : graph.outputs) names->insert(output.name);
}

// Attributes that no mapper reads because inference does not depend on them, the weights' shapes say the same, or the
// value is what is computed anyway; and those that mappers read only where they matter (allowzero: where a dim is 0).
bool ChangesNothing(const std::string& op, const std::string& attribute, const AttributeIr& value) {
  static const std::set<std::string> kAnywhere = {
      "kernel_shape", "hidden_size", "momentum", "seed", "is_test", "consumed_inputs", "noop_with_empty_axes"};
  static const std::set<std::pair<std::string, std::string>> kWhereTheyMatter = {
      {"Reshape", "allowzero"},       {"Resize", "cubic_coeff_a"},
      {"Resize", "exclude_outside"},  {"Resize", "extrapolation_value"},
      {"Resize", "nearest_mode"},     {"Resize", "antialias"},
      {"Split", "num_outputs"},       {"MaxPool", "storage_order"},
      {"Cast", "saturate"},           {"CastLike", "saturate"},
      {"QuantizeLinear", "saturate"},  // of 8-bit floats
      {"Cast", "round_mode"},         {"CastLike", "round_mode"},
      {"DequantizeLinear", "axis"},   {"QuantizeLinear", "axis"}};
  if (kAnywhere.count(attribute) != 0 || kWhereTheyMatter.count({op, attribute}) != 0) return true;
  constexpr int64_t kFloat = 1;  // ONNX's number of f32, in which everything is computed
  if (attribute == "stash_type" || attribute == "softmax_precision") return value.i == kFloat;
  if (attribute == "precision") return value.i == 0 || value.i == kFloat;
  if (attribute == "spatial") return value.i == 1;
  if (op.rfind("Random", 0) == 0) return true;  // what is drawn comes from outside
  return (op == "TopK" && attribute == "sorted") || (op == "Dropout" && attribute == "ratio");
}

// Whether it has outputs, but none of them has a name.
bool NobodyReads(const NodeIr& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [](const std::string& name) { return name.empty(); });
}

// Replaces attributes that stand for the function's own.
Result<NodeIr> WithFunctionAttributes(const NodeIr& node, const AttributeMap& given) {
  NodeIr copy = node;
  for (auto it = copy.attributes.begin(); it != copy.attributes.end();) {
    if (it->second.reference.empty()) {
      ++it;
      continue;
    }
    const auto found = given.find(it->second.reference);
    if (found == given.end()) {
      it = copy.attributes.erase(it);  // the function's caller left it out: the operator's default holds
    } else {
      it->second = found->second;
      ++it;
    }
  }
  return copy;
}

bool HasReferences(const NodeIr& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [](const auto& entry) { return !entry.second.reference.empty(); });
}

}  // namespace

Result<std::vector<const NodeIr*>> Importer::Sorted(const std::vector<NodeIr>& nodes, const Scope& scope) const {
  std::map<std::string, size_t> producer;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].outputs) {
      if (name.empty()) continue;
      if (!producer.emplace(name, i).second || scope.values.count(name) > 0) {
        return Status::CorruptModel(
            fmt::format("tensor '{}' is written twice; the second time by {}", name, Frame(nodes[i], scope)));
      }
    }
  }
  std::vector<int> waiting(nodes.size(), 0);
  std::vector<std::vector<size_t>> readers(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::set<std::string> reads(nodes[i].inputs.begin(), nodes[i].inputs.end());
    AddCaptured(nodes[i], &reads);
    for (const std::string& name : reads) {
      const auto it = producer.find(name);
      if (it == producer.end()) continue;
      if (it->second == i && std::count(nodes[i].inputs.begin(), nodes[i].inputs.end(), name) == 0) continue;
      readers[it->second].push_back(i);
      ++waiting[i];
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;  // the file's order where it is free
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<const NodeIr*> order;
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    order.push_back(&nodes[i]);
    for (const size_t reader : readers[i]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() == nodes.size()) return order;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waiting[i] > 0) return Status::CorruptModel("the graph has a cycle through " + Frame(nodes[i], scope));
  }
  return Status::Internal("the order of the nodes is lost");
}

std::string Importer::NodeName(const NodeIr& node, const Scope& scope) const { return scope.prefix + NameOf(node); }

std::string Importer::Frame(const NodeIr& node, const Scope& scope) const {
  if (model_.format != "ONNX") {
    const auto place = static_cast<size_t>(node.file_node);  // -1: in an inner graph
    const std::string& type = place < model_.file_nodes.size() ? model_.file_nodes[place].type : node.op_type;
    return fmt::format("node '{}' ({})", Printable(NodeName(node, scope)), Printable(type));
  }
  const auto opset = scope.opsets->find(node.domain);
  const std::string type = (node.domain.empty() ? "" : node.domain + ".") + node.op_type;
  return fmt::format("node '{}' ({}, opset {})", Printable(NodeName(node, scope)), Printable(type),
                     opset == scope.opsets->end() ? "?" : std::to_string(opset->second));
}

void Importer::Fail(const NodeIr& node, const Scope& scope, const Status& status) {
  errors_.push_back(status.AddContext(Frame(node, scope)).message());
  if (errors_.size() == 1 || status.code() == StatusCode::kCorruptModel) worst_ = status.code();
}

Status Importer::RunNodes(const std::vector<NodeIr>& nodes, Scope* scope) {
  auto known = orders_.find(&nodes);  // a body's order is the same in every step
  if (known == orders_.end()) {
    PLUMB_ASSIGN_OR_RETURN(std::vector<const NodeIr*> order, Sorted(nodes, *scope));
    known = orders_.emplace(&nodes, std::move(order)).first;
  }
  for (const NodeIr* node : known->second) {
    const size_t before = builder_.NumLayers();
    if (node->file_node >= 0) builder_.BeginFileNode(node->file_node);
    PLUMB_RETURN_IF_ERROR(RunNode(*node, scope));
    if (node->file_node >= 0) NoteTraces(*node, before, *scope);
  }
  return Status::Ok();
}

void Importer::NoteTraces(const NodeIr& node, size_t before, const Scope& scope) {
  FileNodeTraces& traces = traces_[node.file_node];
  traces.added = traces.added || builder_.NumLayers() > before;
  for (const std::string& output : node.outputs) {
    const Value* value = output.empty() ? nullptr : scope.Find(output);
    if (value == nullptr || value->failed()) continue;
    traces.gives = true;
    traces.known = traces.known && builder_.IsKnown(*value);
  }
}

void Importer::FillInnerInputs(FileNodes* filled) const {
  std::set<std::string> known;
  for (const ValueInfoIr& input : model_.graph.inputs) known.insert(input.name);
  for (const NodeIr& node : model_.graph.nodes) known.insert(node.outputs.begin(), node.outputs.end());
  for (const NodeIr& node : model_.graph.nodes) {
    if (node.file_node < 0) continue;
    std::set<std::string> names;
    AddCaptured(node, &names);
    for (const std::string& name : node.inputs) names.erase(name);
    std::vector<std::string>& inner = filled->nodes[static_cast<size_t>(node.file_node)].inner_inputs;
    for (const std::string& name : names) {
      if (!name.empty() && known.count(name) > 0) inner.push_back(name);
    }
  }
}

void Importer::FillFileNodes(FileNodes* filled) const {
  filled->format = model_.format;
  filled->nodes = model_.file_nodes;
  filled->of_layers = builder_.FileNodesOfLayers();
  FillInnerInputs(filled);
  const std::set<int> with_layers(filled->of_layers.begin(), filled->of_layers.end());
  for (size_t i = 0; i < filled->nodes.size(); ++i) {
    FileNodes::Node& node = filled->nodes[i];
    if (!options_.source_lines) node.source_line.clear();
    const auto found = traces_.find(static_cast<int>(i));
    const FileNodeTraces traces = found == traces_.end() ? FileNodeTraces() : found->second;
    node.fate = with_layers.count(static_cast<int>(i)) > 0 ? FileNodes::Fate::kLayers
                : traces.gives && traces.known             ? FileNodes::Fate::kFolded
                : traces.gives && !traces.added            ? FileNodes::Fate::kHandedOn
                                                           : FileNodes::Fate::kUnread;
  }
}

Status Importer::Count(const NodeIr& node, const Scope& scope) {
  constexpr size_t kOneMore = 1024;  // bytes of names that take as much as a node
  size_t names = scope.prefix.size() + node.name.size();
  for (const std::string& output : node.outputs) names += output.size();
  budget_->nodes += 1 + static_cast<int64_t>(names / kOneMore);
  if (!budget_->SpentNodes()) return Status::Ok();
  return Status::NotSupported(fmt::format(
      "functions, Loops and Scans make more than {} nodes and steps of the model, and {} would be the next; "
      "PLUMB_MAX_NODES=N raises that",
      budget_->max_nodes, Frame(node, scope)));
}

Result<bool> Importer::TakeInputs(const NodeIr& node, const Scope& scope, std::vector<Value>* inputs) const {
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      inputs->emplace_back();
      continue;
    }
    const Value* value = scope.Find(name);
    if (value == nullptr) {
      if (!errors_.empty()) return false;  // a node that failed may have been its producer
      return Status::CorruptModel(
          fmt::format("{} reads tensor '{}', which no node, input or initialiser defines", Frame(node, scope), name));
    }
    if (value->failed()) return false;
    inputs->push_back(*value);
  }
  return true;
}

Status Importer::RunNode(const NodeIr& original, Scope* scope) {
  NodeIr copy;
  const NodeIr* node = &original;
  if (scope->function_attributes != nullptr && HasReferences(original)) {
    PLUMB_ASSIGN_OR_RETURN(copy, WithFunctionAttributes(original, *scope->function_attributes));
    node = &copy;
  }
  ++nodes_;
  PLUMB_RETURN_IF_ERROR(Count(*node, *scope));
  if (const FunctionIr* function = FindFunction(*node)) return RunFunction(*node, *function, scope);
  if (node->domain.empty()) {
    if (node->op_type == "If") return RunIf(*node, scope);
    if (node->op_type == "Loop") return RunLoop(*node, scope);
    if (node->op_type == "Scan") return RunScan(*node, scope);
  }
  std::vector<Value> inputs;
  PLUMB_ASSIGN_OR_RETURN(const bool complete, TakeInputs(*node, *scope, &inputs));
  if (node->domain.empty() && scope->opsets->count("") == 0) {
    return Status::CorruptModel(Frame(*node, *scope) +
                                " is an operator of ONNX, but opset_import does not say of which opset");
  }
  const MapperRow* row = FindMapper(node->domain, node->op_type);
  if (row == nullptr || !complete) {
    if (row == nullptr) {
      const MapperRow* nearest = node->domain.empty() ? NearestMapper(node->op_type) : nullptr;
      const std::string hint = nearest == nullptr ? "express it with operators that doc/formats.md lists"
                                                  : std::string("the nearest that is supported is ") + nearest->op_type;
      Fail(*node, *scope, Status::NotSupported("Plumb has no such operator; " + hint));
    } else {
      for (const std::string& name : node->inputs) {
        const Value* value = name.empty() ? nullptr : scope->Find(name);
        const auto constant = model_.graph.constants.find(name);
        if (value != nullptr && !value->present() && constant != model_.graph.constants.end() &&
            !constant->second.why.empty()) {
          Fail(*node, *scope,
               Status::NotSupported(fmt::format("reads initialiser '{}': {}", name, constant->second.why)));
        }
      }
    }
    scope->FailOutputs(*node);
    return Status::Ok();
  }
  return RunMapped(*node, inputs, scope);
}

Status Importer::RunMapped(const NodeIr& node, const std::vector<Value>& inputs, Scope* scope) {
  const MapperRow* row = FindMapper(node.domain, node.op_type);
  if (NobodyReads(node) && CheckArity(row->arity, node, inputs).ok()) return Status::Ok();
  const auto opset = scope->opsets->find(node.domain);
  builder_.BeginNode(NodeName(node, *scope), options_.source_lines ? node.source_line : "");
  NodeContext context(node, opset == scope->opsets->end() ? 7 : std::max(opset->second, 7), inputs, &builder_);
  const size_t before = builder_.NumLayers();
  Status status = CheckArity(row->arity, node, inputs);
  if (status.ok()) status = row->mapper(context);
  const Status attributes = context.CheckAttributes();
  if (!attributes.ok()) status = attributes;
  if (!status.ok()) {
    Fail(node, *scope, status);
    needed_.insert(context.needed_inputs().begin(), context.needed_inputs().end());
  }
  for (const auto& [id, text] : context.warnings()) {
    notes_.push_back(fmt::format("warning {}: {} {}", id, Frame(node, *scope), text));
  }
  for (const std::string& name : status.ok() ? context.UnreadAttributes() : std::vector<std::string>()) {
    if (ChangesNothing(node.op_type, name, node.attributes.at(name))) continue;
    unknown_attributes_.push_back(name);
    notes_.push_back(fmt::format(
        "warning AL12: {} has the attribute '{}', which the import does not know: computed as if it were not there",
        Frame(node, *scope), name));
  }
  CountLayers(node, before);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const Value value = status.ok() ? builder_.HandOn(context.outputs()[i]) : Value::Failed();
    if (status.ok() && !value.present())
      Fail(node, *scope, Status::NotSupported(fmt::format("output {} is not computed", i)));
    SetOutput(node, i, value.present() ? value : Value::Failed(), scope);
  }
  return Status::Ok();
}

void Importer::CountLayers(const NodeIr& node, size_t before) {
  const size_t added = builder_.NumLayers() - before;
  if (added == 0) {
    ++folded_;
    ++changes_["folded away: " + node.op_type];
  } else if (added > 1) {
    ++decomposed_;
    std::string types;
    for (size_t i = 0; i < std::min<size_t>(added, 8); ++i)
      types += (i == 0 ? "" : " + ") + builder_.TypeAt(before + i);
    if (added > 8) types += fmt::format(" + ... ({} layers)", added);
    ++changes_[fmt::format("decomposed: {} -> {}", node.op_type, types)];
  }
}

void Importer::SetOutput(const NodeIr& node, size_t i, const Value& value, Scope* scope) {
  if (node.outputs[i].empty()) return;
  scope->values[node.outputs[i]] = value;
  const std::string name = scope->prefix + node.outputs[i];
  builder_.NoteType(value);
  if (value.blob >= 0) builder_.Rename(value, NodeName(node, *scope) + "/", name);
}

}  // namespace plumb::onnx
