// SPDX-License-Identifier: Apache-2.0
// Einsum: operands are brought to a common order of labels; two at a time become one batched MatMul over
// [labels of both that stay, left only, summed] x [.., summed, right only]. A label twice in one operand is its
// diagonal.
#include <fmt/core.h>

#include <algorithm>

#include "format/onnx/node_context.h"
#include "op/gather.h"
#include "op/reduce.h"

namespace plumb::onnx {
namespace {

struct Term {
  Value value;
  std::string labels;  // one byte per dim
};

// "...ij" for a blob of rank 4 -> "\x01\x02ij"; the dims of the ellipsis are counted from its end.
Result<std::string> LabelsOf(std::string text, int rank, int* ellipsis) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t dots = text.find("...");
  if (dots == std::string::npos) {
    if (rank >= 0 && static_cast<int>(text.size()) != rank)
      return Status::CorruptModel(fmt::format("the term '{}' does not fit a rank of {}", text, rank));
    return text;
  }
  const int named = static_cast<int>(text.size()) - 3;
  const int hidden = rank >= 0 ? rank - named : *ellipsis;
  if (hidden < 0 || hidden > 20)
    return Status::CorruptModel(fmt::format("the term '{}' does not fit a rank of {}", text, rank));
  *ellipsis = std::max(*ellipsis, hidden);
  std::string dims;
  for (int i = 0; i < hidden; ++i) dims += static_cast<char>(31 - (hidden - 1 - i));
  return text.substr(0, dots) + dims + text.substr(dots + 3);
}

Result<Value> SumOver(NodeContext& c, const Value& x, const std::vector<int>& axes) {
  if (axes.empty()) return x;
  auto param = std::make_shared<ReduceParam>();
  param->axes = axes;
  return c.Emit(OpKind::kReduceSum, param, {x});
}

// Dims `a` < `b` of one label become one, at `a`.
Result<Term> Diagonal(NodeContext& c, Term t, size_t a, size_t b) {
  const Shape shape = c.ShapeOf(t.value);
  const int64_t n = shape[static_cast<int>(a)];
  if (n != shape[static_cast<int>(b)]) return Status::CorruptModel("a diagonal of " + shape.ToString());
  std::vector<int> order = {static_cast<int>(a), static_cast<int>(b)};
  std::vector<int64_t> dims = {n};
  std::string labels(1, t.labels[a]);
  for (size_t i = 0; i < t.labels.size(); ++i) {
    if (i == a || i == b) continue;
    order.push_back(static_cast<int>(i));
    dims.push_back(shape[static_cast<int>(i)]);
    labels += t.labels[i];
  }
  std::vector<int64_t> flat = dims, rows;
  flat[0] = n * n;
  for (int64_t i = 0; i < n; ++i) rows.push_back(i * n + i);
  PLUMB_ASSIGN_OR_RETURN(t.value, c.Transpose(t.value, order));
  PLUMB_ASSIGN_OR_RETURN(t.value, c.Reshape(t.value, flat));
  auto param = std::make_shared<GatherParam>();
  param->indices_in_resource = false;
  PLUMB_ASSIGN_OR_RETURN(t.value, c.Emit(OpKind::kGather, param, {t.value, c.ConstInts(rows)}));
  t.labels = labels;
  return t;
}

// No label twice, and none that nobody else asks for.
Result<Term> Reduced(NodeContext& c, Term t, const std::string& wanted) {
  for (size_t b = 0; b < t.labels.size(); ++b) {
    const size_t a = t.labels.find(t.labels[b]);
    if (a == b) continue;
    PLUMB_ASSIGN_OR_RETURN(t, Diagonal(c, t, a, b));
    b = 0;
  }
  std::vector<int> axes;
  std::string left;
  for (size_t i = 0; i < t.labels.size(); ++i) {
    if (wanted.find(t.labels[i]) == std::string::npos)
      axes.push_back(static_cast<int>(i));
    else
      left += t.labels[i];
  }
  PLUMB_ASSIGN_OR_RETURN(t.value, SumOver(c, t.value, axes));
  t.labels = left;
  return t;
}

Result<Value> Ordered(NodeContext& c, const Term& t, const std::string& labels) {
  std::vector<int> order;
  bool moved = false;
  for (const char label : labels) {
    order.push_back(static_cast<int>(t.labels.find(label)));
    moved = moved || order.back() != static_cast<int>(order.size()) - 1;
  }
  return moved ? c.Transpose(t.value, order) : Result<Value>(t.value);
}

std::vector<int64_t> DimsOf(NodeContext& c, const Term& t, const std::string& labels) {
  std::vector<int64_t> dims;
  for (const char label : labels) dims.push_back(c.ShapeOf(t.value)[static_cast<int>(t.labels.find(label))]);
  return dims;
}

int64_t ProductEinsum(const std::vector<int64_t>& dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

Result<Term> Contract(NodeContext& c, const Term& a, const Term& b, const std::string& wanted) {
  std::string batch, summed, left, right;
  for (const char label : a.labels) {
    const bool in_b = b.labels.find(label) != std::string::npos, stays = wanted.find(label) != std::string::npos;
    (!in_b ? left : stays ? batch : summed) += label;
  }
  for (const char label : b.labels) {
    if (a.labels.find(label) == std::string::npos) right += label;
  }
  const std::vector<int64_t> outer = DimsOf(c, a, batch), rows = DimsOf(c, a, left), columns = DimsOf(c, b, right);
  const std::vector<int64_t> inner = DimsOf(c, a, summed);
  if (outer != DimsOf(c, b, batch) || inner != DimsOf(c, b, summed))
    return Status::NotSupported(fmt::format("operands whose shared dims differ: {} and {}",
                                            c.ShapeOf(a.value).ToString(), c.ShapeOf(b.value).ToString()));
  PLUMB_ASSIGN_OR_RETURN(Value x, Ordered(c, a, batch + left + summed));
  PLUMB_ASSIGN_OR_RETURN(Value y, Ordered(c, b, batch + summed + right));
  PLUMB_ASSIGN_OR_RETURN(x, c.Reshape(x, {ProductEinsum(outer), ProductEinsum(rows), ProductEinsum(inner)}));
  PLUMB_ASSIGN_OR_RETURN(y, c.Reshape(y, {ProductEinsum(outer), ProductEinsum(inner), ProductEinsum(columns)}));
  PLUMB_ASSIGN_OR_RETURN(const Value product, c.Emit(OpKind::kMatMul, nullptr, {x, y}));
  std::vector<int64_t> dims = outer;
  dims.insert(dims.end(), rows.begin(), rows.end());
  dims.insert(dims.end(), columns.begin(), columns.end());
  PLUMB_ASSIGN_OR_RETURN(const Value shaped, c.Reshape(product, dims));
  return Term{shaped, batch + left + right};
}

}  // namespace

Status MapEinsum(NodeContext& c) {
  std::string equation = c.Text("equation", "");
  const size_t arrow = equation.find("->");
  std::string inputs = equation.substr(0, arrow);
  std::vector<Term> terms;
  int ellipsis = 0;
  for (size_t i = 0; i < c.NumInputs(); ++i) {
    const size_t comma = std::min(inputs.find(','), inputs.size());
    PLUMB_ASSIGN_OR_RETURN(const std::string labels, LabelsOf(inputs.substr(0, comma), c.Rank(i), &ellipsis));
    terms.push_back({c.In(i), labels});
    inputs = comma < inputs.size() ? inputs.substr(comma + 1) : "";
  }
  if (!inputs.empty())
    return Status::CorruptModel(fmt::format("the equation '{}' has more terms than there are inputs", equation));
  std::string all, output;
  for (const Term& term : terms) all += term.labels;
  if (arrow == std::string::npos) {
    std::string sorted = all;
    std::sort(sorted.begin(), sorted.end());
    for (const char label : sorted) {
      if (label < 32 ? output.find(label) == std::string::npos : std::count(all.begin(), all.end(), label) == 1)
        output += label;
    }
  } else {
    PLUMB_ASSIGN_OR_RETURN(output, LabelsOf(equation.substr(arrow + 2), -1, &ellipsis));
  }
  for (const char label : output) {
    if (all.find(label) == std::string::npos)
      return Status::CorruptModel(fmt::format("the output of '{}' has a label that no input has", equation));
  }
  Term result = terms[0];
  for (size_t i = 0; i < terms.size(); ++i) {
    std::string wanted = output;
    for (size_t k = i + 1; k < terms.size(); ++k) wanted += terms[k].labels;
    if (i == 0) {
      PLUMB_ASSIGN_OR_RETURN(result, Reduced(c, result, wanted));
      continue;
    }
    PLUMB_ASSIGN_OR_RETURN(const Term next, Reduced(c, terms[i], wanted + result.labels));
    PLUMB_ASSIGN_OR_RETURN(result, Contract(c, result, next, wanted));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, Ordered(c, result, output));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
