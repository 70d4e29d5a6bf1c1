// SPDX-License-Identifier: Apache-2.0
#include "check/integer/integer_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "check/integer/fused_part.h"
#include "check/integer/step_reader.h"
#include "check/integer/step_sources.h"
#include "check/integer/stepwise.h"
#include "op/core/op.h"
#include "plumb/model.h"

namespace plumb {
namespace {

bool BeginsWith(const std::string& words, const char* begin) { return words.rfind(begin, 0) == 0; }

// Whether the rule is one of the runtime that the model is made for, or nobody's.
bool IsOwn(const std::string& words, MadeFor runtime) {
  for (const auto& [own, name] : {std::pair(MadeFor::kTnn, "TNN"), {MadeFor::kNcnn, "ncnn"}, {MadeFor::kMnn, "MNN"}}) {
    if (runtime == own || BeginsWith(words, name)) return runtime == own && BeginsWith(words, name);
  }
  if (runtime == MadeFor::kLiteRt) return !BeginsWith(words, "ONNX Runtime");
  return !BeginsWith(words, "TFLite") && !BeginsWith(words, "XNNPACK");
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
            F take, const Tensor& written = {}) {
  const MadeFor runtime = MadeForOf(scene);
  auto step = ReadIntegerStep(scene, part.group, part.inputs, blob);
  if (step.ok() && written.dtype() == DType::kI64)
    NoteWritten({written.data<int64_t>(), written.data<int64_t>() + written.NumElements()}, &*step);
  for (const IntegerRule& rule : rules) {
    const auto integers = step.ok() ? IntegersBy(rule, *step, *scene.blobs) : Result<Tensor>(step.status());
    if (integers.ok() && !take(rule.words, *integers)) return;
  }
  for (const StepwiseRule& rule : StepwiseRules()) {
    const bool asked = IsOwn(rule.words, runtime) || (!HasOwnRules(runtime) && BeginsWith(rule.words, "ONNX Runtime"));
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

const std::vector<IntegerRule>& AllIntegerRules(MadeFor runtime) {
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
  static const std::vector<IntegerRule> tnn = join({TnnRules(), TnnResizeRules()});
  static const std::vector<IntegerRule> ncnn = NcnnRules(), mnn = MnnRules();
  if (runtime == MadeFor::kNcnn) return ncnn;
  if (runtime == MadeFor::kMnn) return mnn;
  return runtime == MadeFor::kTnn ? tnn : runtime == MadeFor::kLiteRt ? tflite : onnx;
}

namespace {

// The blob of the QuantizeLinear whose integers a blob is, moved or not; "": another operator's.
std::string QuantisedAs(const LayerGroup& group, std::string blob) {
  for (int maker = MakerIn(group, blob); maker >= 0; maker = MakerIn(group, blob)) {
    const Layer& layer = *group.members[static_cast<size_t>(maker)];
    if (layer.kind == OpKind::kPlumbQuantizeLinear) return blob;
    if (!GetOp(layer.kind).moves_data_only || layer.inputs.empty()) break;
    blob = layer.inputs[0];
  }
  return "";
}

// What a DequantizeLinear of one scale, or of one for each channel of TNN's, read to give these reals.
Result<Tensor> IntegersBehind(const Scene& scene, const Layer& dequantizer, const Tensor& reals) {
  const std::vector<float> scales = ChannelScalesOf(scene, dequantizer.inputs[1]);
  const auto scale = scales.empty() ? OneNumber(scene, dequantizer.inputs[1]) : static_cast<double>(scales[0]);
  const auto zero = dequantizer.inputs.size() > 2 ? SameNumber(scene, dequantizer.inputs[2]) : std::optional<double>(0);
  if (!scale.has_value() || !zero.has_value() || !(*scale > 0) || !IsFloat(reals.dtype()))
    return Status::NotSupported("several scales, or no reals");
  PLUMB_ASSIGN_OR_RETURN(Tensor integers, Tensor::Create(DType::kI64, reals.shape()));
  for (int64_t i = 0; i < reals.NumElements(); ++i) {
    const auto own = scales.empty() ? *scale : static_cast<double>(ScaleAt(scales, 1, reals.shape(), i));
    const double real = reals.ValueAt(i), steps = std::nearbyint(real / own);
    if (!(std::fabs(steps) < 0x1p31) || static_cast<float>(steps * own) != static_cast<float>(real))
      return Status::NotSupported("no such integers");
    integers.data<int64_t>()[i] = static_cast<int64_t>(steps + *zero);
  }
  return integers;
}

}  // namespace

QuantisedOutput QuantisedOutputOf(const Scene& scene, const StepRecord& record, size_t output) {
  QuantisedOutput found;
  found.written = record.group.outputs[output].blob;
  found.integers = record.device[output];
  const int maker = MadeForOf(scene) == MadeFor::kTnn ? MakerIn(record.group, found.written) : -1;
  if (maker >= 0 && record.group.members[static_cast<size_t>(maker)]->kind == OpKind::kPlumbDequantizeLinear) {
    const Layer& dequantizer = *record.group.members[static_cast<size_t>(maker)];
    auto integers = IntegersBehind(scene, dequantizer, found.integers);
    if (integers.ok()) found.written = dequantizer.inputs[0], found.integers = std::move(*integers);
  }
  if (found.integers.dtype() == DType::kI64) found.blob = QuantisedAs(record.group, found.written);
  return found;
}

Result<Tensor> MovedIntegers(const Scene& scene, const StepRecord& record, const std::string& blob,
                             const std::string& output, const Tensor& integers) {
  if (blob == output) return integers;
  const CutGroup part = CutTo(record.group, record.inputs, {output}, {{blob, integers}});
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayValues(part.group, part.inputs, *scene.blobs));
  return replay.values[0];
}

CutGroup PartThatMakes(const Scene& scene, const StepRecord& record, const std::string& blob) {
  size_t known = 0;
  std::optional<CutGroup> part = PartOf(AllIntegerRules(MadeForOf(scene)), scene, record, blob, &known);
  return part.has_value() ? std::move(*part) : CutTo(record.group, record.inputs, {blob});
}

std::optional<Tensor> NearestByRule(const Scene& scene, const StepRecord& record, size_t output) {
  const QuantisedOutput quantised = QuantisedOutputOf(scene, record, output);
  if (quantised.blob.empty() || quantised.written != record.group.outputs[output].blob) return std::nullopt;
  std::optional<Tensor> nearest;
  int64_t least = 0;
  ByEach(AllIntegerRules(MadeForOf(scene)), scene, PartThatMakes(scene, record, quantised.blob), quantised.blob,
         [&](const char*, const Tensor& integers) {
           auto moved = MovedIntegers(scene, record, quantised.blob, quantised.written, integers);
           const bool comparable = moved.ok() && moved->shape() == quantised.integers.shape();
           const int64_t differing = comparable ? CountDiffering(*moved, quantised.integers) : 0;
           if (comparable && (!nearest.has_value() || differing < least))
             nearest = std::move(*moved), least = differing;
           return true;
         });
  return nearest;
}

FollowedRule FindIntegerRule(const Scene& scene, const StepRecord& record, size_t output) {
  FollowedRule found;
  const QuantisedOutput quantised = QuantisedOutputOf(scene, record, output);
  found.quantised = !quantised.blob.empty();
  if (!found.quantised) return found;
  const MadeFor runtime = MadeForOf(scene);
  const bool of_tflite = runtime == MadeFor::kLiteRt;
  std::vector<std::vector<IntegerRule>> families = {OnnxRuntimeRules(), TfliteRules(), XnnpackRules()};
  if (of_tflite) std::rotate(families.begin(), families.begin() + 1, families.end());
  if (HasOwnRules(runtime)) families = {AllIntegerRules(runtime)};
  const auto ask = [&](const CutGroup& part) {
    ByEach(
        AllIntegerRules(runtime), scene, part, quantised.blob,
        [&](const char* words, const Tensor& integers) {
          const auto moved = MovedIntegers(scene, record, quantised.blob, quantised.written, integers);
          if (!moved.ok()) return true;
          const int64_t differing = CountDiffering(*moved, quantised.integers);
          const bool nearer = found.nearest.empty() || differing < found.differing;
          if (nearer && IsOwn(words, runtime)) found.nearest = words, found.differing = differing;
          found.ruled = found.ruled || BeginsWith(words, "TFLite") || BeginsWith(words, "XNNPACK");
          if (differing == 0) found.words.emplace_back(words);
          return differing != 0 || of_tflite;  // of others the first one is taken
        },
        quantised.written == quantised.blob ? quantised.integers : Tensor());
  };
  const auto fused = runtime == MadeFor::kTnn ? FusedPartOf(record.group, record.inputs, quantised.blob) : std::nullopt;
  if (fused.has_value()) ask(fused->part);
  if (!found.words.empty()) found.behind = ", its layers fused";
  for (const auto& family : families) {
    if (!found.words.empty()) break;
    size_t missing = 0;
    const std::optional<CutGroup> part = PartOf(family, scene, record, quantised.blob, &missing);
    if (!part.has_value()) continue;
    ask(*part);
    if (!found.words.empty() && missing > 0)
      found.behind =
          fmt::format(", behind {} quantised tensor{} that it did not write", missing, missing == 1 ? "" : "s");
    if (!found.words.empty() || missing == 0) break;
  }
  return found;
}

}  // namespace plumb
