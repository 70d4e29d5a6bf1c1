// SPDX-License-Identifier: Apache-2.0
#include "op/einsum.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "op/core/strided.h"

namespace plumb {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Status Malformed(const std::string& equation, const std::string& why) {
  return Status::InvalidArgument(fmt::format("equation '{}': {}", equation, why));
}

// Labels of one operand: letters, and for the ellipsis one digit-like label per dim, counted from the right: char(1),
// char(2) ... so that equal labels broadcast against each other.
Result<std::string> Labels(const std::string& equation, const std::string& term, int ellipsis_dims) {
  std::string labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      for (int d = ellipsis_dims; d > 0; --d) labels += static_cast<char>(d);
      i += 2;
    } else if (IsLetter(term[i])) {
      labels += term[i];
    } else {
      return Malformed(equation, fmt::format("unexpected '{}'", term[i]));
    }
  }
  return labels;
}

struct Split {
  std::vector<std::string> terms;
  std::string output;
  bool has_output = false;
};

Split SplitEquation(const std::string& equation) {
  Split split;
  const size_t arrow = equation.find("->");
  split.has_output = arrow != std::string::npos;
  if (split.has_output) split.output = equation.substr(arrow + 2);
  split.terms.emplace_back();
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',' || c == ';') {
      split.terms.emplace_back();
    } else {
      split.terms.back() += c;
    }
  }
  return split;
}

std::string ImplicitOutput(const std::vector<std::string>& operands) {
  std::map<char, int> uses;
  for (const std::string& labels : operands) {
    for (const char c : labels) ++uses[c];
  }
  std::string ellipsis, letters;
  for (const auto& [label, count] : uses) {
    if (!IsLetter(label)) {
      ellipsis.insert(ellipsis.begin(), label);
    } else if (count == 1) {
      letters += label;
    }
  }
  return ellipsis + letters;
}

Status InferEinsum(ShapeContext& context) {
  std::vector<Shape> shapes;
  const DType dtype = context.inputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kI32 && dtype != DType::kI64) {
    return Status::NotSupported(std::string("expects f32, f64, i32 or i64, found ") + DTypeName(dtype));
  }
  for (const BlobInfo& in : context.inputs) {
    if (in.dtype != dtype) {
      return Status::InvalidArgument(
          fmt::format("operands have different dtypes: {} and {}", DTypeName(dtype), DTypeName(in.dtype)));
    }
    shapes.push_back(in.shape);
  }
  PLUMB_ASSIGN_OR_RETURN(const EinsumPlan plan, PlanEinsum(context.layer, shapes));
  context.SetAll(dtype, plan.out);
  return Status::Ok();
}

double FlopsEinsum(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  std::vector<Shape> shapes;
  for (const BlobInfo& in : inputs) shapes.push_back(in.shape);
  const auto plan = PlanEinsum(layer, shapes);
  if (!plan.ok()) return 0;
  return static_cast<double>(inputs.size()) * static_cast<double>(plan->terms) *
         static_cast<double>(outputs[0].shape.NumElements());
}

}  // namespace

Result<EinsumPlan> PlanEinsum(const Layer& layer, const std::vector<Shape>& operands) {
  const std::string& equation = ParamOf<EinsumParam>(layer).equation;
  const Split split = SplitEquation(equation);
  if (split.terms.size() != operands.size()) {
    return Malformed(equation, fmt::format("has {} operands, the layer has {}", split.terms.size(), operands.size()));
  }
  std::vector<std::string> labels;
  std::map<char, int64_t> sizes;
  int widest = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& term = split.terms[i];
    const bool dots = term.find("...") != std::string::npos;
    const int letters = static_cast<int>(std::count_if(term.begin(), term.end(), IsLetter));
    const int rest = operands[i].rank() - letters;
    if (rest < 0 || (rest > 0 && !dots) || rest > 31) {
      return Malformed(equation, fmt::format("operand {} '{}' does not fit {}", i, term, operands[i].ToString()));
    }
    widest = std::max(widest, dots ? rest : 0);
    PLUMB_ASSIGN_OR_RETURN(labels.emplace_back(), Labels(equation, term, rest));
    for (int d = 0; d < operands[i].rank(); ++d) {
      int64_t& size = sizes.emplace(labels[i][static_cast<size_t>(d)], 1).first->second;
      if (size != operands[i][d] && size != 1 && operands[i][d] != 1) {
        return Malformed(equation, fmt::format("a dim of {} in operand {} meets one of {}", operands[i][d], i, size));
      }
      if (operands[i][d] != 1) size = operands[i][d];
    }
  }
  std::string loops = ImplicitOutput(labels);
  if (split.has_output) {
    PLUMB_ASSIGN_OR_RETURN(loops, Labels(equation, split.output, widest));
  }
  EinsumPlan plan;
  std::vector<int64_t> out;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (sizes.count(loops[i]) == 0 || loops.find(loops[i]) != i) {
      return Malformed(equation, "each output label must come from an operand, once");
    }
    out.push_back(sizes[loops[i]]);
  }
  plan.out = Shape(out);
  PLUMB_RETURN_IF_ERROR(plan.out.Validate());
  for (const auto& [label, size] : sizes) {
    if (loops.find(label) != std::string::npos) continue;
    loops += label;
    plan.terms *= size;
  }
  for (const char label : loops) plan.dims.push_back(sizes[label]);
  PLUMB_RETURN_IF_ERROR(Shape(plan.dims).Validate());
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::vector<int64_t> dense = DenseStrides(operands[i]);
    std::vector<int64_t>& strides = plan.strides.emplace_back(loops.size(), 0);
    for (size_t d = 0; d < dense.size(); ++d) {
      if (operands[i].dims()[d] != 1) strides[loops.find(labels[i][d])] += dense[d];
    }
  }
  return plan;
}

OpDef DefineEinsum() {
  OpDef op;
  op.make_param = MakeParam<EinsumParam>;
  op.infer = InferEinsum;
  op.flops = FlopsEinsum;
  return op;
}

}  // namespace plumb
