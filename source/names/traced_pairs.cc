// SPDX-License-Identifier: Apache-2.0
#include "names/traced_pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "names/blocked.h"
#include "op/core/strided.h"
#include "plumb/inputs.h"

namespace plumb {
namespace {

constexpr int kTraces = 6;
constexpr size_t kMaxTurned = 4096;  // candidates, of which each costs a look at its elements
constexpr const char* kTurned = "the same formula, its axes in another order";

Result<Cells> CellsOfInput(size_t place, const Shape& shape) {
  const Cell input = MixCells(CellOfText("network input"), place);
  return CellsWhere(shape, 1, [=](int64_t i) { return MixCells(input, static_cast<Cell>(i)); });
}

// The same input under the other graph's shape; empty: it is another.
Result<Tensor> UnderShape(const Tensor& input, const Shape& shape) {
  for (const std::vector<int>& order : {std::vector<int>{0, 2, 3, 1}, {0, 3, 1, 2}}) {
    if (input.shape() == shape || shape.rank() != 4 || input.shape().rank() != 4) break;
    Shape turned = shape;
    for (int i = 0; i < 4; ++i) turned[i] = input.shape()[order[static_cast<size_t>(i)]];
    if (turned == shape) return ApplyMap(Transposed(input.shape().dims(), order, shape), input);
  }
  return input.NumElements() == shape.NumElements() ? input.Reshaped(shape) : Tensor();
}

std::vector<int64_t> DimsBeyondOne(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  dims.erase(std::remove(dims.begin(), dims.end(), 1), dims.end());
  return dims;
}

std::vector<int64_t> SortedDims(const Shape& shape) {
  std::vector<int64_t> dims = DimsBeyondOne(shape);
  std::sort(dims.begin(), dims.end());
  return dims;
}

// Whether y is x with its axes in another order.
Result<bool> IsTurned(const Cells& x, const Cells& y) {
  const Shape shape(DimsBeyondOne(x.shape()));
  constexpr int kMaxRank = 5;
  if (shape.rank() > kMaxRank) return false;
  std::vector<int> order(shape.dims().size());
  std::iota(order.begin(), order.end(), 0);
  PLUMB_ASSIGN_OR_RETURN(const Tensor dense, x.cells.Reshaped(shape));
  do {
    Shape turned = shape;
    for (int i = 0; i < shape.rank(); ++i) turned[i] = shape[order[static_cast<size_t>(i)]];
    if (turned.dims() != DimsBeyondOne(y.shape())) continue;
    PLUMB_ASSIGN_OR_RETURN(const Tensor cells, ApplyMap(Transposed(shape.dims(), order, turned), dense));
    if (std::equal(y.data(), y.data() + y.count(), cells.data<Cell>())) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

const onnx::ValueInfoIr* InputOf(const onnx::ModelIr& model, const std::string& name) {
  const auto found = std::find_if(model.graph.inputs.begin(), model.graph.inputs.end(),
                                  [&](const onnx::ValueInfoIr& input) { return input.name == name; });
  return found == model.graph.inputs.end() ? nullptr : &*found;
}

// Whether the other graph fixes the dims that the model leaves open.
bool TakesDims(const onnx::ValueInfoIr& model, const onnx::ValueInfoIr& other) {
  if (!other.has_shape || other.dims.size() != model.dims.size()) return false;
  for (size_t i = 0; i < other.dims.size(); ++i) {
    if (other.dims[i] <= 0 || (model.dims[i] > 0 && model.dims[i] != other.dims[i])) return false;
  }
  return true;
}

// The first that can be imported of a file's graphs, with the shapes or without (what another graph fixes may be a
// place holder, with which nothing runs), last the first one up to its loops. The error of the very first.
Result<PlainGraph> ReadSomehow(const std::string& path, const std::vector<const onnx::ModelIr*>& models,
                               const std::map<std::string, Shape>& shapes) {
  Status first;
  const auto read = [&](const onnx::ModelIr& model, const std::map<std::string, Shape>& given) {
    auto plain = ReadPlainGraph(path, model, given);
    if (!plain.ok() && first.ok()) first = plain.status();
    return plain;
  };
  onnx::ModelIr straight = WithoutLoops(*models[0]);
  std::vector<const onnx::ModelIr*> all = models;
  if (straight.graph.nodes.size() < models[0]->graph.nodes.size()) all.push_back(&straight);
  for (const onnx::ModelIr* model : all) {
    auto plain = read(*model, shapes);
    if (!plain.ok() && !shapes.empty()) plain = read(*model, {});
    if (plain.ok()) return plain;
  }
  return first;
}

}  // namespace

Status TracedPairs::Read(const std::string& a, const std::string& b, const NameModel& model, const NameModel& other) {
  std::map<std::string, Shape> fixed, shapes;
  for (const auto& [theirs, ours] : walk_->pairs()) {
    const onnx::ValueInfoIr *x = InputOf(model.ir, ours), *y = InputOf(other.ir, theirs);
    if (x != nullptr && y != nullptr && TakesDims(*x, *y)) fixed[ours] = Shape(y->dims);
  }
  PLUMB_ASSIGN_OR_RETURN(plain_a_, ReadSomehow(a, {&model.ir}, fixed));
  for (const GraphInput& input : plain_a_.graph.inputs) {
    for (const auto& [theirs, ours] : walk_->pairs()) {
      if (ours == input.name) shapes[theirs] = input.shape;
    }
  }
  // Without the zeros that fill blocks; they stay where an operator between the blocks counts on them.
  onnx::ModelIr taken = other.ir;
  TakeBlockedWeights(model.ir, &taken);
  PLUMB_ASSIGN_OR_RETURN(plain_b_, ReadSomehow(b, {&taken, &other.ir}, shapes));
  return PrepareCells();
}

Status TracedPairs::Run() {
  for (int i = 0; i < kTraces; ++i) {
    PLUMB_RETURN_IF_ERROR(Trace({}));
    Match();
    walk_->Grow();
    const size_t before = forced_.size();
    for (const auto& [theirs, ours] : walk_->pairs()) Force(theirs, ours);
    if (forced_.size() == before) break;
  }
  return Status::Ok();
}

Status TracedPairs::FindTurned() {
  std::map<std::pair<Cell, std::vector<int64_t>>, std::vector<std::string>> model;
  for (const std::string& name : a_.tensors) {
    const auto mark = marks_a_.find(plain_a_.BlobOf(name));
    if (mark != marks_a_.end()) model[{mark->second.any_order, SortedDims(mark->second.shape)}].push_back(name);
  }
  std::vector<std::pair<std::string, std::string>> candidates;
  std::set<std::string> kept_b;
  for (const std::string& name : b_.tensors) {
    const auto mark = marks_b_.find(plain_b_.BlobOf(name));
    if (mark == marks_b_.end() || walk_->PartnerOf(name) != nullptr || again_.count(name) > 0) continue;
    for (const std::string& one : model[{mark->second.any_order, SortedDims(mark->second.shape)}]) {
      if (candidates.size() == kMaxTurned) break;
      candidates.emplace_back(one, name);
      kept_.insert(plain_a_.BlobOf(one));
      kept_b.insert(plain_b_.BlobOf(name));
    }
  }
  if (candidates.empty()) return Status::Ok();
  PLUMB_RETURN_IF_ERROR(Trace(kept_b));
  for (const auto& [ours, theirs] : candidates) {
    const Cells &x = cells_a_.at(plain_a_.BlobOf(ours)), &y = cells_b_.at(plain_b_.BlobOf(theirs));
    PLUMB_ASSIGN_OR_RETURN(const bool turned, IsTurned(x, y));
    if (turned && walk_->PartnerOf(theirs) == nullptr && !walk_->Pair(ours, theirs, kTurned))
      again_.emplace(theirs, ours);
  }
  return Status::Ok();
}

Status TracedPairs::RunBoth(const std::set<std::string>& left, std::vector<ValuedTensor>* model,
                            std::vector<ValuedTensor>* other) const {
  std::set<int64_t> counts;
  for (const std::string& name : left) {
    const auto info = plain_b_.blobs.find(plain_b_.BlobOf(name));
    if (info != plain_b_.blobs.end()) counts.insert(info->second.shape.NumElements());
  }
  std::vector<std::map<std::string, Tensor>> inputs_a, inputs_b;
  for (const uint64_t seed : {1, 2}) {
    InputOptions options;
    options.seed = seed;
    PLUMB_ASSIGN_OR_RETURN(const NetworkInputs drawn, PrepareInputs(options, plain_a_.graph, plain_a_.blobs));
    inputs_a.push_back(drawn.values);
    PLUMB_ASSIGN_OR_RETURN(inputs_b.emplace_back(), InputsOfOther(drawn.values));
  }
  PLUMB_ASSIGN_OR_RETURN(*model, RunForValues(plain_a_, a_.tensors, counts, inputs_a));
  PLUMB_ASSIGN_OR_RETURN(*other, RunForValues(plain_b_, b_.tensors, counts, inputs_b));
  return Status::Ok();
}

Result<std::map<std::string, Tensor>> TracedPairs::InputsOfOther(const std::map<std::string, Tensor>& model) const {
  std::map<std::string, Tensor> inputs;
  for (const GraphInput& input : plain_b_.graph.inputs) {
    const std::string* partner = walk_->PartnerOf(input.name);
    const auto value = partner == nullptr ? model.end() : model.find(*partner);
    Tensor& made = inputs[input.name];
    if (value != model.end()) {
      PLUMB_ASSIGN_OR_RETURN(made, UnderShape(value->second, input.shape));
    }
    if (made.empty())
      return Status::InvalidArgument(
          fmt::format("the network input '{}' of the other graph is none of the model's", input.name));
    PLUMB_ASSIGN_OR_RETURN(made, made.ConvertedTo(input.dtype));
  }
  return inputs;
}

Status TracedPairs::PrepareCells() {
  for (size_t i = 0; i < plain_a_.graph.inputs.size(); ++i) {
    const GraphInput& input = plain_a_.graph.inputs[i];
    PLUMB_ASSIGN_OR_RETURN(given_a_[input.name], CellsOfInput(i, input.shape));
  }
  for (size_t i = 0; i < plain_b_.graph.inputs.size(); ++i) {
    const GraphInput& input = plain_b_.graph.inputs[i];
    const std::string* partner = walk_->PartnerOf(input.name);
    const auto known = partner == nullptr ? given_a_.end() : given_a_.find(*partner);
    Cells& cells = given_b_[input.name];
    if (known != given_a_.end()) {
      PLUMB_ASSIGN_OR_RETURN(cells.cells, UnderShape(known->second.cells, input.shape));
    }
    if (!cells.cells.empty()) continue;
    PLUMB_ASSIGN_OR_RETURN(cells, CellsOfInput(plain_a_.graph.inputs.size() + i, input.shape));
  }
  return Status::Ok();
}

Status TracedPairs::Trace(const std::set<std::string>& kept_b) {
  ConstantTable constants;
  NameTrace trace_a(plain_a_.graph, plain_a_.blobs, &constants);
  PLUMB_RETURN_IF_ERROR(trace_a.Run(given_a_, kept_));
  constants.BeginSecond();
  std::map<std::string, Cells> given = given_b_;
  for (const auto& [theirs, ours] : forced_) {
    const auto cells = trace_a.kept().find(ours);
    if (cells != trace_a.kept().end()) given[theirs] = cells->second;
  }
  NameTrace trace_b(plain_b_.graph, plain_b_.blobs, &constants);
  PLUMB_RETURN_IF_ERROR(trace_b.Run(given, kept_b));
  marks_a_ = trace_a.marks();
  marks_b_ = trace_b.marks();
  for (const auto& [traced, cells] : {std::pair(&trace_a, &cells_a_), {&trace_b, &cells_b_}}) {
    cells->clear();
    for (const auto& [blob, kept] : traced->kept()) {
      PLUMB_ASSIGN_OR_RETURN((*cells)[blob], Baked(kept, &constants));
    }
  }
  return Status::Ok();
}

void TracedPairs::Match() {
  std::map<std::pair<Cell, int64_t>, std::vector<std::string>> model;
  for (const std::string& name : a_.tensors) {
    const auto mark = marks_a_.find(plain_a_.BlobOf(name));
    if (mark != marks_a_.end()) model[{mark->second.ordered, mark->second.count}].push_back(name);
  }
  for (const std::string& name : b_.tensors) {
    const auto mark = marks_b_.find(plain_b_.BlobOf(name));
    if (mark == marks_b_.end() || b_.foreign.count(name) > 0 || walk_->PartnerOf(name) != nullptr) continue;
    const auto same = model.find({mark->second.ordered, mark->second.count});
    if (same != model.end()) Take(name, mark->second.shape, same->second);
  }
}

void TracedPairs::Take(const std::string& name, const Shape& shape, const std::vector<std::string>& model) {
  const auto shaped = [&](const std::string& one) { return marks_a_.at(plain_a_.BlobOf(one)).shape == shape; };
  std::vector<std::string> order = model;
  std::stable_sort(order.begin(), order.end(), [&](const std::string& x, const std::string& y) {
    return std::pair(shaped(x), x == name) > std::pair(shaped(y), y == name);
  });
  for (const std::string& one : order) {
    if (walk_->Pair(one, name, kSameFormula)) return;
  }
  again_.emplace(name, order[0]);
}

void TracedPairs::Force(const std::string& theirs, const std::string& ours) {
  const std::string blob_a = plain_a_.BlobOf(ours), blob_b = plain_b_.BlobOf(theirs);
  const auto a = marks_a_.find(blob_a), b = marks_b_.find(blob_b);
  if (a == marks_a_.end() || b == marks_b_.end() || a->second.ordered == b->second.ordered) return;
  if (DimsBeyondOne(a->second.shape) != DimsBeyondOne(b->second.shape)) return;
  kept_.insert(blob_a);
  forced_[blob_b] = blob_a;
}

}  // namespace plumb
