// SPDX-License-Identifier: Apache-2.0
#include "samples/sample_results.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "dump/checksum.h"
#include "plumb/tool/file.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/support.h"

namespace plumb {

using Json = nlohmann::ordered_json;

namespace {

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
  Json head = {{"format", "plumb-samples"},
               {"version", 1},
               {"model", options.model},
               {"checksum", ChecksumOf(graph)},
               {"precision", PrecisionName(options.network.precision)},
               {"bias", image.bias},
               {"scale", image.scale},
               {"channel_order", image.order == ChannelOrder::kBgr ? "bgr" : "rgb"},
               {"layout", options.inputs.layout}};
  if (options.subject.given()) head["subject"] = options.subject.path;
  if (options.golden.given()) head["golden"] = options.golden.path;
  if (options.network.direct) head["algorithms"] = "direct";
  if (!options.network.kernels.empty()) head["kernels"] = options.network.kernels;
  return head;
}

// The first field of `head` that the line has otherwise; "": none.
std::string Otherwise(const Json& line, const Json& head) {
  for (const auto& [field, wanted] : head.items()) {
    const std::string found = line.contains(field) ? Dumped(line[field]) : "none";
    if (found != Dumped(wanted)) return fmt::format("{} {}, here {}", field, Printable(found), Dumped(wanted));
  }
  for (const auto& [field, found] : line.items()) {
    if (!head.contains(field)) return fmt::format("{} {}, here none", Printable(field), Printable(Dumped(found)));
  }
  return "";
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

constexpr int kMostDeaths = 2;

}  // namespace

std::string ChecksumOf(const std::vector<const std::map<std::string, Tensor>*>& values) {
  Checksum sum;
  for (const auto* tensors : values) {
    for (const auto& [name, tensor] : *tensors) Add(name, tensor, &sum);
  }
  return sum.Text();
}

std::string WithoutDied(const std::string& text) {
  std::string kept;
  for (const std::string& line : LinesOf(text)) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("died")) kept += line + "\n";
  }
  return kept;
}

std::string JoinResults(const std::vector<std::string>& texts, const std::vector<std::string>& names) {
  std::map<std::string, size_t> place;
  for (const std::string& name : names) place.emplace(name, place.size());
  std::string joined;
  std::vector<std::string> devices;
  std::map<std::string, std::map<std::pair<size_t, std::string>, std::string>> lines;  // by device, place and sample
  for (const std::string& text : texts) {
    for (const std::string& line : LinesOf(text)) {
      const Json json = Json::parse(line, nullptr, false);
      if (!json.is_object()) continue;  // cut off by the end of its writer
      if (joined.empty() && json.contains("format")) joined = line + "\n";
      const auto is_text = [&](const char* field) { return json.contains(field) && json[field].is_string(); };
      if (!is_text("sample") || !is_text("device")) continue;
      const std::string name = json["sample"], device = json["device"];
      if (lines.count(device) == 0) devices.push_back(device);
      const auto at = place.find(name);
      lines[device][{at == place.end() ? place.size() : at->second, name}] = line;
    }
  }
  for (const std::string& device : devices) {
    for (const auto& [at, line] : lines[device]) joined += line + "\n";
  }
  return joined;
}

Status SampleResults::OfOthers(const std::string& found) const {
  return Status::InvalidArgument(fmt::format(
      "'{}': expected the results of this network with these options, found {}; give another file, or remove it", path_,
      found));
}

Status SampleResults::Open(const ManyOptions& options, const Graph& graph) {
  path_ = options.results, device_ = options.device, says_begun_ = options.says_begun;
  if (path_.empty()) return Status::Ok();
  const Json head = HeadOf(options, graph);
  auto text = ReadWholeFile(path_);
  if (!text.ok() && text.status().code() != StatusCode::kNotFound) return text.status();
  std::string kept = text.ok() ? text->substr(0, text->rfind('\n') + 1) : "";
  if (kept.empty() && text.ok() && !text->empty()) return OfOthers("no line of results");
  if (kept.empty()) kept = Dumped(head) + "\n";
  PLUMB_RETURN_IF_ERROR(ReadLines(kept, Dumped(head)));
  PLUMB_RETURN_IF_ERROR(WriteFile(path_, kept));
  out_.open(path_, std::ios::app);
  return AddThoseThatDied();
}

Status SampleResults::ReadLines(const std::string& text, const std::string& head) {
  int number = 0;
  for (const std::string& one : LinesOf(text)) {
    const Json line = Json::parse(one, nullptr, false);
    ++number;
    if (!line.is_object()) return OfOthers(fmt::format("line {}, which is no JSON object", number));
    const bool is_head = number == 1 || line.contains("format");  // of files that were put one behind the other
    const std::string otherwise = is_head ? Otherwise(line, Json::parse(head)) : "";
    if (!otherwise.empty()) return OfOthers(otherwise);
    if (is_head) continue;
    try {
      Done done{SampleOf(line), line.value("inputs", ""), line.value("died", false)};
      if (line.value("device", "") != device_) continue;
      if (line.contains("begun")) {
        ++begun_[line["begun"].get<std::string>()];
        continue;
      }
      begun_.erase(done.result.name);
      known_[done.result.name] = std::move(done);
    } catch (const Json::exception&) {
      return OfOthers(fmt::format("line {}, whose fields have other types", number));
    }
  }
  return Status::Ok();
}

Status SampleResults::AddThoseThatDied() {
  for (const auto& [name, times] : begun_) {
    if (!says_begun_ || times < kMostDeaths) continue;
    Done& done = known_[name];
    done.result = {};
    done.result.name = name;
    done.result.error = fmt::format("the process that ran it ended in the middle, {} times", times);
    done.final = true;
    Json line = ToJson(done.result, device_, "");
    line["died"] = true;
    PLUMB_RETURN_IF_ERROR(Write(line));
  }
  return Status::Ok();
}

const SampleResult* SampleResults::Find(const std::string& sample, const std::string& inputs) const {
  const auto done = known_.find(sample);
  if (done == known_.end()) return nullptr;
  const bool same = !inputs.empty() && done->second.inputs == inputs && done->second.result.error.empty();
  return same || done->second.final ? &done->second.result : nullptr;
}

Status SampleResults::Begin(const std::string& sample) {
  if (!says_begun_) return Status::Ok();
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return Status::InvalidArgument(fmt::format("'{}' was taken away", path_));
  return Write(Json{{"device", device_}, {"begun", sample}});
}

Status SampleResults::Close(const std::vector<std::string>& names) {
  if (path_.empty() || says_begun_) return Status::Ok();
  out_.close();
  PLUMB_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path_));
  const std::string joined = JoinResults({text}, names);
  return joined == text ? Status::Ok() : WriteFile(path_, joined);
}

Status SampleResults::Add(const SampleResult& result, const std::string& inputs) {
  return Write(ToJson(result, device_, inputs));
}

Status SampleResults::Write(const Json& line) {
  if (path_.empty()) return Status::Ok();
  out_ << Dumped(line) << "\n" << std::flush;
  return out_.good() ? Status::Ok() : Status::IoError(fmt::format("'{}' cannot be written", path_));
}

}  // namespace plumb
