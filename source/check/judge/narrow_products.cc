// SPDX-License-Identifier: Apache-2.0
#include "check/judge/narrow_products.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "check/numbers/arithmetic.h"

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
  explained = {record.narrow, record.as_narrow};
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
    std::map<std::string, int> kinds;
    for (const auto& [position, layer] : of_type.explained) ++kinds[KindOf(layer.narrow)];
    for (const auto& [kind, count] : kinds) {
      const bool declared = declared_ || (half_ && IsHalf(kind));
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
