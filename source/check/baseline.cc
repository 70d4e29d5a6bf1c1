#include "plumb/baseline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
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
  return Status::CorruptModel("baseline '" + path + "': " + what);
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
  for (const RunReport& run : runs) checks_[key][run.device] = LayersOf(run);
}

std::vector<std::string> Baseline::Compare(const std::string& key, const std::vector<RunReport>& runs) const {
  std::vector<std::string> worse;
  const auto check = checks_.find(key);
  for (const RunReport& run : runs) {
    if (check == checks_.end() || check->second.count(run.device) == 0) {
      worse.push_back(run.device + ": the baseline knows nothing of '" + key + "' on this device; update it");
      continue;
    }
    const Layers now = LayersOf(run);
    for (const auto& [name, before] : check->second.at(run.device)) {
      const auto it = now.find(name);
      const std::string where = run.device + ", layer " + name + ": ";
      if (it == now.end()) {
        worse.push_back(where + "it was " + VerdictName(before.verdict) + ", and is not there any more");
      } else if (Badness(it->second.verdict) > Badness(before.verdict)) {
        worse.push_back(where + "it was " + VerdictName(before.verdict) + ", and is " +
                        VerdictName(it->second.verdict) + " (E " + Number(before.excess, 3) + " -> " +
                        Number(it->second.excess, 3) + ")");
      } else if (IsWorse(it->second.excess, before.excess) || IsWorse(it->second.rms_excess, before.rms_excess)) {
        worse.push_back(where + "E " + Number(before.excess, 3) + " -> " + Number(it->second.excess, 3) + ", R " +
                        Number(before.rms_excess, 3) + " -> " + Number(it->second.rms_excess, 3));
      }
    }
  }
  return worse;
}

Status Baseline::Write(const std::string& path) const {
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
  return WriteFile(path, json.dump(1, ' ', false, BaselineJson::error_handler_t::replace) + "\n");
}

Result<Baseline> Baseline::Read(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes file, ReadFile(path));
  const BaselineJson json = BaselineJson::parse(file.text(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", BaselineJson()) != "plumb-baseline") {
    return Broken(path, "it is no JSON with \"format\": \"plumb-baseline\"");
  }
  if (json.value("version", BaselineJson()) != 1 || !json.contains("checks") || !json["checks"].is_object()) {
    return Broken(path, "expected version 1 and an object \"checks\"");
  }
  Baseline baseline;
  for (const auto& check : json["checks"].items()) {
    if (!check.value().is_object()) return Broken(path, "'" + check.key() + "' is no object");
    for (const auto& device : check.value().items()) {
      const std::string where = "'" + check.key() + "', " + device.key();
      if (!device.value().is_object()) return Broken(path, where + ": expected an object of layers");
      for (const auto& layer : device.value().items()) {
        const BaselineJson& entry = layer.value();
        const Verdict* verdict = IsEntry(entry) ? FindVerdict(entry["verdict"].get<std::string>()) : nullptr;
        if (verdict == nullptr) return Broken(path, where + ", layer " + layer.key() + ": expected verdict, E and R");
        baseline.checks_[check.key()][device.key()][layer.key()] = {*verdict, FromNumber(entry["E"]),
                                                                    FromNumber(entry["R"])};
      }
    }
  }
  return baseline;
}

}  // namespace plumb
