// SPDX-License-Identifier: Apache-2.0
#include "check/cause/computed_otherwise.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "check/cause/approximations.h"
#include "check/cause/general_ways.h"
#include "check/cause/known_ways.h"
#include "check/numbers/int8.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

constexpr double kCloser = 0.5;  // of the graph's own misfit: alternatives that leave more explain nothing

// Adds (x - y)^2 of all elements; infinite where they are finite on one side only.
template <class X, class Y>
double SquaresOf(const X* x, const Y* y, int64_t count) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
    if (std::isfinite(a - b)) {
      squares += (a - b) * (a - b);
      continue;
    }
    const bool overflowed = std::isinf(a) && a == static_cast<double>(static_cast<float>(b));
    if (a != b && !(std::isnan(a) && std::isnan(b)) && !overflowed) return INFINITY;
  }
  return squares;
}

double SquaresOf(const Tensor& x, const Tensor& y) {
  if (x.dtype() == DType::kF32 && y.dtype() == DType::kF64)
    return SquaresOf(x.data<float>(), y.data<double>(), x.NumElements());
  double squares = 0;
  for (int64_t i = 0; i < x.NumElements(); ++i) squares += std::pow(x.ValueAt(i) - y.ValueAt(i), 2);
  return squares;
}

// Root mean square of device - values over all outputs.
double Misfit(const ReplayedStep& step, const std::vector<Tensor>& values) {
  double squares = 0, count = 0;
  for (size_t o = 0; o < values.size(); ++o) {
    if (values[o].NumElements() != step.device[o].NumElements()) return INFINITY;
    squares += SquaresOf(step.device[o], values[o]);
    count += static_cast<double>(values[o].NumElements());
  }
  return std::sqrt(squares / std::max(1.0, count));
}

// Whether the layer's weights have the sizes that its parameters ask for.
bool WeightsFit(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const OpDef& op = GetOp(layer.kind);
  std::vector<ResourceSpec> specs;
  if (op.resource_specs == nullptr) return true;
  if (!op.resource_specs(layer, inputs, &specs).ok()) return false;
  return std::all_of(specs.begin(), specs.end(), [&layer](const ResourceSpec& spec) {
    const Tensor* weight = layer.Resource(spec.slot);
    return weight == nullptr ? !spec.required : weight->NumElements() == spec.shape.NumElements();
  });
}

// Whether the altered layer makes outputs of the same shapes from the same weights: all was allocated for those.
bool SameShapes(const ReplayedStep& step, const Layer& layer) {
  if (layer.outputs.empty()) return false;
  ShapeContext context{layer, {}, std::vector<BlobInfo>(layer.outputs.size())};
  for (const std::string& input : layer.inputs) context.inputs.push_back(step.blobs.at(input));
  if (!GetOp(layer.kind).infer(context).ok()) return false;
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    if (context.outputs[i].shape != step.blobs.at(layer.outputs[i]).shape) return false;
  }
  return WeightsFit(layer, context.inputs);
}

// Such an output is no evidence of a function: zeros are LogSigmoid of what is large.
bool IsTheSameEverywhere(const Tensor& y) {
  for (int64_t i = 1; i < y.NumElements(); ++i) {
    if (y.ValueAt(i) != y.ValueAt(0)) return false;
  }
  return true;
}

class AlternativeFinder {
 public:
  // budget: multiplications that its replays may take.
  explicit AlternativeFinder(const ReplayedStep& step, double budget = 1e10)
      : step_(step), budget_(budget), misfit_(Misfit(step, step.replay.values)) {}

  // Of the step as one pattern that runtimes fuse.
  std::vector<Alternative> Functions() {
    AddFunctions();
    const size_t last = step_.group.members.size() - 1;
    for (const Proposal& proposal : RotaryProposalsFor(ContextOf(last))) Add(last, proposal);
    return std::move(found_);
  }

  // One product of the step, or all that it has.
  std::vector<Alternative> Narrow(const std::string& narrow) {
    Alternative all;
    all.group = step_.group;
    int products = 0;
    for (size_t m = step_.group.members.size(); m-- > 0;) {
      const std::vector<Proposal> proposals = NarrowProposalsFor(ContextOf(m), narrow);
      for (const Proposal& proposal : proposals) found_.push_back(Altered(m, proposal));
      if (proposals.empty()) continue;
      Alter(m, proposals[0], &all);
      ++products;
    }
    if (products > 1) found_.push_back(std::move(all));
    return std::move(found_);
  }

  std::vector<Alternative> Find() {
    AddFunctions();
    AddLastFunctions();
    AddProposals(ProposalsFor);
    return std::move(found_);
  }

  std::vector<Alternative> General() {
    if (step_.group.outputs.size() == 1 && !IsTheSameEverywhere(step_.device[0])) AddPlainFunctions();
    AddProposals(GeneralProposalsFor);
    return std::move(found_);
  }

 private:
  // From the end, since where a step is a whole network the budget goes to the layers next to what is compared; told in
  // the order of the layers.
  void AddProposals(std::vector<Proposal> (*proposals_for)(const ProposalContext&)) {
    const auto first = static_cast<int64_t>(found_.size());
    for (size_t m = step_.group.members.size(); m-- > 0;) {
      const auto before = static_cast<int64_t>(found_.size());
      for (const Proposal& proposal : proposals_for(ContextOf(m))) Add(m, proposal);
      std::rotate(found_.begin() + first, found_.begin() + before, found_.end());
    }
  }

  ProposalContext ContextOf(size_t m) const {
    constexpr double kCheap = 1 << 22;  // multiplications
    const Layer& member = *step_.group.members[m];
    return {step_,
            member,
            step_.group,
            m,
            step_.blobs,
            step_.blobs.at(member.inputs[0]).shape,
            [this, m](size_t slot) { return ValueOf(m, slot); },
            [this, m](const Proposal& altered) { return MisfitOf(m, altered); },
            misfit_,
            multiplications_,
            multiplications_ <= kCheap};
  }

  // What a replay of the other layers takes, in multiplications.
  double OtherWork() const {
    constexpr double kOfElement = 8;
    double elements = 0;
    for (const Layer* member : step_.group.members)
      elements += static_cast<double>(step_.blobs.at(member->outputs[0]).shape.NumElements());
    return kOfElement * elements;
  }

  // Of the step's sums of products, about.
  double Multiplications() const {
    double sum = 0;
    for (const Layer* member : step_.group.members) {
      const bool matrices = member->kind == OpKind::kMatMul || member->kind == OpKind::kPlumbMatMulInteger;
      if (!matrices && !IsProduct(*member)) continue;
      const Tensor* weight = member->Resource("weight");
      const Shape& out = step_.blobs.at(member->outputs[0]).shape;
      const Shape& in = step_.blobs.at(member->inputs[0]).shape;
      const int64_t channels = std::max<int64_t>(1, matrices ? 1 : out.DimOrOne(1));
      const int64_t terms =
          weight != nullptr && !matrices ? weight->NumElements() / channels : in.DimOrOne(in.rank() - 1);
      sum += static_cast<double>(out.NumElements()) * static_cast<double>(terms);
    }
    return sum;
  }

  const Tensor* ValueOf(size_t m, size_t slot) const {
    for (size_t i = 0; i < step_.group.inputs.size(); ++i) {
      const LayerGroup::Port& port = step_.group.inputs[i];
      if (port.member == static_cast<int>(m) && port.slot == static_cast<int>(slot)) return &step_.inputs[i];
    }
    return nullptr;
  }

  // Puts the layer in the place of member m.
  void Replace(size_t m, const Layer& layer, Alternative* a) const {
    a->layers.push_back(std::make_shared<Layer>(layer));
    a->group.members[m] = a->layers.back().get();
    const std::vector<std::string>& before = step_.group.members[m]->inputs;
    if (layer.inputs == before) return;
    for (LayerGroup::Port& port : a->group.inputs) {  // operands may have changed places
      if (port.member != static_cast<int>(m)) continue;
      const auto slot = std::find(layer.inputs.begin(), layer.inputs.end(), port.blob);
      port.slot = static_cast<int>(slot - layer.inputs.begin());
    }
  }

  Alternative Altered(size_t m, const Proposal& proposal) const {
    Alternative a;
    a.group = step_.group;
    Alter(m, proposal, &a);
    return a;
  }

  void Alter(size_t m, const Proposal& proposal, Alternative* a) const {
    a->computed = proposal.computed;
    a->says = proposal.says;
    a->family = proposal.family;
    a->narrow = proposal.narrow;
    Replace(m, proposal.layer, a);
    for (const auto& [member, layer] : proposal.also) Replace(member, layer, a);
    a->changes.insert(a->changes.end(), proposal.changes.begin(), proposal.changes.end());
    if (proposal.op.run != nullptr || proposal.reads || proposal.writes)
      a->changes.push_back({static_cast<int>(m), proposal.op, proposal.reads, proposal.writes});
  }

  // Root mean square; infinite once the search has cost enough: a step may be a whole network.
  double MisfitOf(const Alternative& a) const {
    if (spent_ > budget_) return INFINITY;
    spent_ += multiplications_ + other_work_;
    ReplayExtra extra;
    extra.changes = a.changes;
    const auto values = ReplayValues(a.group, step_.inputs, step_.blobs, extra);
    return values.ok() ? Misfit(step_, values->values) : INFINITY;
  }

  double MisfitOf(size_t m, const Proposal& proposal) const {
    return SameShapes(step_, proposal.layer) ? MisfitOf(Altered(m, proposal)) : INFINITY;
  }

  void Add(size_t m, const Proposal& proposal) {
    if (!SameShapes(step_, proposal.layer)) return;
    Alternative a = Altered(m, proposal);
    const double misfit = MisfitOf(a);
    constexpr double kSameValues = 1e-3;  // coordinates of another operator that says the same
    const bool other_bound = proposal.other_error && std::fabs(misfit - misfit_) <= kSameValues * misfit_;
    if (misfit < kCloser * misfit_ || other_bound) found_.push_back(std::move(a));
  }

  // The only blob that the step reads, or -1: there are several.
  int OnlyInput() const {
    int only = -1;
    for (size_t i = 0; i < step_.group.inputs.size(); ++i) {
      const std::string& blob = step_.group.inputs[i].blob;
      if (!step_.blobs.at(blob).value.empty()) continue;
      if (only >= 0 && step_.group.inputs[static_cast<size_t>(only)].blob != blob) return -1;
      if (only < 0) only = static_cast<int>(i);
    }
    return only;
  }

  // Steps that compute one function of one variable, however they are put together.
  void AddFunctions() {
    const int input = OnlyInput();
    if (input < 0 || step_.group.outputs.size() != 1) return;
    LayerGroup before;
    before.inputs.resize(static_cast<size_t>(input) + 1, {-1, -1, ""});
    before.inputs.back() = {0, 0, step_.group.inputs[static_cast<size_t>(input)].blob};
    AddFunctionsOf(step_.inputs[static_cast<size_t>(input)], before.inputs.back().blob, before);
  }

  // The end of a step, behind a sum of products, a bias, a norm: a function of the blob between, however put together.
  // Not of quantisation, whose steps fit any rounding where the values are few.
  void AddLastFunctions() {
    const auto& members = step_.group.members;
    if (step_.group.outputs.size() != 1) return;
    for (size_t m = 0; m + 1 < members.size(); ++m) {
      if (members[m]->outputs.size() != 1 || !FollowsFrom(m)) continue;
      const bool quantised = std::any_of(members.begin() + static_cast<int64_t>(m) + 1, members.end(),
                                         [](const Layer* l) { return l->kind == OpKind::kPlumbQuantizeLinear; });
      if (quantised) return;
      const LayerGroup before = UpTo(m);
      const auto x = ReplayValues(before, step_.inputs, step_.blobs);
      if (x.ok() && AddFunctionsOf(x->values[0], members[m]->outputs[0], before)) return;
    }
  }

  // Whether the members behind m read its output, one another and constants alone.
  bool FollowsFrom(size_t m) const {
    const auto& members = step_.group.members;
    std::set<std::string> known(members[m]->outputs.begin(), members[m]->outputs.end());
    for (size_t i = m + 1; i < members.size(); ++i) {
      for (const std::string& input : members[i]->inputs) {
        if (known.count(input) == 0 && step_.blobs.at(input).value.empty()) return false;
      }
      known.insert(members[i]->outputs.begin(), members[i]->outputs.end());
    }
    return true;
  }

  // Where the step's result is a known function of x, which `before` computes under that name: its family's others.
  bool AddFunctionsOf(const Tensor& x, const std::string& name, const LayerGroup& before) {
    const Tensor& y = step_.replay.values[0];
    if (x.dtype() != DType::kF64 || y.dtype() != DType::kF64 || x.shape() != y.shape()) return false;
    std::set<std::string> families;
    for (const FunctionVariant& says : FunctionVariants()) {
      if (families.count(says.family) != 0 || !Fits(says, x, y)) continue;
      families.insert(says.family);
      for (const FunctionVariant& computed : FunctionVariants()) {
        const bool other = computed.family == std::string(says.family) && computed.name != says.name;
        if (other && Explains(computed, x)) AddFunction(says, computed.name, computed.op, nullptr, name, before);
      }
      if (families.size() == 1) AddApproximations(says, x, name, before);
    }
    return !families.empty();
  }

  static bool Fits(const FunctionVariant& function, const Tensor& x, const Tensor& y) {
    constexpr double kFits = 1e-6;  // far above f32 constants of a decomposed function
    for (int64_t i = 0; i < x.NumElements(); ++i) {
      const double expected = function.y(x.data<double>()[i]), value = y.data<double>()[i];
      if (value == expected || (std::isnan(value) && std::isnan(expected))) continue;
      if (!(std::fabs(value - expected) <= kFits * std::max(1.0, std::fabs(expected)))) return false;
    }
    return true;
  }

  // Whether it comes closer to the device than the graph's function, in all or beside the size of each value: a fault
  // near the zeros of a function is small in all.
  bool Explains(const FunctionVariant& computed, const Tensor& x) const {
    const Tensor& device = step_.device[0];
    if (device.NumElements() != x.NumElements()) return false;
    auto y = x.Clone();
    if (!y.ok()) return false;
    double own = 0, other = 0;
    for (int64_t i = 0; i < y->NumElements(); ++i) {
      const double value = computed.y(x.data<double>()[i]), graph = step_.replay.values[0].ValueAt(i);
      y->data<double>()[i] = value;
      const double off = (device.ValueAt(i) - graph) / graph, now = (device.ValueAt(i) - value) / graph;
      if (std::isfinite(off) && std::isfinite(now)) own += off * off, other += now * now;
    }
    return Misfit(step_, {*y}) < kCloser * misfit_ || other < kCloser * kCloser * own;
  }

  // Cut off, from a table, as a polynomial: of what the device wrote for each x.
  void AddApproximations(const FunctionVariant& says, const Tensor& x, const std::string& name,
                         const LayerGroup& before) {
    constexpr size_t kMost = 12;
    const Tensor& device = step_.device[0];
    if (!IsFloat(device.dtype()) || device.NumElements() != x.NumElements()) return;
    std::vector<Approximation> found = FindApproximations(says.name, says.y, x, device);
    found.resize(std::min(found.size(), kMost));
    for (const Approximation& approximation : found) {
      AddFunction(says, approximation.words, says.op, FunctionOf(x, approximation.y), name, before);
    }
  }

  // Writes y of x, with the bound of a handful of roundings.
  static std::function<void(Tensor*, Tensor*)> FunctionOf(const Tensor& x, std::function<double(double)> y) {
    return [x, y = std::move(y)](Tensor* values, Tensor* tau) {
      for (int64_t i = 0; i < values->NumElements(); ++i) {
        const double at = x.data<double>()[i], value = y(at);
        values->data<double>()[i] = value;
        const double rounding = 32 * 0x1p-24 * std::max(std::fabs(value), std::min(1.0, std::fabs(at)));
        if (tau != nullptr) tau->data<double>()[i] = std::hypot(tau->data<double>()[i], rounding);
      }
    };
  }

  // Any of PlainFunctions in place of the step, or of its end.
  void AddPlainFunctions() {
    LayerGroup before;
    if (const int input = OnlyInput(); input >= 0) {
      before.inputs.resize(static_cast<size_t>(input) + 1, {-1, -1, ""});
      before.inputs.back() = {0, 0, step_.group.inputs[static_cast<size_t>(input)].blob};
      AddPlainFunctionsOf(step_.inputs[static_cast<size_t>(input)], before.inputs.back().blob, before);
    }
    const auto& members = step_.group.members;
    for (size_t m = 0; m + 1 < members.size(); ++m) {
      if (members[m]->outputs.size() != 1 || !FollowsFrom(m)) continue;
      before = UpTo(m);
      const auto x = ReplayValues(before, step_.inputs, step_.blobs);
      if (x.ok()) AddPlainFunctionsOf(x->values[0], members[m]->outputs[0], before);
    }
  }

  void AddPlainFunctionsOf(const Tensor& x, const std::string& name, const LayerGroup& before) {
    const Tensor& y = step_.replay.values[0];
    if (x.dtype() != DType::kF64 || y.dtype() != DType::kF64 || x.shape() != y.shape()) return;
    const std::string says = step_.group.last().type;
    for (const PlainFunction& function : PlainFunctions()) {
      const FunctionVariant variant{"plain function", says.c_str(), function.y, {}};
      if (Fits(variant, x, y) || !Explains(variant, x)) continue;
      AddFunction(variant, function.name, {}, FunctionOf(x, function.y), name, before);
    }
  }

  // The step's first members, with the result of the last of them.
  LayerGroup UpTo(size_t m) const {
    LayerGroup before = step_.group;
    before.members.resize(m + 1);
    for (LayerGroup::Port& port : before.inputs) {
      if (port.member > static_cast<int>(m)) port = {-1, -1, ""};
    }
    before.outputs = {{static_cast<int>(m), 0, before.members[m]->outputs[0]}};
    return before;
  }

  void AddFunction(const FunctionVariant& says, const std::string& computed, const ReferenceOp& op,
                   std::function<void(Tensor*, Tensor*)> writes, const std::string& input, const LayerGroup& before) {
    Alternative a;
    auto layer = std::make_shared<Layer>(step_.group.last());
    layer->kind = OpKind::kIdentity;
    layer->inputs = {input};
    layer->outputs = {step_.group.outputs[0].blob};
    a.layers = {layer};
    a.group = before;
    const int at = static_cast<int>(before.members.size());
    a.group.members.push_back(layer.get());
    a.group.outputs = {{at, 0, layer->outputs[0]}};
    a.changes = {{at, op, {}, std::move(writes)}};
    a.computed = "as " + computed;
    a.says = says.name;
    a.family = says.family;
    found_.push_back(std::move(a));
  }

  const ReplayedStep& step_;
  const double budget_;
  const double misfit_;
  const double multiplications_ = Multiplications(), other_work_ = OtherWork();
  mutable double spent_ = 0;
  std::vector<Alternative> found_;
};

}  // namespace

std::vector<Alternative> FindAlternatives(const ReplayedStep& step) {
  for (const Tensor& output : step.device) {
    if (output.NumElements() == 0) return {};
  }
  return AlternativeFinder(step).Find();
}

std::vector<Alternative> FindGeneral(const ReplayedStep& step) {
  constexpr double kBudget = 2e9;  // they are many
  for (const Tensor& output : step.device) {
    if (output.NumElements() == 0) return {};
  }
  return AlternativeFinder(step, kBudget).General();
}

std::vector<Alternative> FindFunctions(const ReplayedStep& step) { return AlternativeFinder(step).Functions(); }

std::vector<Alternative> FindNarrow(const ReplayedStep& step, const std::string& narrow) {
  return AlternativeFinder(step).Narrow(narrow);
}

Result<ReplayResult> ReplayAlternative(const Alternative& alternative, const ReplayedStep& step,
                                       const Arithmetic& arithmetic, int level, ReplayExtra extra) {
  extra.changes = alternative.changes;
  return ReplayWithBound(alternative.group, step.inputs, step.blobs, arithmetic, level, extra);
}

std::string DescribeAlternative(const Alternative& alternative) {
  return fmt::format("computed {}; the graph says {}", alternative.computed, alternative.says);
}

}  // namespace plumb
