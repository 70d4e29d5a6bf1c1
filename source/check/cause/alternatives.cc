#include "check/cause/alternatives.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "check/cause/proposals.h"
#include "check/subject/int8.h"
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

// Whether the altered layer makes outputs of the same shapes: everything else was allocated for those.
bool SameShapes(const ReplayedStep& step, const Layer& layer) {
  ShapeContext context{layer, {}, std::vector<BlobInfo>(layer.outputs.size())};
  for (const std::string& input : layer.inputs) context.inputs.push_back(step.blobs.at(input));
  if (!GetOp(layer.kind).infer(context).ok()) return false;
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    if (context.outputs[i].shape != step.blobs.at(layer.outputs[i]).shape) return false;
  }
  return true;
}

class AlternativeFinder {
 public:
  explicit AlternativeFinder(const ReplayedStep& step) : step_(step), misfit_(Misfit(step, step.replay.values)) {}

  std::vector<Alternative> Functions() {
    AddFunctions();
    return std::move(found_);
  }

  std::vector<Alternative> Find() {
    AddFunctions();
    const auto& members = step_.group.members;
    const bool cheap = std::none_of(members.begin(), members.end(), [](const Layer* l) { return IsProduct(*l); });
    for (size_t m = 0; m < step_.group.members.size(); ++m) {
      const Layer& member = *step_.group.members[m];
      const ProposalContext context{member, step_.blobs.at(member.inputs[0]).shape,
                                    [this, m](const Layer& altered) { return MisfitOf(m, altered); }, misfit_, cheap};
      for (Proposal& proposal : ProposalsFor(context)) Add(m, std::move(proposal));
    }
    return std::move(found_);
  }

 private:
  Alternative Altered(size_t m, Layer layer) const {
    Alternative a;
    a.layer = std::make_shared<Layer>(std::move(layer));
    a.group = step_.group;
    a.group.members[m] = a.layer.get();
    const std::vector<std::string>& before = step_.group.members[m]->inputs;
    for (LayerGroup::Port& port : a.group.inputs) {  // operands may have changed places
      if (port.member != static_cast<int>(m) || a.layer->inputs == before) continue;
      const auto slot = std::find(a.layer->inputs.begin(), a.layer->inputs.end(), port.blob);
      port.slot = static_cast<int>(slot - a.layer->inputs.begin());
    }
    return a;
  }

  double MisfitOf(size_t m, const Layer& layer) const {
    if (!SameShapes(step_, layer)) return INFINITY;
    const auto values = ReplayValues(Altered(m, layer).group, step_.inputs, step_.blobs);
    return values.ok() ? Misfit(step_, values->values) : INFINITY;
  }

  void Add(size_t m, Proposal proposal) {
    if (!SameShapes(step_, proposal.layer)) return;
    Alternative a = Altered(m, std::move(proposal.layer));
    a.computed = std::move(proposal.computed);
    a.says = std::move(proposal.says);
    a.family = std::move(proposal.family);
    a.op = proposal.op;
    a.member = static_cast<int>(m);
    const auto values = ReplayValues(a.group, step_.inputs, step_.blobs, a.Extra());
    if (!values.ok()) return;
    const double misfit = Misfit(step_, values->values);
    if (misfit < kCloser * misfit_ || (a.op.run != nullptr && misfit == misfit_)) found_.push_back(std::move(a));
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
    const Tensor& x = step_.inputs[static_cast<size_t>(input)];
    const Tensor& y = step_.replay.values[0];
    if (x.dtype() != DType::kF64 || y.dtype() != DType::kF64 || x.shape() != y.shape()) return;
    std::set<std::string> families;
    for (const FunctionVariant& says : FunctionVariants()) {
      if (families.count(says.family) != 0 || !Fits(says, x, y)) continue;
      families.insert(says.family);
      for (const FunctionVariant& computed : FunctionVariants()) {
        if (computed.family == std::string(says.family) && computed.name != says.name)
          AddFunction(says, computed, input);
      }
    }
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

  void AddFunction(const FunctionVariant& says, const FunctionVariant& computed, int input) {
    Alternative a;
    const auto& port = step_.group.inputs[static_cast<size_t>(input)];
    a.layer = std::make_shared<Layer>(step_.group.last());
    a.layer->kind = OpKind::kIdentity;
    a.layer->inputs = {port.blob};
    a.layer->outputs = {step_.group.outputs[0].blob};
    a.group.members = {a.layer.get()};
    a.group.inputs.resize(static_cast<size_t>(input) + 1, {-1, -1, ""});
    a.group.inputs.back() = {0, 0, port.blob};
    a.group.outputs = {{0, 0, a.layer->outputs[0]}};
    a.op = computed.op;
    a.computed = std::string("as ") + computed.name;
    a.says = says.name;
    a.family = says.family;
    found_.push_back(std::move(a));
  }

  const ReplayedStep& step_;
  const double misfit_;
  std::vector<Alternative> found_;
};

}  // namespace

std::vector<Alternative> FindAlternatives(const ReplayedStep& step) {
  for (const Tensor& output : step.device) {
    if (output.NumElements() == 0) return {};
  }
  return AlternativeFinder(step).Find();
}

std::vector<Alternative> FindFunctions(const ReplayedStep& step) { return AlternativeFinder(step).Functions(); }

ReplayExtra Alternative::Extra() const {
  ReplayExtra extra;
  if (op.run == nullptr) return extra;
  extra.changes = {{member, op, {}, {}}};
  return extra;
}

Result<ReplayResult> ReplayAlternative(const Alternative& alternative, const ReplayedStep& step,
                                       const Arithmetic& arithmetic, int level, ReplayExtra extra) {
  extra.changes = alternative.Extra().changes;
  return ReplayWithBound(alternative.group, step.inputs, step.blobs, arithmetic, level, extra);
}

std::string DescribeAlternative(const Alternative& alternative) {
  return "computed " + alternative.computed + "; the graph says " + alternative.says;
}

}  // namespace plumb
