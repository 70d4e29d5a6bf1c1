// SPDX-License-Identifier: Apache-2.0
#include "check/integer/integer_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "check/integer/cut_group.h"
#include "check/integer/step_reader.h"
#include "check/integer/stepwise.h"
#include "op/core/op.h"
#include "plumb/model.h"

namespace plumb {
namespace {

bool BeginsWith(const std::string& words, const char* begin) { return words.rfind(begin, 0) == 0; }

// Whether the rule is one of the runtime that the model is made for, or nobody's.
bool IsOwn(const std::string& words, bool of_tflite) {
  return of_tflite ? !BeginsWith(words, "ONNX Runtime") : !BeginsWith(words, "TFLite") && !BeginsWith(words, "XNNPACK");
}

// How many integers differ; all where the tensors cannot be compared.
int64_t CountDiffering(const Tensor& a, const Tensor& b) {
  if (a.dtype() != DType::kI64 || b.dtype() != DType::kI64 || a.shape() != b.shape()) return b.NumElements();
  int64_t differing = 0;
  for (int64_t i = 0; i < a.NumElements(); ++i) differing += a.data<int64_t>()[i] != b.data<int64_t>()[i];
  return differing;
}

Result<Tensor> IntegersBy(const IntegerRule& rule, const IntegerStep& step, const BlobTable& blobs) {
  std::vector<int64_t> integers(static_cast<size_t>(step.shape.NumElements()));
  if (rule.form != step.form || !rule.replay(step, &integers)) return Status::NotSupported("another form");
  return BehindTail(step, blobs, integers);
}

Result<Tensor> IntegersBy(const StepwiseRule& rule, const CutGroup& part, const BlobTable& blobs) {
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayStepwise(rule, part.group, part.inputs, blobs));
  return replay.values[0];
}

// Shows `take` the integers of the blob by each rule, until it has enough.
template <class F>
void ByEach(const std::vector<IntegerRule>& rules, const Scene& scene, const CutGroup& part, const std::string& blob,
            F take) {
  const bool of_tflite = IsOfTflite(*scene.graph);
  const auto step = ReadIntegerStep(scene, part.group, part.inputs, blob);
  for (const IntegerRule& rule : rules) {
    const auto integers = step.ok() ? IntegersBy(rule, *step, *scene.blobs) : Result<Tensor>(step.status());
    if (integers.ok() && !take(rule.words, *integers)) return;
  }
  for (const StepwiseRule& rule : StepwiseRules()) {
    const bool asked = IsOwn(rule.words, of_tflite) || BeginsWith(rule.words, "ONNX Runtime");
    const auto integers = asked ? IntegersBy(rule, part, *scene.blobs) : Result<Tensor>(Status::NotFound(""));
    if (integers.ok() && !take(rule.words, *integers)) return;
  }
}

// The first blob inside of the part that a QuantizeLinear makes; "": none but `last`.
std::string FirstQuantised(const CutGroup& part, const std::string& last) {
  for (const Layer* member : part.group.members) {
    if (member->kind == OpKind::kPlumbQuantizeLinear && member->outputs[0] != last) return member->outputs[0];
  }
  return "";
}

// The part that makes the blob from integers which are read or, of tensors that the subject has not, which the first
// rule of `family` that applies gives; `known` counts these. Nothing: none applies.
std::optional<CutGroup> PartOf(const std::vector<IntegerRule>& family, const Scene& scene, const StepRecord& record,
                               const std::string& blob, size_t* known_count) {
  std::map<std::string, Tensor> known;
  for (;;) {
    CutGroup part = CutTo(record.group, record.inputs, {blob}, known);
    const std::string inner = FirstQuantised(part, blob);
    *known_count = known.size();
    if (inner.empty()) return part;
    const CutGroup before = CutTo(record.group, record.inputs, {inner}, known);
    ByEach(family, scene, before, inner, [&](const char*, const Tensor& integers) {
      known[inner] = integers;
      return false;
    });
    if (known.count(inner) == 0) return std::nullopt;
  }
}

}  // namespace

bool RoundedToRange(const IntegerStep& step, float v, int64_t* whole) {
  if (!(std::fabs(v) <= 0x1.fffffep127f)) return false;
  const float limited =
      std::clamp(v, static_cast<float>(step.low - step.zero), static_cast<float>(step.high - step.zero));
  *whole = static_cast<int64_t>(std::nearbyint(limited));
  return true;
}

bool IsOfTflite(const Graph& graph) {
  const ModelFormat* format = FindModelFormat(graph.source);
  return format != nullptr && std::string(format->type) == "TFLITE";
}

const std::vector<IntegerRule>& AllIntegerRules(bool of_tflite) {
  const auto join = [](const std::vector<std::vector<IntegerRule>>& families) {
    std::vector<IntegerRule> all;
    for (const auto& family : families) all.insert(all.end(), family.begin(), family.end());
    return all;
  };
  static const std::vector<IntegerRule> litert = join({TfliteRules(), TfliteElementRules(), TfliteSoftmaxRules(),
                                                       TfliteResizeRules(), XnnpackRules(), XnnpackResizeRules()});
  const auto others = [&] {
    std::vector<IntegerRule> all = join({OnnxRuntimeRules(), litert});
    all.erase(std::remove_if(all.begin(), all.end(), [](const IntegerRule& rule) { return rule.of_tflite; }),
              all.end());
    return all;
  };
  static const std::vector<IntegerRule> onnx = others();
  static const std::vector<IntegerRule> tflite = join({litert, OnnxRuntimeRules()});
  return of_tflite ? tflite : onnx;
}

std::string QuantisedAs(const LayerGroup& group, std::string blob) {
  for (int maker = MakerIn(group, blob); maker >= 0; maker = MakerIn(group, blob)) {
    const Layer& layer = *group.members[static_cast<size_t>(maker)];
    if (layer.kind == OpKind::kPlumbQuantizeLinear) return blob;
    if (!GetOp(layer.kind).moves_data_only || layer.inputs.empty()) break;
    blob = layer.inputs[0];
  }
  return "";
}

Result<Tensor> MovedIntegers(const Scene& scene, const StepRecord& record, const std::string& blob,
                             const std::string& output, const Tensor& integers) {
  if (blob == output) return integers;
  const CutGroup part = CutTo(record.group, record.inputs, {output}, {{blob, integers}});
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayValues(part.group, part.inputs, *scene.blobs));
  return replay.values[0];
}

FollowedRule FindIntegerRule(const Scene& scene, const StepRecord& record, size_t output) {
  FollowedRule found;
  const std::string& written = record.group.outputs[output].blob;
  const std::string blob = QuantisedAs(record.group, written);
  const Tensor& device = record.device[output];
  found.quantised = !blob.empty() && device.dtype() == DType::kI64;
  if (!found.quantised) return found;
  const bool of_tflite = IsOfTflite(*scene.graph);
  std::vector<std::vector<IntegerRule>> families = {OnnxRuntimeRules(), TfliteRules(), XnnpackRules()};
  if (of_tflite) std::rotate(families.begin(), families.begin() + 1, families.end());
  for (const auto& family : families) {
    size_t missing = 0;
    const std::optional<CutGroup> part = PartOf(family, scene, record, blob, &missing);
    if (!part.has_value()) continue;
    ByEach(AllIntegerRules(of_tflite), scene, *part, blob, [&](const char* words, const Tensor& integers) {
      const auto moved = MovedIntegers(scene, record, blob, written, integers);
      if (!moved.ok()) return true;
      const int64_t differing = CountDiffering(*moved, device);
      const bool nearer = found.nearest.empty() || differing < found.differing;
      if (nearer && IsOwn(words, of_tflite)) found.nearest = words, found.differing = differing;
      found.ruled = found.ruled || BeginsWith(words, "TFLite") || BeginsWith(words, "XNNPACK");
      if (differing == 0) found.words.emplace_back(words);
      return differing != 0 || of_tflite;  // of others the first one is taken
    });
    if (!found.words.empty() && missing > 0)
      found.behind =
          fmt::format(", behind {} quantised tensor{} that it did not write", missing, missing == 1 ? "" : "s");
    if (!found.words.empty() || missing == 0) break;
  }
  return found;
}

}  // namespace plumb
