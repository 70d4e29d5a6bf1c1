// SPDX-License-Identifier: Apache-2.0
#include "session/sample_results.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "dump/checksum.h"
#include "plumb/tool/file.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

std::string Dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json ToJson(const SampleResult& result, const std::string& device, const std::string& inputs) {
  Json json = {{"device", device}, {"sample", result.name}};
  if (!result.error.empty()) {
    json["error"] = result.error;
    return json;
  }
  json["inputs"] = inputs;
  json["changed"] = result.changed;
  json["output"] = result.output;
  json["relative"] = std::isfinite(result.relative) ? Json(result.relative) : Json("infinite");
  if (result.top1_device < 0) return json;
  json["top1_device"] = result.top1_device, json["top1_reference"] = result.top1_reference;
  json["margin"] = result.margin, json["moved"] = result.moved;
  return json;
}

// What ToJson wrote; throws where a field has another type.
SampleResult SampleOf(const Json& json) {
  SampleResult result;
  result.name = json.value("sample", "");
  result.error = json.value("error", "");
  result.changed = json.value("changed", false);
  result.output = json.value("output", "");
  const Json relative = json.value("relative", Json(0));
  result.relative = relative.is_string() ? INFINITY : relative.get<double>();
  result.top1_device = json.value("top1_device", int64_t{-1});
  result.top1_reference = json.value("top1_reference", int64_t{-1});
  result.margin = json.value("margin", 0.0);
  result.moved = json.value("moved", 0.0);
  return result;
}

void Add(const std::string& name, const Tensor& tensor, Checksum* sum) {
  const std::string what = fmt::format("{} {} {};", name, DTypeName(tensor.dtype()), tensor.shape().ToString());
  sum->Add(what.data(), what.size());
  if (tensor.bytes() > 0) sum->Add(tensor.raw(), tensor.bytes());
}

// Of all that decides what the network computes.
std::string ChecksumOf(const Graph& graph) {
  Checksum sum;
  for (const auto& [name, tensor] : graph.constants) Add(name, tensor, &sum);
  for (const Layer& layer : graph.layers) {
    std::string text = layer.type;
    for (const auto& [name, value] : ListParams(layer)) text += fmt::format(" {}={}", name, value);
    text += fmt::format(" [{}] [{}]", fmt::join(layer.inputs, ","), fmt::join(layer.outputs, ","));
    sum.Add(text.data(), text.size());
    for (const auto& [name, tensor] : layer.resources) Add(name, tensor, &sum);
  }
  return sum.Text();
}

Json HeadOf(const ManyOptions& options, const Graph& graph) {
  const ImageOptions& image = options.inputs.image;
  return {{"format", "plumb-samples"},
          {"version", 1},
          {"model", options.model},
          {"checksum", ChecksumOf(graph)},
          {"precision", PrecisionName(options.network.precision)},
          {"bias", image.bias},
          {"scale", image.scale},
          {"channel_order", image.order == ChannelOrder::kBgr ? "bgr" : "rgb"},
          {"layout", options.inputs.layout}};
}

// The first field of `head` that the line has otherwise; "": none.
std::string Otherwise(const Json& line, const Json& head) {
  for (const auto& [field, wanted] : head.items()) {
    const std::string found = line.contains(field) ? Dumped(line[field]) : "none";
    if (found != Dumped(wanted)) return fmt::format("{} {}, here {}", field, Printable(found), Dumped(wanted));
  }
  return "";
}

}  // namespace

std::string ChecksumOf(const std::map<std::string, Tensor>& tensors) {
  Checksum sum;
  for (const auto& [name, tensor] : tensors) Add(name, tensor, &sum);
  return sum.Text();
}

Status SampleResults::Foreign(const std::string& found) const {
  return Status::InvalidArgument(fmt::format(
      "'{}': expected the results of this network with these options, found {}; give another file, or remove it", path_,
      found));
}

Status SampleResults::Open(const ManyOptions& options, const Graph& graph) {
  path_ = options.results, device_ = options.device;
  if (path_.empty()) return Status::Ok();
  const Json head = HeadOf(options, graph);
  auto text = ReadWholeFile(path_);
  if (!text.ok() && text.status().code() != StatusCode::kNotFound) return text.status();
  std::string kept = text.ok() ? text->substr(0, text->rfind('\n') + 1) : "";
  if (kept.empty() && text.ok() && !text->empty()) return Foreign("no line of results");
  if (kept.empty()) kept = Dumped(head) + "\n";
  int number = 0;
  for (size_t begin = 0; begin < kept.size();) {
    const size_t end = kept.find('\n', begin);
    const Json line = Json::parse(kept.substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    ++number;
    if (!line.is_object()) return Foreign(fmt::format("line {}, which is no JSON object", number));
    const std::string otherwise = number == 1 ? Otherwise(line, head) : "";
    if (!otherwise.empty()) return Foreign(otherwise);
    try {
      Done done{SampleOf(line), line.value("inputs", "")};
      if (line.value("device", "") == device_) known_[done.result.name] = std::move(done);
    } catch (const Json::exception&) {
      return Foreign(fmt::format("line {}, whose fields have other types", number));
    }
  }
  PLUMB_RETURN_IF_ERROR(WriteFile(path_, kept));
  out_.open(path_, std::ios::app);
  return Status::Ok();
}

const SampleResult* SampleResults::Find(const std::string& sample, const std::string& inputs) const {
  const auto done = known_.find(sample);
  const bool same = done != known_.end() && done->second.inputs == inputs && done->second.result.error.empty();
  return same ? &done->second.result : nullptr;  // what failed is tried again
}

Status SampleResults::Add(const SampleResult& result, const std::string& inputs) {
  if (path_.empty()) return Status::Ok();
  out_ << Dumped(ToJson(result, device_, inputs)) << "\n" << std::flush;
  return out_.good() ? Status::Ok() : Status::IoError(fmt::format("'{}' cannot be written", path_));
}

}  // namespace plumb
