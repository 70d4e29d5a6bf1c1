// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/graph_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "format/onnx/node_context.h"
#include "graph/file_order.h"
#include "graph/resources.h"

namespace plumb::tflite {
namespace {

constexpr int kFewestTurned = 4;  // dims

std::vector<int> Plain(int rank) {
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::vector<int> AxesOf(Order order, int rank) { return order == Order::kFirst ? FirstAxes(rank) : Plain(rank); }

onnx::AttributeIr PermAttribute(const std::vector<int>& order) {
  return IntsAttribute(std::vector<int64_t>(order.begin(), order.end()));
}

// What turns a value whose axes are `from` of the file's into one whose axes are `to` of the file's.
std::vector<int> Between(const std::vector<int>& from, const std::vector<int>& to) {
  std::vector<int> turn;
  for (const int axis : to) turn.push_back(static_cast<int>(std::find(from.begin(), from.end(), axis) - from.begin()));
  return turn;
}

}  // namespace

std::vector<int> FirstAxes(int rank) {
  std::vector<int> axes = Plain(rank);
  if (rank >= kFewestTurned) std::rotate(axes.begin() + 1, axes.end() - 1, axes.end());
  return axes;
}

std::vector<int> LastAxes(int rank) {
  std::vector<int> axes = Plain(rank);
  if (rank >= kFewestTurned) std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return axes;
}

onnx::AttributeIr IntAttribute(int64_t value) {
  onnx::AttributeIr attribute;
  attribute.kind = onnx::AttributeIr::kInt;
  attribute.i = value;
  return attribute;
}

onnx::AttributeIr IntsAttribute(std::vector<int64_t> values) {
  onnx::AttributeIr attribute;
  attribute.kind = onnx::AttributeIr::kInts;
  attribute.ints = std::move(values);
  return attribute;
}

onnx::AttributeIr FloatAttribute(float value) {
  onnx::AttributeIr attribute;
  attribute.kind = onnx::AttributeIr::kFloat;
  attribute.f = value;
  return attribute;
}

onnx::AttributeIr TextAttribute(const std::string& value) {
  onnx::AttributeIr attribute;
  attribute.kind = onnx::AttributeIr::kString;
  attribute.s = value;
  return attribute;
}

Status GraphWriter::Begin() {
  const size_t count = graph_.tensors() == nullptr ? 0 : graph_.tensors()->size();
  tensors_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const schema::Tensor& tensor = TensorAt(static_cast<int>(i));
    State& state = tensors_[i];
    state.name = prefix_ + Text(tensor.name());
    if (state.name.empty() || !names_.insert(state.name).second) state.name += fmt::format("#{}", i);
    names_.insert(state.name);
    state.rank = ShapeOf(tensor).rank();
    const Result<int> type = ElementTypeOf(tensor.type());
    state.type = type.ok() ? *type : onnx::kTypeUnknown;
    state.constant = !tensor.is_variable() && !file_.Data(tensor.buffer()).empty();
  }
  for (size_t i = 0; graph_.outputs() != nullptr && i < graph_.outputs()->size(); ++i)
    At(graph_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i))).output = true;
  return Status::Ok();
}

bool GraphWriter::IsQuantized(int tensor) const {
  switch (TensorAt(tensor).type()) {
    case schema::TensorType::INT8:
    case schema::TensorType::UINT8:
    case schema::TensorType::INT16:
    case schema::TensorType::INT4:
    case schema::TensorType::UINT4:
    case schema::TensorType::INT2: return !GridOf(TensorAt(tensor)).none();
    default: return false;
  }
}

// A buffer of no bytes may be the value of a tensor without elements.
bool GraphWriter::IsConstant(int tensor) const {
  const State& state = tensors_[static_cast<size_t>(tensor)];
  return state.constant || (!state.defined && ShapeOf(TensorAt(tensor)).NumElements() == 0);
}

Status GraphWriter::Read(int tensor) {
  State& state = At(tensor);
  if (!state.value.empty()) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const onnx::ConstantIr constant, ReadConstant(file_, TensorAt(tensor), budget_.skip_weights));
  state.value = constant.value;
  PLUMB_RETURN_IF_ERROR(Spend(constant.value.bytes()));
  return BlocksOf(TensorAt(tensor)) == nullptr ? Status::Ok() : ReadBlocks(tensor);
}

// Weights with scales of blocks are the reals that they stand for.
Status GraphWriter::ReadBlocks(int tensor) {
  State& state = At(tensor);
  const schema::BlockwiseQuantization& blocks = *BlocksOf(TensorAt(tensor));
  const auto count = static_cast<int>(tensors_.size());
  const auto read = [&](int index, const char* what) -> Result<Tensor> {
    if (index >= 0 && index < count && index != tensor && IsConstant(index) && BlocksOf(TensorAt(index)) == nullptr)
      return ValueOf(index);
    return Status::CorruptModel(
        fmt::format("the {} of its blocks are tensor {} of {}, expected a constant", what, index, count));
  };
  PLUMB_ASSIGN_OR_RETURN(const Tensor scales, read(blocks.scales(), "scales"));
  Tensor zero_points;
  if (blocks.zero_points() > 0) {  // 0 is what a file says that has none
    PLUMB_ASSIGN_OR_RETURN(zero_points, read(blocks.zero_points(), "zero points"));
  }
  const int64_t row = state.rank == 0 ? 1 : ShapeOf(TensorAt(tensor))[state.rank - 1];
  const int64_t rows = row == 0 ? 0 : state.value.NumElements() / row;
  if (rows == 0 || blocks.block_size() < 1 || row % blocks.block_size() != 0 ||
      scales.NumElements() != rows * (row / blocks.block_size())) {
    return Status::CorruptModel(fmt::format("it is {} with {} scales of blocks of {}",
                                            ShapeOf(TensorAt(tensor)).ToString(), scales.NumElements(),
                                            blocks.block_size()));
  }
  PLUMB_RETURN_IF_ERROR(Spend(static_cast<uint64_t>(state.value.NumElements()) * sizeof(float)));
  PLUMB_ASSIGN_OR_RETURN(state.value, DequantizedBlocks(state.value, scales, zero_points));
  state.type = onnx::kTypeFloat;
  return Status::Ok();
}

Status GraphWriter::Spend(uint64_t bytes) {
  if (bytes > budget_.bytes)
    return Status::NotSupported("the file's subgraphs become constants of more than 64 times its size");
  budget_.bytes -= bytes;
  return Status::Ok();
}

Result<Tensor> GraphWriter::TurnedConstant(const State& state, const std::vector<int>& order) {
  if (order == Plain(state.rank)) return state.value;
  const Shape& shape = state.value.shape();
  if (budget_.skip_weights && IsSkippedWeight(state.value.dtype(), shape)) {
    std::vector<int64_t> dims;
    for (const int axis : order) dims.push_back(shape[axis]);
    return UntouchedZeros(state.value.dtype(), Shape(dims));
  }
  PLUMB_RETURN_IF_ERROR(Spend(state.value.bytes()));
  return Reordered(state.value, order);
}

Result<Tensor> GraphWriter::ValueOf(int tensor) {
  if (!IsConstant(tensor))
    return Status::NotSupported(fmt::format("tensor '{}' is known only when the network runs", NameOf(tensor)));
  PLUMB_RETURN_IF_ERROR(Read(tensor).AddContext(fmt::format("tensor {} '{}'", tensor, NameOf(tensor))));
  return At(tensor).value;
}

Status GraphWriter::DefineInput(int tensor, const std::string& value) {
  State& state = At(tensor);
  if (state.defined || state.constant)
    return Status::CorruptModel(fmt::format("tensor {} '{}' is an input and defined again", tensor, state.name));
  state.defined = true;
  state.values[{false, Plain(state.rank)}] = value;
  return Status::Ok();
}

void GraphWriter::DefineConstant(int tensor, const Tensor& value, int type) {
  State& state = At(tensor);
  state.constant = true;
  state.value = value;
  state.type = type;
}

// A constant is turned here, anything else by a Transpose of the value that it is held as.
Result<std::string> GraphWriter::Turned(int tensor, bool real, const std::vector<int>& order) {
  State& state = At(tensor);
  const auto known = state.values.find({real, order});
  if (known != state.values.end()) return known->second;
  std::string value;
  if (real && IsQuantized(tensor)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string raw, Turned(tensor, false, order));
    PLUMB_ASSIGN_OR_RETURN(value, DequantizeAt(tensor, raw, order));
  } else if (real) {
    PLUMB_ASSIGN_OR_RETURN(value, Turned(tensor, false, order));
  } else if (IsConstant(tensor)) {
    PLUMB_RETURN_IF_ERROR(Read(tensor).AddContext(fmt::format("tensor {} '{}'", tensor, state.name)));
    PLUMB_ASSIGN_OR_RETURN(const Tensor turned, TurnedConstant(state, order));
    value = Constant(turned, state.type, state.name);
  } else if (state.defined) {
    const std::vector<int> held = AxesOf(state.order, state.rank);
    const auto from = state.values.find({false, held});
    value = Emit("Transpose", {from->second}, {{"perm", PermAttribute(Between(held, order))}});
  } else {
    return Status::CorruptModel(
        fmt::format("it reads tensor {} '{}', which no input, buffer or earlier operator defines", tensor, state.name));
  }
  state.values[{real, order}] = value;
  views_.insert(value);
  return value;
}

Result<std::string> GraphWriter::DequantizeAt(int tensor, const std::string& raw, const std::vector<int>& order) {
  const Grid grid = GridOf(TensorAt(tensor));
  const bool one = grid.scale.size() == 1;
  PLUMB_ASSIGN_OR_RETURN(const std::string scale, Floats(grid.scale, one));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, onnx::IntTensor(grid.zero_point));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zero, one ? zeros.Reshaped(Shape{}) : Result<Tensor>(zeros));
  const auto axis = std::find(order.begin(), order.end(), grid.axis) - order.begin();
  onnx::AttributeMap attributes;
  if (!one) attributes["axis"] = IntAttribute(axis);
  return Emit("DequantizeLinear", {raw, scale, Constant(zero, TypeOf(tensor), "zero_point")}, attributes);
}

Result<std::string> GraphWriter::Dequantized(int tensor, const std::vector<float>& scale) {
  PLUMB_ASSIGN_OR_RETURN(const std::string raw, Raw(tensor, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string scales, Floats(scale, scale.size() == 1));
  onnx::AttributeMap attributes;
  if (scale.size() != 1) attributes["axis"] = IntAttribute(0);
  return Emit("DequantizeLinear", {raw, scales}, attributes);
}

Result<std::string> GraphWriter::Raw(int tensor, Order order, int rank) {
  const int own = RankOf(tensor);
  if (rank <= own) return Turned(tensor, false, AxesOf(order, own));
  PLUMB_ASSIGN_OR_RETURN(std::string value, Turned(tensor, false, Plain(own)));
  if (own > 0) {
    std::vector<int64_t> axes(static_cast<size_t>(rank - own));
    std::iota(axes.begin(), axes.end(), 0);
    PLUMB_ASSIGN_OR_RETURN(const std::string leading, Ints(axes));
    value = Emit("Unsqueeze", {value, leading});
    return InOrder(value, Order::kFile, order, rank);
  }
  return value;
}

Result<std::string> GraphWriter::Real(int tensor, Order order, int rank) {
  const int own = RankOf(tensor);
  if (rank <= own || own == 0) return Turned(tensor, true, AxesOf(order, own));
  PLUMB_ASSIGN_OR_RETURN(std::string value, Turned(tensor, true, Plain(own)));
  std::vector<int64_t> axes(static_cast<size_t>(rank - own));
  std::iota(axes.begin(), axes.end(), 0);
  PLUMB_ASSIGN_OR_RETURN(const std::string leading, Ints(axes));
  return InOrder(Emit("Unsqueeze", {value, leading}), Order::kFile, order, rank);
}

Result<std::string> GraphWriter::RealTurned(int tensor, const std::vector<int>& order) {
  if (static_cast<int>(order.size()) != RankOf(tensor)) {
    return Status::CorruptModel(fmt::format("tensor {} '{}' is {}, expected {} dims", tensor, NameOf(tensor),
                                            ShapeOf(TensorAt(tensor)).ToString(), order.size()));
  }
  return Turned(tensor, true, order);
}

Result<std::string> GraphWriter::InOrder(const std::string& value, Order from, Order to, int rank) {
  if (from == to || rank < kFewestTurned) return value;
  return Emit("Transpose", {value}, {{"perm", PermAttribute(to == Order::kFirst ? FirstAxes(rank) : LastAxes(rank))}});
}

std::string GraphWriter::Unique(const std::string& stem) {
  std::string name = stem;
  for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

std::vector<std::string> GraphWriter::EmitMany(const std::string& type, const std::vector<std::string>& inputs,
                                               size_t outputs, onnx::AttributeMap attributes) {
  onnx::NodeIr node;
  node.name = operator_;
  node.op_type = type;
  node.inputs = inputs;
  node.attributes = std::move(attributes);
  node.file_node = file_node_;
  for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(Unique(fmt::format("{}/{}", operator_, type)));
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

std::string GraphWriter::Emit(const std::string& type, const std::vector<std::string>& inputs,
                              onnx::AttributeMap attributes) {
  return EmitMany(type, inputs, 1, std::move(attributes))[0];
}

std::string GraphWriter::EmitOwn(const std::string& type, const std::vector<std::string>& inputs,
                                 onnx::AttributeMap attributes) {
  return EmitOwnMany(type, inputs, 1, std::move(attributes))[0];
}

std::vector<std::string> GraphWriter::EmitOwnMany(const std::string& type, const std::vector<std::string>& inputs,
                                                  size_t outputs, onnx::AttributeMap attributes) {
  std::vector<std::string> names = EmitMany(type, inputs, outputs, std::move(attributes));
  nodes_.back().domain = kOwnDomain;
  return names;
}

std::string GraphWriter::Constant(const Tensor& value, int type, const std::string& stem) {
  const bool own = constants_.count(stem) == 0 && names_.count(stem) > 0;  // a tensor's own name
  std::string name = own ? stem : Unique(fmt::format("{}/{}", operator_, stem));
  constants_[name] = {value, type, ""};
  return name;
}

Result<std::string> GraphWriter::Ints(const std::vector<int64_t>& values, bool scalar) {
  PLUMB_RETURN_IF_ERROR(Spend(values.size() * sizeof(int64_t)));
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, onnx::IntTensor(values));
  if (scalar) {
    PLUMB_ASSIGN_OR_RETURN(tensor, tensor.Reshaped(Shape{}));
  }
  return Constant(tensor, onnx::kTypeInt64);
}

Result<std::string> GraphWriter::Floats(const std::vector<float>& values, bool scalar) {
  PLUMB_RETURN_IF_ERROR(Spend(values.size() * sizeof(float)));
  const Shape shape = scalar ? Shape{} : Shape{static_cast<int64_t>(values.size())};
  PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::Create(DType::kF32, shape));
  std::copy(values.begin(), values.end(), const_cast<Tensor&>(tensor).data<float>());
  return Constant(tensor, onnx::kTypeFloat);
}

void GraphWriter::Append(onnx::GraphIr graph) {
  for (onnx::NodeIr& node : graph.nodes) {
    node.file_node = file_node_;
    nodes_.push_back(std::move(node));
  }
  constants_.merge(std::move(graph.constants));
}

void GraphWriter::Rename(const std::string& from, const std::string& to) {
  for (size_t i = first_node_; i < nodes_.size(); ++i) {
    std::replace(nodes_[i].outputs.begin(), nodes_[i].outputs.end(), from, to);
    std::replace(nodes_[i].inputs.begin(), nodes_[i].inputs.end(), from, to);
  }
}

Status GraphWriter::Set(int tensor, const std::string& value, Order order) {
  if (tensor < 0 || !IsQuantized(tensor)) return SetRaw(tensor, value, order);
  PLUMB_ASSIGN_OR_RETURN(const std::string integers, Quantised(tensor, value));
  return SetRaw(tensor, integers, order);
}

Result<std::string> GraphWriter::OnGrid(int tensor, const std::string& value) {
  PLUMB_ASSIGN_OR_RETURN(const std::string integers, Quantised(tensor, value));
  return DequantizeAt(tensor, integers, Plain(RankOf(tensor)));
}

Result<std::string> GraphWriter::Quantised(int tensor, const std::string& value) {
  const Grid grid = GridOf(TensorAt(tensor));
  if (grid.scale.size() != 1) {
    return Status::NotSupported(fmt::format("it quantises '{}' with {} scales; one is supported for what is computed",
                                            NameOf(tensor), grid.scale.size()));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string scale, Floats(grid.scale, true));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, onnx::IntTensor(grid.zero_point));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zero, zeros.Reshaped(Shape{}));
  return Emit("QuantizeLinear", {value, scale, Constant(zero, TypeOf(tensor), "zero_point")});
}

Status GraphWriter::SetRaw(int tensor, const std::string& value, Order order) {
  if (tensor < 0) return Status::Ok();  // an output that nobody wants
  State& state = At(tensor);
  if (state.defined || state.constant)
    return Status::CorruptModel(fmt::format("tensor {} '{}' is written twice", tensor, state.name));
  state.defined = true;
  state.order = state.rank >= kFewestTurned && !state.output ? order : Order::kFile;
  std::string own = value;
  if (state.rank >= kFewestTurned && order != state.order) {
    state.values[{false, FirstAxes(state.rank)}] = value;
    PLUMB_ASSIGN_OR_RETURN(own, InOrder(value, order, state.order, state.rank));
  }
  const auto made = [&own](const onnx::NodeIr& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), own) != node.outputs.end();
  };
  const auto first = nodes_.begin() + static_cast<std::ptrdiff_t>(first_node_);
  if (views_.count(own) > 0 || std::none_of(first, nodes_.end(), made)) own = Emit("Identity", {own});
  Rename(own, state.name);
  state.values[{false, AxesOf(state.order, state.rank)}] = state.name;
  return Status::Ok();
}

Result<onnx::GraphIr> GraphWriter::Finish() {
  onnx::GraphIr graph;
  BeginOperator("output");
  for (size_t i = 0; graph_.outputs() != nullptr && i < graph_.outputs()->size(); ++i) {
    const int tensor = graph_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    onnx::ValueInfoIr info;
    PLUMB_ASSIGN_OR_RETURN(info.name, Raw(tensor, Order::kFile));
    info.type = TypeOf(tensor);
    graph.outputs.push_back(std::move(info));
  }
  graph.nodes = std::move(nodes_);
  graph.constants = std::move(constants_);
  return graph;
}

std::map<std::string, int> GraphWriter::HeldFirst() const {
  std::map<std::string, int> held;
  for (const State& state : tensors_) {
    if (state.defined && state.order == Order::kFirst) held[state.name] = state.rank;
  }
  return held;
}

}  // namespace plumb::tflite
