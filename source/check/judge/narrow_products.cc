// SPDX-License-Identifier: Apache-2.0
#include "check/judge/narrow_products.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "check/numbers/arithmetic.h"
#include "op/matmul.h"

namespace plumb {
namespace {

// One conversion cuts 16 bits off in some layers and rounds them in others, folds what norms there are, and takes whole
// channels where groups do not share them out; a runtime has several kernels that round what they read.
std::string KindOf(const std::string& narrow) {
  const std::string folded = "the folded ", input = " and its input rounded to int8";
  const size_t begin = narrow.rfind(folded, 0) == 0 ? folded.size() : 0, read = narrow.find(input);
  size_t end = std::min(narrow.size(), read);
  for (const char* detail : {" towards zero", " per output channel", " in groups of", ", per tensor", ", per row",
                             ", per pixel", ", per image"})
    end = std::min(end, narrow.find(detail));
  return narrow.substr(begin, end - begin) + (read == std::string::npos ? "" : input);
}

// "int8 weights" of "weights rounded to int8", "tf32 operands", "int8 weights and int8 input".
std::string ShortOf(const std::string& kind, std::vector<std::string>* precisions) {
  static const std::string kRounded = " rounded to ";
  std::string text;
  size_t begin = 0;
  while (begin < kind.size()) {
    size_t end = std::min({kind.find(" and its input", begin), kind.find(" and bias rounded", begin), kind.size()});
    std::string part = kind.substr(begin, end - begin);
    begin = end + std::string(" and ").size();
    for (const std::string article : {"its ", "the "}) {
      if (part.rfind(article, 0) == 0) part = part.substr(article.size());
    }
    const size_t rounded = part.find(kRounded);
    if (rounded != std::string::npos) {
      const std::string format = part.substr(rounded + kRounded.size());
      precisions->push_back(format.substr(0, format.find(' ')));
      part = precisions->back() + " " + part.substr(0, rounded);
    }
    text += (text.empty() ? "" : " and ") + part;
  }
  return text;
}

// The other operators that have them: recurrent layers, and tables of embeddings.
std::string OtherTypeOf(const LayerGroup& group) {
  for (const Layer* member : group.members) {
    if (member->kind == OpKind::kPlumbLSTM || member->kind == OpKind::kPlumbRNN) return member->type;
  }
  return "Gather";
}

// `count` values, `apart` from one another, that are whole numbers of one step, 127 at most.
bool AreSteps(const Tensor& values, int64_t first, int64_t count, int64_t apart) {
  constexpr double kOff = 1e-3;  // of a step
  double most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::fabs(values.ValueAt(first + i * apart)));
  const auto fits = [&](int64_t steps) {
    for (int64_t i = 0; i < count; ++i) {
      const double whole = values.ValueAt(first + i * apart) * static_cast<double>(steps) / most;
      if (!(std::fabs(whole - std::round(whole)) < kOff)) return false;
    }
    return true;
  };
  int64_t steps = 127;
  while (steps > 0 && most > 0 && !fits(steps)) --steps;
  return steps > 0;
}

// Weights of int8, with a scale for each output; columns: outputs stand in the last dim, else in front of rows.
bool AreBytes(const Tensor& weights, int64_t outputs, bool columns) {
  constexpr int64_t kTelling = 4;  // terms: fewer say nothing
  const int64_t length = outputs > 0 ? weights.NumElements() / outputs : 0;
  if (!IsFloat(weights.dtype()) || length < kTelling || length * outputs != weights.NumElements()) return false;
  for (int64_t i = 0; i < outputs; ++i) {
    if (!AreSteps(weights, columns ? i : i * length, length, columns ? outputs : 1)) return false;
  }
  return true;
}

// The weights of all products and recurrent layers of the step.
bool WeightsAreBytes(const StepRecord& record) {
  int seen = 0;
  for (const Layer* member : record.group.members) {
    const Tensor* weight = IsProduct(*member) ? member->Resource("weight") : nullptr;
    if (weight == nullptr) continue;
    const bool columns = member->kind == OpKind::kMatMul && ParamOf<MatMulParam>(*member).weight_position == 1;
    const int last = std::max(0, weight->shape().rank() - 1);
    if (!AreBytes(*weight, weight->shape().DimOrOne(columns ? last : 0), columns)) return false;
    ++seen;
  }
  for (size_t i = 0; i < record.group.inputs.size(); ++i) {
    const LayerGroup::Port& port = record.group.inputs[i];
    if (port.member < 0 || i >= record.info.inputs.size() || !record.info.inputs[i].constant) continue;
    const Layer& member = *record.group.members[static_cast<size_t>(port.member)];
    const bool recurrent = member.kind == OpKind::kPlumbLSTM || member.kind == OpKind::kPlumbRNN;
    if (recurrent ? port.slot != 1 && port.slot != 2 : port.slot != 1 || !IsProduct(member)) continue;
    const Shape& shape = record.inputs[i].shape();
    if (shape.rank() == 0) return false;
    const int64_t last = shape.DimOrOne(shape.rank() - 1);
    if (!AreBytes(record.inputs[i], recurrent ? record.inputs[i].NumElements() / std::max<int64_t>(1, last) : last,
                  !recurrent))
      return false;
    ++seen;
  }
  return seen > 0;
}

bool IsHalf(const std::string& kind) { return EndsWith(kind, " f16") || EndsWith(kind, " bf16"); }

bool IsOff(const LayerReport& layer) { return layer.verdict == Verdict::kWrong || layer.verdict == Verdict::kGrey; }

}  // namespace

bool MakesIntegers(const StepRecord& record) {
  return !record.device.empty() && std::none_of(record.device.begin(), record.device.end(),
                                                [](const Tensor& output) { return IsFloat(output.dtype()); });
}

void NarrowProducts::Note(const StepRecord& record, size_t position) {
  std::string type = looks_ ? ProductOf(record.group) : "";
  if (looks_ && type.empty() && !record.narrow.empty()) type = OtherTypeOf(record.group);
  if (type.empty() || record.report.verdict == Verdict::kNotTested || MakesIntegers(record)) return;
  OfOperator& of_type = operators_[type];
  of_type.possible.insert(position);
  if (record.narrow.empty()) return;
  Explained& explained = of_type.explained[position];
  explained = {record.narrow, record.as_narrow, WeightsAreBytes(record)};
  if (!explained.layer.has_value()) return;
  explained.layer->step = record.report.step;
  explained.layer->device_seconds = record.report.device_seconds;
}

std::vector<size_t> NarrowProducts::Unexplained(const RunReport& run) const {
  std::vector<size_t> positions;
  for (const auto& [type, of_type] : operators_) {
    for (const size_t position : of_type.possible) {
      const LayerReport& layer = run.layers[position];
      if (!of_type.explained.empty() && layer.verdict == Verdict::kWrong && layer.cause.empty())
        positions.push_back(position);
    }
  }
  return positions;
}

void NarrowProducts::Settle(RunReport* run) const {
  int beyond = 0, explained = 0;
  bool enough = false;
  for (const LayerReport& layer : run->layers) beyond += IsOff(layer);
  std::string types;
  std::vector<ComputedAs> computed;
  std::map<size_t, const LayerReport*> settled;
  for (const auto& [type, of_type] : operators_) {
    std::map<std::string, int> kinds, of_bytes;
    for (const auto& [position, layer] : of_type.explained) {
      ++kinds[KindOf(layer.narrow)];
      of_bytes[KindOf(layer.narrow)] += layer.of_bytes;
    }
    for (const auto& [kind, count] : kinds) {
      const bool rounds = kind.rfind("its input rounded to int8", 0) == 0 && of_bytes[kind] == count;
      const bool declared = declared_ || (half_ && IsHalf(kind)) || rounds;
      if (!declared && 2 * count <= static_cast<int>(of_type.possible.size())) continue;
      explained += count;
      enough = enough || declared;
      ComputedAs as;
      as.what = ShortOf(kind, &as.precisions);
      as.type = type, as.steps = count, as.of = static_cast<int>(of_type.possible.size()), as.declared = declared_;
      computed.push_back(std::move(as));
      types +=
          fmt::format("{}{} of {} {} with {}", types.empty() ? "" : ", ", count, of_type.possible.size(), type, kind);
      for (const auto& [position, layer] : of_type.explained) {
        if (KindOf(layer.narrow) == kind && layer.layer.has_value()) settled[position] = &*layer.layer;
      }
    }
  }
  if (!enough && (explained < 2 || 2 * explained <= beyond)) return;
  for (const auto& [position, layer] : settled) run->layers[position] = *layer;
  for (ComputedAs& as : computed) run->computed_as.push_back(std::move(as));
  const std::string because = fmt::format(
      "{} of {} layers that are beyond fp32 are not beyond products of fewer bits: {}", explained, beyond, types);
  if (run->found_because.empty()) {
    run->found_arithmetic = SubjectArithmetic::kNarrowProducts;
    run->found_because = because;
  } else {
    run->found_because += "; " + because;
  }
}

}  // namespace plumb
