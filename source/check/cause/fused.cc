// SPDX-License-Identifier: Apache-2.0
#include "check/cause/fused.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "check/core/folding.h"
#include "check/numbers/int8.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

constexpr size_t kMaxMembers = 24;  // a layer norm of single operators has nine
constexpr int kMaxDepth = 5;        // of groups with several inputs: x * sigmoid(y), a * b + c
constexpr size_t kMaxGroups = 16;

// Whether a runtime's pattern may have it inside, and errors can be followed through it.
bool MayBeInside(const Layer& layer) {
  const ReferenceOp& op = GetReferenceOp(layer.kind);
  return !IsProduct(layer) && !op.feeds_back && !op.picks && (op.propagates || op.smooth);
}

// The only input that is no constant, or -1.
int OnlyInput(const LayerGroup& group, const BlobTable& blobs) {
  int only = -1;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    if (!blobs.at(group.inputs[i].blob).value.empty()) continue;
    if (only >= 0 && group.inputs[static_cast<size_t>(only)].blob != group.inputs[i].blob) return -1;
    if (only < 0) only = static_cast<int>(i);
  }
  return only;
}

// c with y = c f(x) for all values, or 0.
double FactorOf(const FunctionVariant& function, const Tensor& x, const Tensor& y) {
  constexpr double kFits = 1e-6;  // far above f32 constants of a decomposed function
  const double *in = x.data<double>(), *out = y.data<double>();
  double fy = 0, ff = 0;
  std::vector<double> values(static_cast<size_t>(x.NumElements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = function.y(in[i]);
    if (!std::isfinite(values[i]) || !std::isfinite(out[i])) return 0;
    fy += values[i] * out[i];
    ff += values[i] * values[i];
  }
  const double factor = ff > 0 ? fy / ff : 0;
  for (size_t i = 0; i < values.size() && factor != 0; ++i) {
    const double expected = factor * values[i];
    if (!(std::fabs(out[i] - expected) <= kFits * std::max(std::fabs(factor), std::fabs(expected)))) return 0;
  }
  return factor;
}

// The function's own bound of y = factor f(x).
Status TakeBound(const FunctionVariant& function, double factor, const Tensor& x, const Layer& layer,
                 const Arithmetic& arithmetic, Tensor* tau) {
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(DType::kF64, x.shape()));
  PLUMB_ASSIGN_OR_RETURN(*tau, Tensor::Create(DType::kF64, x.shape()));
  ReferenceArgs args{layer, {&x}, {&y}};
  BoundArgs bound;
  bound.arithmetic = arithmetic;
  bound.tau = {tau};
  PLUMB_RETURN_IF_ERROR(function.op.run_with_bound(args, bound));
  for (int64_t i = 0; i < tau->NumElements(); ++i) tau->data<double>()[i] *= std::fabs(factor);
  return Status::Ok();
}

}  // namespace

FusedGroups::FusedGroups(const Graph& graph, const BlobTable& blobs) : graph_(&graph), blobs_(&blobs) {
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    for (const std::string& output : graph.layers[i].outputs) producer_[output] = static_cast<int>(i);
  }
}

// The place of the layer that makes the blob while the network runs, or -1.
int FusedGroups::ProducerOf(const std::string& blob) const {
  const auto it = producer_.find(blob);
  return it == producer_.end() || !blobs_->at(blob).value.empty() ? -1 : it->second;
}

// The members of `within` (place -> how far back) that are reached from the step's end without going through `stop`.
std::map<int, int> FusedGroups::Reached(const std::map<int, int>& within, const LayerGroup& step,
                                        const std::string& stop) const {
  std::map<int, int> reached;
  std::vector<int> open = {ProducerOf(step.outputs[0].blob)};
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (within.count(next) == 0 || !reached.emplace(next, within.at(next)).second) continue;
    for (const std::string& blob : graph_->layers[static_cast<size_t>(next)].inputs) {
      if (blob != stop) open.push_back(ProducerOf(blob));
    }
  }
  return reached;
}

LayerGroup FusedGroups::GroupOf(const std::map<int, int>& members, const LayerGroup& step) const {
  LayerGroup group;
  std::set<std::string> inside;
  for (const auto& [place, depth] : members) {
    const Layer& layer = graph_->layers[static_cast<size_t>(place)];
    const int m = static_cast<int>(group.members.size());
    group.members.push_back(&layer);
    for (size_t slot = 0; slot < layer.inputs.size(); ++slot) {
      if (inside.count(layer.inputs[slot]) == 0)
        group.inputs.push_back({m, static_cast<int>(slot), layer.inputs[slot]});
    }
    for (size_t slot = 0; slot < layer.outputs.size(); ++slot) {
      inside.insert(layer.outputs[slot]);
      if (layer.outputs[slot] == step.outputs[0].blob)
        group.outputs = {{m, static_cast<int>(slot), layer.outputs[slot]}};
    }
  }
  return group;
}

LayerGroup FusedGroups::FoldedProduct(const LayerGroup& step) const {
  std::map<int, int> members;
  bool scales = false;
  int place = step.outputs.size() == 1 ? ProducerOf(step.outputs[0].blob) : -1;
  for (int depth = 0; place >= 0 && depth <= kMaxDepth; ++depth) {
    const Layer& layer = graph_->layers[static_cast<size_t>(place)];
    members.emplace(place, depth);
    const LayerGroup group = GroupOf(members, step);
    if (IsProduct(layer)) return scales && group.members.size() > step.members.size() ? group : LayerGroup();
    const int from = OnlyInput(group, *blobs_);
    if (from < 0 || !MayBeInside(layer) || layer.outputs.size() != 1) break;
    const std::string& blob = group.inputs[static_cast<size_t>(from)].blob;
    scales = scales || !ScaleAndShiftOf(layer, blob, *blobs_).scale.empty();
    place = ProducerOf(blob);
  }
  return {};
}

std::vector<LayerGroup> FusedGroups::Around(const LayerGroup& step) const {
  const int end = graph_ == nullptr || step.outputs.size() != 1 ? -1 : ProducerOf(step.outputs[0].blob);
  if (end < 0 || !std::all_of(step.members.begin(), step.members.end(), [](const Layer* l) { return MayBeInside(*l); }))
    return {};
  std::map<int, int> before = {{end, 0}};  // place -> layers back
  std::vector<int> open = {end};
  for (size_t i = 0; i < open.size() && before.size() < kMaxMembers; ++i) {
    const int depth = before.at(open[i]) + 1;
    for (const std::string& blob : graph_->layers[static_cast<size_t>(open[i])].inputs) {
      const int place = ProducerOf(blob);
      if (place < 0 || !MayBeInside(graph_->layers[static_cast<size_t>(place)])) continue;
      if (before.emplace(place, depth).second) open.push_back(place);
    }
  }
  std::set<std::map<int, int>> found;
  for (int depth = 1; depth <= kMaxDepth; ++depth) {
    std::map<int, int> near;
    for (const auto& entry : before) {
      if (entry.second <= depth) near.insert(entry);
    }
    found.insert(std::move(near));
  }
  for (const auto& [place, depth] : before) {
    for (const std::string& blob : graph_->layers[static_cast<size_t>(place)].inputs) {
      if (!blobs_->at(blob).value.empty()) continue;
      std::map<int, int> behind = Reached(before, step, blob);
      if (OnlyInput(GroupOf(behind, step), *blobs_) >= 0) found.insert(std::move(behind));
    }
  }
  std::vector<LayerGroup> groups;
  for (const auto& members : found) {
    if (members.size() > 1 && members.size() >= step.members.size()) groups.push_back(GroupOf(members, step));
  }
  const auto order = [&](const LayerGroup& group) {
    const int kind = OnlyInput(group, *blobs_) < 0 ? 2 : NameOfGroup(group) == "LayerNorm" ? 0 : 1;
    return std::make_pair(kind, group.members.size());
  };
  std::stable_sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  groups.resize(std::min(groups.size(), kMaxGroups));
  LayerGroup folded = FoldedProduct(step);
  if (!folded.members.empty()) groups.push_back(std::move(folded));
  return groups;
}

Result<std::string> BoundOfFunction(const LayerGroup& group, const std::vector<Tensor>& inputs, const BlobTable& blobs,
                                    const Arithmetic& arithmetic, ReplayResult* replay) {
  const int input = OnlyInput(group, blobs);
  if (input < 0 || replay->values.size() != 1) return std::string();
  const Tensor &x = inputs[static_cast<size_t>(input)], &y = replay->values[0];
  if (x.dtype() != DType::kF64 || y.dtype() != DType::kF64 || x.shape() != y.shape()) return std::string();
  for (const FunctionVariant& function : FunctionVariants()) {
    const std::string family = function.family;
    if ((family != "gate" && family != "sigmoid" && family != "softplus") || function.approximate) continue;
    const double factor = FactorOf(function, x, y);
    if (factor == 0) continue;
    PLUMB_RETURN_IF_ERROR(TakeBound(function, factor, x, group.last(), arithmetic, &replay->tau[0]));
    return std::string(function.name);
  }
  return std::string();
}

std::string NameOfGroup(const LayerGroup& group) {
  const auto has = [&](std::initializer_list<OpKind> kinds) {
    return std::any_of(group.members.begin(), group.members.end(), [&](const Layer* member) {
      return std::find(kinds.begin(), kinds.end(), member->kind) != kinds.end();
    });
  };
  if (has({OpKind::kReduceMean}) && has({OpKind::kSqrt, OpKind::kRsqrt, OpKind::kPower, OpKind::kPlumbPow}))
    return has({OpKind::kSub, OpKind::kSquaredDifference}) ? "LayerNorm" : "RMSNorm";
  if (has({OpKind::kExp}) && has({OpKind::kReduceSum})) return "Softmax";
  constexpr size_t kShown = 4;
  std::string name;
  for (size_t i = 0; i < group.members.size() && i <= kShown; ++i)
    name += (i == 0 ? "" : "+") + (i < kShown ? group.members[i]->type : std::string("..."));
  return name;
}

}  // namespace plumb
