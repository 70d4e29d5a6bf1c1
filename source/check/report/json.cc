// SPDX-License-Identifier: Apache-2.0
// The report that a machine reads (schema: doc/check.md, doc/check.schema.json). NaN and infinities, which JSON
// has not, are the strings "nan", "inf", "-inf".
#include <cmath>
#include <nlohmann/json.hpp>

#include "check/report/util.h"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

Json JsonNumber(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json ToJson(const DiffMetrics& m, const Shape& shape) {
  Json json;
  json["count"] = m.count;
  json["max_abs"] = JsonNumber(m.max_abs);
  json["max_rel"] = JsonNumber(m.max_rel);
  json["cosine"] = JsonNumber(m.cosine);
  json["snr_db"] = JsonNumber(m.snr_db);
  json["max_ulp"] = JsonNumber(m.max_ulp);
  json["nan"] = {m.nan_a, m.nan_b};
  json["inf"] = {m.inf_a, m.inf_b};
  json["worst"] = nullptr;
  if (m.worst >= 0) {
    json["worst"] = {{"index", m.worst},
                     {"at", Coordinates(m.worst, shape)},
                     {"value", JsonNumber(m.worst_a)},
                     {"expected", JsonNumber(m.worst_b)}};
  }
  return json;
}

Json ToJson(const OutputReport& o, bool with_golden) {
  Json json;
  json["blob"] = o.blob;
  json["slot"] = o.slot;
  json["dtype"] = DTypeName(o.dtype);
  json["shape"] = o.shape.dims();
  json["layout"] = o.layout;
  json["verdict"] = VerdictName(o.verdict);
  json["reason"] = o.reason;
  json["rule"] = o.rule;
  json["E"] = JsonNumber(o.excess);
  json["R"] = JsonNumber(o.rms_excess);
  json["R_channel"] = JsonNumber(o.channel_excess);
  json["slope"] = JsonNumber(o.slope);
  json["slope_z"] = JsonNumber(o.slope_z);
  json["bias"] = JsonNumber(o.bias);
  json["bias_z"] = JsonNumber(o.bias_z);
  json["smallest_fault"] = JsonNumber(o.smallest_fault);
  json["bound_level"] = o.level;
  json["introduced"] = ToJson(o.introduced, o.shape);
  json["inherited"] = ToJson(o.inherited, o.shape);
  json["total"] = ToJson(o.total, o.shape);
  if (with_golden) {
    json["golden"] = {
        {"compared", o.golden.compared}, {"reason", o.golden.reason}, {"conversion", VerdictName(o.golden.conversion)}};
    if (o.golden.compared) {
      json["golden"]["naive"] = ToJson(o.golden.naive, o.shape);
      json["golden"]["device"] = ToJson(o.golden.device, o.shape);
    }
  }
  return json;
}

Json NodesOf(const StepInfo& step) {
  Json nodes = Json::array();
  for (const MemberInfo& member : step.members) {
    for (const std::string& node : member.nodes) nodes.push_back(node);
  }
  return nodes;
}

Json Identity(const LayerReport& layer) {
  Json json;
  json["index"] = layer.step.index;
  json["name"] = layer.step.name;
  json["type"] = layer.step.type;
  json["outputs"] = Json::array();
  for (const PortInfo& port : layer.step.outputs) json["outputs"].push_back(port.blob);
  json["nodes"] = NodesOf(layer.step);
  return json;
}

Json ToJson(const LayerReport& layer, bool with_golden) {
  Json json;
  json["index"] = layer.step.index;
  json["name"] = layer.step.name;
  json["type"] = layer.step.type;
  json["members"] = Json::array();
  for (const MemberInfo& m : layer.step.members)
    json["members"].push_back({{"index", m.index}, {"name", m.name}, {"type", m.type}});
  json["nodes"] = NodesOf(layer.step);
  const std::vector<std::string> lines = SourceLinesOf(layer.step);
  if (!lines.empty()) json["source_lines"] = lines;
  json["device"] = layer.step.device;
  json["kernel"] = layer.step.kernel;
  json["kernel_detail"] = layer.step.detail;
  json["refused"] = layer.step.refusals;
  json["fallback"] = layer.step.fallback;
  json["seconds"] = layer.device_seconds;
  json["verdict"] = VerdictName(layer.verdict);
  json["reason"] = layer.reason;
  json["cause"] = layer.cause;
  json["outputs"] = Json::array();
  for (const OutputReport& output : layer.outputs) json["outputs"].push_back(ToJson(output, with_golden));
  return json;
}

Json Top(const Tensor& tensor) {
  Json top = Json::array();
  for (int64_t i : TopIndices(tensor, 5)) top.push_back({{"index", i}, {"value", JsonNumber(tensor.ValueAt(i))}});
  return top;
}

Json Extent(const Tensor& tensor) {
  const Range range = RangeOf(tensor);
  return {{"min", JsonNumber(range.min)}, {"max", JsonNumber(range.max)}, {"mean", JsonNumber(range.mean)}};
}

// Of an output of which something is known.
Json EffectToJson(const RunReport& run, const OutputSummary& output) {
  const OutputEffect& effect = output.effect;
  if (effect.layers.empty() && effect.moved == 0) return nullptr;
  Json layers = Json::array();
  for (const LayerEffect& layer : effect.layers) {
    layers.push_back({{"index", layer.step.index},
                      {"name", layer.step.name},
                      {"share", JsonNumber(layer.share)},
                      {"max_abs", JsonNumber(layer.max_abs)},
                      {"margin", JsonNumber(layer.margin)},
                      {"healed_by", layer.healed_by_device ? run.device : "reference"},
                      {"error_left", JsonNumber(layer.left)},
                      {"top1_healed", layer.top1_healed < 0 ? Json() : Json(layer.top1_healed)}});
  }
  return {{"max_abs", JsonNumber(effect.max_abs)},
          {"layers", std::move(layers)},
          {"others",
           {{"share", JsonNumber(effect.others)},
            {"max_abs", JsonNumber(effect.others_max_abs)},
            {"margin", JsonNumber(effect.others_margin)},
            {"wrong", effect.others_wrong}}},
          {"margin", JsonNumber(effect.margin)},
          {"moved", JsonNumber(effect.moved)},
          {"top1_without", effect.top1_without < 0 ? Json() : Json(effect.top1_without)},
          {"said", EffectSentences(run, output)}};
}

Json ToJson(const RunReport& run, const OutputSummary& output) {
  Json json;
  json["name"] = output.name;
  json["dtype"] = DTypeName(output.model_dtype.value_or(output.device.dtype()));
  json["shape"] = output.device.shape().dims();
  json["device"] = Extent(output.device);
  if (!output.reference.empty()) json["reference"] = Extent(output.reference);
  json["effect"] = EffectToJson(run, output);
  if (!IsScoreVector(output.device.shape())) return json;
  json["device"]["top5"] = Top(output.device);
  if (output.reference.empty()) return json;
  json["reference"]["top5"] = Top(output.reference);
  json["top1_changed"] = TopIndices(output.device, 1) != TopIndices(output.reference, 1);
  return json;
}

Json ToJson(const RunReport& run, const ChoiceReport& choice) {
  Json layers = Json::array();
  for (const ChoiceCause& cause : choice.layers) {
    layers.push_back({{"index", cause.step.index}, {"name", cause.step.name}, {"choices", cause.choices}});
  }
  return {
      {"index", choice.step.index},        {"name", choice.step.name},           {"choices", choice.choices},
      {"changed", choice.changed},         {"by_rounding", choice.by_rounding},  {"following", choice.following},
      {"layers", std::move(layers)},       {"unexplained", choice.unexplained},  {"margin", JsonNumber(choice.margin)},
      {"reach", JsonNumber(choice.reach)}, {"said", ChoiceSentence(run, choice)}};
}

Json ToJson(const InputMatch& match) {
  Json json;
  json["input"] = match.input;
  json["a"] = match.a;
  json["b"] = match.b;
  json["equal"] = match.equal;
  json["explanation"] = match.explanation;
  json["difference"] = ToJson(match.difference, match.shape);
  return json;
}

Json ToJson(const AskedDevice& device) {
  constexpr const char* kStates[] = {"not run", "ran", "skipped", "failed"};
  return {{"device", device.device},
          {"asked", device.by_name ? "by name" : "ALL"},
          {"state", kStates[static_cast<int>(device.state)]},
          {"error", device.error},
          {"exit_code", device.exit_code}};
}

Json ToJson(const Probe& probe) {
  if (probe.outputs.empty()) return nullptr;
  Json outputs = Json::array();
  for (const ProbedOutput& output : probe.outputs) {
    outputs.push_back({{"blob", output.blob},
                       {"result", ProbeResultName(output.result)},
                       {"relative", JsonNumber(output.relative)},
                       {"reason", output.reason}});
  }
  return {{"unwatched", probe.unwatched}, {"outputs", std::move(outputs)}};
}

Json RepeatsToJson(const Probe& probe) {
  if (probe.repeats.empty()) return nullptr;
  Json repeats = Json::array();
  for (const RepeatedRun& run : probe.repeats) {
    repeats.push_back({{"how", run.how},
                       {"runs", run.runs},
                       {"result", ProbeResultName(run.result)},
                       {"tensors", run.tensors},
                       {"changed", run.changed},
                       {"first", run.first.empty() ? Json(nullptr) : Json(run.first)},
                       {"relative", JsonNumber(run.relative)},
                       {"reason", run.reason}});
  }
  return repeats;
}

Json ToJson(const ComputedAs& as) {
  return {{"what", as.what}, {"precisions", as.precisions}, {"type", as.type}, {"steps", as.steps},
          {"of", as.of},     {"declared", as.declared}};
}

Json ToJson(const CheckedModel& checked, const RunReport& run) {
  Json json;
  json["device"] = run.device;
  json["device_description"] = run.device_description;
  json["isa"] = checked.isa;
  json["threads"] = checked.num_threads;
  json["precision"] = run.precision;
  if (!run.precision.empty()) json["algorithms"] = run.direct ? "direct" : "fast";
  json["verdict"] = VerdictName(run.verdict);
  json["summary"] = FormatSummary(checked, run);
  json["notes"] = run.notes;
  json["rests_on"] = RestsOn(checked, run);
  json["judged_as"] = run.judged_as;
  json["computed_as"] = Json::array();
  for (const ComputedAs& as : run.computed_as) json["computed_as"].push_back(ToJson(as));
  json["unexpected"] = Json::array();
  for (const ComputedAs& as : Unexpected(checked.expect, run)) json["unexpected"].push_back(as.Describe());
  json["probe"] = ToJson(run.probe);
  json["repeats"] = RepeatsToJson(run.probe);
  json["aligned"] = run.Count(Verdict::kAligned);
  json["grey"] = run.Count(Verdict::kGrey);
  json["wrong"] = run.Count(Verdict::kWrong);
  json["not_tested"] = run.Count(Verdict::kNotTested);
  json["compared_values"] = run.coverage.values;
  json["coverage"] = {{"steps", run.coverage.steps},
                      {"all_steps", run.coverage.all_steps},
                      {"values", run.coverage.values},
                      {"all_values", run.coverage.all_values},
                      {"multiply_adds", run.coverage.multiply_adds},
                      {"all_multiply_adds", run.coverage.all_multiply_adds},
                      {"outputs", run.coverage.outputs},
                      {"all_outputs", run.coverage.all_outputs}};
  json["only_named_layers"] = run.only_named_layers;
  json["not_tested_reason"] = run.why_not_tested;
  json["first_wrong"] = nullptr;
  if (run.first_wrong >= 0) json["first_wrong"] = Identity(run.layers[static_cast<size_t>(run.first_wrong)]);
  json["outputs"] = Json::array();
  for (const OutputSummary& output : run.outputs) json["outputs"].push_back(ToJson(run, output));
  json["choices"] = Json::array();
  for (const ChoiceReport& choice : run.choices) json["choices"].push_back(ToJson(run, choice));
  json["outputs_agree"] = nullptr;
  if (const auto agreement = WorstAgreement(run)) json["outputs_agree"] = JsonNumber(agreement->relative);
  json["layers"] = Json::array();
  for (const LayerReport& layer : run.layers) json["layers"].push_back(ToJson(layer, run.has_golden));
  return json;
}

}  // namespace

std::string FormatJson(const CheckResult& result, int indent) {
  const CheckedModel& checked = result.checked;
  const Conclusion conclusion = Conclude(result);
  Json json;
  json["$schema"] = "urn:plumb:check:1";  // the schema's $id
  json["format"] = "plumb-check";
  json["version"] = 1;
  json["tool"] = checked.tool_version;
  json["verdict"] = conclusion.verdict;
  json["exit_code"] = conclusion.exit_code;
  json["summary"] = conclusion.line;
  json["errors"] = Json::array();
  for (const CheckError& error : result.errors)
    json["errors"].push_back({{"message", error.message}, {"exit_code", error.exit_code}});
  json["model"] = checked.model;
  json["num_layers"] = checked.num_layers;
  json["weights"] = checked.weights;
  json["weights_generated"] = checked.weights_generated;
  json["seed"] = checked.seed;
  json["precision"] = checked.precision;
  json["min_tested"] = checked.min_tested;
  json["expect"] = checked.expect;
  json["inputs"] = checked.inputs;
  json["input_ranges"] = Json::array();
  for (const InputExtent& extent : checked.input_ranges)
    json["input_ranges"].push_back(
        {{"input", extent.input}, {"min", extent.min}, {"max", extent.max}, {"not_finite", extent.not_finite}});
  json["input_matches"] = Json::array();
  for (const InputMatch& match : checked.input_matches) json["input_matches"].push_back(ToJson(match));
  json["notes"] = checked.notes;
  json["rule"] = checked.rule;
  json["reproduce"] = WholeCommand(result);
  json["devices"] = Json::array();
  for (const AskedDevice& device : result.devices) json["devices"].push_back(ToJson(device));
  json["comparisons"] = Json::array();
  for (const FileComparison& c : result.comparisons)
    json["comparisons"].push_back({{"what", c.what}, {"verdict", VerdictName(c.verdict)}});
  json["runs"] = Json::array();
  for (const RunReport& run : result.runs) json["runs"].push_back(ToJson(checked, run));
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string FormatJson(const CheckResult& result) { return FormatJson(result, 1) + "\n"; }

}  // namespace plumb
