// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/baseline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

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
         HasNumber(json, "R");
}

}  // namespace

Baseline::Layers Baseline::LayersOf(const RunReport& run) {
  Layers layers;
  for (const LayerReport& layer : run.layers) {
    char index[16];
    std::snprintf(index, sizeof(index), "%05d ", layer.step.index);
    Entry entry;
    entry.verdict = layer.verdict;
    for (const OutputReport& output : layer.outputs) {
      entry.excess = std::max(entry.excess, output.excess);
      entry.rms_excess = std::max(entry.rms_excess, output.rms_excess);
    }
    layers[index + layer.step.name] = entry;
  }
  return layers;
}

void Baseline::Update(const std::string& key, const std::vector<RunReport>& runs) {
  for (const RunReport& run : runs) {
    Baseline found;
    found.checks_[key][run.device] = LayersOf(run);
    Merge(found, run.only_named_layers);
  }
}

void Baseline::Merge(const Baseline& found, bool partly) {
  for (const auto& [key, devices] : found.checks_) {
    for (const auto& [device, layers] : devices) {
      Layers& known = checks_[key][device];
      Layers now = layers;
      if (partly) now.insert(known.begin(), known.end());  // the others as they were
      known = std::move(now);
    }
  }
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
        baseline.checks_[check.key()][device.key()][layer.key()] = {*verdict, FromNumber(entry["E"]),
                                                                    FromNumber(entry["R"])};
      }
    }
  }
  return baseline;
}

}  // namespace plumb
