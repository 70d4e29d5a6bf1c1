// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/baseline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "check/core/coverage.h"

namespace plumb {
namespace {

using BaselineJson = nlohmann::json;  // sorted, so that two files differ where their contents do

BaselineJson ToNumber(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  return value;
}

double FromNumber(const BaselineJson& json) {
  if (json.is_number()) return json.get<double>();
  return json == "nan" ? std::nan("") : std::numeric_limits<double>::infinity();
}

// How bad: not tested is worse than grey, since it may hide anything.
int Badness(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAligned: return 0;
    case Verdict::kGrey: return 1;
    case Verdict::kNotTested: return 2;
    case Verdict::kWrong: return 3;
  }
  return 3;
}

bool IsWorse(double now, double before) {
  if (std::isnan(before) || std::isinf(before)) return false;
  return !(now <= 1.1 * before + 0.1);
}

Status Broken(const std::string& path, const std::string& what) {
  return Status::CorruptModel(fmt::format("baseline '{}': {}", path, what));
}

const Verdict* FindVerdict(const std::string& name) {
  static const Verdict kAll[] = {Verdict::kAligned, Verdict::kNotTested, Verdict::kGrey, Verdict::kWrong};
  const auto it = std::find_if(std::begin(kAll), std::end(kAll), [&](Verdict v) { return name == VerdictName(v); });
  return it == std::end(kAll) ? nullptr : it;
}

bool HasNumber(const BaselineJson& json, const char* name) {
  const BaselineJson value = json.value(name, BaselineJson());
  return value.is_number() || value == "nan" || value == "inf";
}

bool IsEntry(const BaselineJson& json) {
  return json.is_object() && json.value("verdict", BaselineJson()).is_string() && HasNumber(json, "E") &&
         HasNumber(json, "R") && json.value("reason", BaselineJson("")).is_string() &&
         json.value("until", BaselineJson("")).is_string();
}

// "00001 relu1"
std::string KeyOf(const LayerReport& layer) { return fmt::format("{:05} {}", layer.step.index, layer.step.name); }

}  // namespace

Baseline::Layers Baseline::LayersOf(const RunReport& run) {
  Layers layers;
  for (const LayerReport& layer : run.layers) {
    Entry entry;
    entry.verdict = layer.verdict;
    for (const OutputReport& output : layer.outputs) {
      entry.excess = std::max(entry.excess, output.excess);
      entry.rms_excess = std::max(entry.rms_excess, output.rms_excess);
    }
    layers[KeyOf(layer)] = entry;
  }
  return layers;
}

void Baseline::Update(const std::string& key, const std::vector<RunReport>& runs, const KnownDeviation& known) {
  for (const RunReport& run : runs) {
    Baseline found;
    found.checks_[key][run.device] = LayersOf(run);
    for (auto& [name, entry] : found.checks_[key][run.device]) {
      if (entry.verdict != Verdict::kAligned) entry.known = known;
    }
    Merge(found, run.only_named_layers);
  }
}

void Baseline::Merge(const Baseline& found, bool partly) {
  for (const auto& [key, devices] : found.checks_) {
    for (const auto& [device, layers] : devices) {
      Layers& known = checks_[key][device];
      Layers now = layers;
      for (auto& [name, entry] : now) {
        const auto before = known.find(name);
        const bool keeps = entry.verdict != Verdict::kAligned && entry.known.reason.empty();
        if (keeps && before != known.end()) entry.known = before->second.known;
      }
      if (partly) now.insert(known.begin(), known.end());  // the others as they were
      known = std::move(now);
    }
  }
}

const Baseline::Layers* Baseline::Find(const std::string& key, const std::string& device) const {
  const auto check = checks_.find(key);
  if (check == checks_.end()) return nullptr;
  const auto found = check->second.find(device);
  return found == check->second.end() ? nullptr : &found->second;
}

std::vector<std::string> Baseline::Accept(const std::string& key, const std::string& today, double min_tested,
                                          RunReport* run) const {
  std::vector<std::string> said;
  const Layers* layers = Find(key, run->device);
  if (layers == nullptr) return said;
  const Layers now = LayersOf(*run);
  for (LayerReport& layer : run->layers) {
    const std::string name = KeyOf(layer);
    const auto before = layers->find(name);
    if (layer.verdict != Verdict::kWrong || before == layers->end()) continue;
    const KnownDeviation& known = before->second.known;
    if (known.reason.empty() || !Worse(before->second, now.at(name)).empty()) continue;
    const bool expired = !known.until.empty() && known.until < today;
    const std::string until = known.until.empty() ? "" : fmt::format(" ({} {})", expired ? "until" : "to", known.until);
    said.push_back(fmt::format("{}, layer {}: {}{}: {}", run->device, name,
                               expired ? "its known deviation has expired" : "known to be wrong", until, known.reason));
    if (expired) continue;
    layer.verdict = Verdict::kGrey;
    layer.reason =
        fmt::format("known to be wrong{}: {}{}{}", until, known.reason, layer.reason.empty() ? "" : "; ", layer.reason);
  }
  run->first_wrong = -1;
  for (size_t i = 0; i < run->layers.size() && run->first_wrong < 0; ++i) {
    if (run->layers[i].verdict == Verdict::kWrong) run->first_wrong = static_cast<int>(i);
  }
  if (run->verdict != Verdict::kWrong || run->first_wrong >= 0) return said;
  run->verdict = Verdict::kGrey;
  ConcludeCoverage(min_tested, run);
  return said;
}

std::vector<std::string> Baseline::Healed(const std::string& key, const std::vector<RunReport>& runs) const {
  std::vector<std::string> healed;
  for (const RunReport& run : runs) {
    const Layers* layers = Find(key, run.device);
    if (layers == nullptr) continue;
    for (const auto& [name, now] : LayersOf(run)) {
      const auto before = layers->find(name);
      if (before == layers->end() || now.verdict != Verdict::kAligned) continue;
      const Entry& was = before->second;
      if (was.verdict != Verdict::kWrong && was.verdict != Verdict::kGrey) continue;
      healed.push_back(fmt::format("{}, layer {}: it was {} (E {}{}{}), and is aligned (E {}); update the baseline",
                                   run.device, name, VerdictName(was.verdict), Number(was.excess, 3),
                                   was.known.reason.empty() ? "" : ", known: ", was.known.reason,
                                   Number(now.excess, 3)));
    }
  }
  return healed;
}

std::string Baseline::Today() {
  const std::time_t now = std::time(nullptr);
  std::tm day = {};
  gmtime_r(&now, &day);
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

bool Baseline::IsDay(const std::string& text) {
  constexpr const char* kForm = "dddd-dd-dd";
  if (text.size() != std::strlen(kForm)) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kForm[i] == 'd' ? std::isdigit(static_cast<unsigned char>(text[i])) == 0 : text[i] != kForm[i]) return false;
  }
  const int month = std::stoi(text.substr(5, 2)), day = std::stoi(text.substr(8, 2));
  constexpr int kDays[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month >= 1 && month <= 12 && day >= 1 && day <= kDays[month - 1];
}

// What is worse about a layer; "" when nothing is.
std::string Baseline::Worse(const Entry& before, const Entry& now) {
  if (Badness(now.verdict) > Badness(before.verdict)) {
    return fmt::format("it was {}, and is {} (E {} -> {})", VerdictName(before.verdict), VerdictName(now.verdict),
                       Number(before.excess, 3), Number(now.excess, 3));
  }
  if (!IsWorse(now.excess, before.excess) && !IsWorse(now.rms_excess, before.rms_excess)) return "";
  return fmt::format("E {} -> {}, R {} -> {}", Number(before.excess, 3), Number(now.excess, 3),
                     Number(before.rms_excess, 3), Number(now.rms_excess, 3));
}

std::vector<std::string> Baseline::Compare(const std::string& key, const std::vector<RunReport>& runs) const {
  std::vector<std::string> worse;
  const auto check = checks_.find(key);
  for (const RunReport& run : runs) {
    if (check == checks_.end() || check->second.count(run.device) == 0) {
      worse.push_back(fmt::format("{}: the baseline knows nothing of '{}' on this device; update it", run.device, key));
      continue;
    }
    const Layers &before = check->second.at(run.device), now = LayersOf(run);
    Layers all = before;
    all.insert(now.begin(), now.end());
    for (const auto& entry : all) {
      const auto was = before.find(entry.first), is = now.find(entry.first);
      std::string what;
      if (was == before.end()) {
        what = "the baseline does not know it; update it";
      } else if (is == now.end()) {
        if (run.only_named_layers) continue;
        what = fmt::format("it was {}, and is not there any more", VerdictName(was->second.verdict));
      } else {
        what = Worse(was->second, is->second);
      }
      if (!what.empty()) worse.push_back(fmt::format("{}, layer {}: {}", run.device, entry.first, what));
    }
  }
  return worse;
}

Status Baseline::Write(const std::string& path) const { return WriteFile(path, Text()); }

std::string Baseline::Text() const {
  BaselineJson checks = BaselineJson::object();
  for (const auto& [key, devices] : checks_) {
    for (const auto& [device, layers] : devices) {
      BaselineJson& json = checks[key][device] = BaselineJson::object();
      for (const auto& [name, entry] : layers) {
        json[name] = {
            {"verdict", VerdictName(entry.verdict)}, {"E", ToNumber(entry.excess)}, {"R", ToNumber(entry.rms_excess)}};
        if (!entry.known.reason.empty()) json[name]["reason"] = entry.known.reason;
        if (!entry.known.until.empty()) json[name]["until"] = entry.known.until;
      }
    }
  }
  const BaselineJson json = {{"format", "plumb-baseline"}, {"version", 1}, {"checks", checks}};
  return json.dump(1, ' ', false, BaselineJson::error_handler_t::replace) + "\n";
}

Result<Baseline> Baseline::Read(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes file, ReadFile(path));
  return Parse(file.text(), path);
}

Result<Baseline> Baseline::Parse(std::string_view text, const std::string& path) {
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(text, path));
  const BaselineJson json = BaselineJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", BaselineJson()) != "plumb-baseline") {
    return Broken(path, "it is no JSON with \"format\": \"plumb-baseline\"");
  }
  if (json.value("version", BaselineJson()) != 1 || !json.contains("checks") || !json["checks"].is_object()) {
    return Broken(path, "expected version 1 and an object \"checks\"");
  }
  Baseline baseline;
  for (const auto& check : json["checks"].items()) {
    if (!check.value().is_object()) return Broken(path, fmt::format("'{}' is no object", check.key()));
    for (const auto& device : check.value().items()) {
      const std::string where = fmt::format("'{}', {}", check.key(), device.key());
      if (!device.value().is_object()) return Broken(path, where + ": expected an object of layers");
      for (const auto& layer : device.value().items()) {
        const BaselineJson& entry = layer.value();
        const Verdict* verdict = IsEntry(entry) ? FindVerdict(entry["verdict"].get<std::string>()) : nullptr;
        if (verdict == nullptr)
          return Broken(path, fmt::format("{}, layer {}: expected verdict, E and R", where, layer.key()));
        const KnownDeviation known = {entry.value("reason", std::string()), entry.value("until", std::string())};
        if (!known.until.empty() && !IsDay(known.until))
          return Broken(path, fmt::format("{}, layer {}: \"until\": expected a day such as 2027-03-31, found '{}'",
                                          where, layer.key(), known.until));
        baseline.checks_[check.key()][device.key()][layer.key()] = {*verdict, FromNumber(entry["E"]),
                                                                    FromNumber(entry["R"]), known};
      }
    }
  }
  return baseline;
}

}  // namespace plumb
