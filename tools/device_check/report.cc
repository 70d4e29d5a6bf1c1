// SPDX-License-Identifier: Apache-2.0
#include "device_check/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "plumb/tool/file.h"
#include "plumb/tool/terminal.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr uintmax_t kMostBytes = uintmax_t{256} << 20;
constexpr int kMostNested = 64;
constexpr const char* kOfMachine = "| ";
constexpr size_t kNarrowest = 20;

int NestingOf(const std::string& text) {
  int depth = 0, most = 0;
  bool inside = false;  // a string
  for (size_t i = 0; i < text.size(); ++i) {
    if (inside && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      inside = !inside;
    } else if (!inside && (text[i] == '[' || text[i] == '{')) {
      most = std::max(most, ++depth);
    } else if (!inside && (text[i] == ']' || text[i] == '}')) {
      --depth;
    }
  }
  return most;
}

// Reads fields; the first that is not as it should be is kept, and what is read after it does not count.
class Fields {
 public:
  explicit Fields(std::string machine) : machine_(std::move(machine)) {}

  const Status& status() const { return status_; }
  void Fail(const std::string& sentence) {
    if (status_.ok()) status_ = Status::CorruptModel(fmt::format("{}: its report: {}", machine_, sentence));
  }
  std::string Text(const Json& at, const std::string& path, const char* key) {
    const Json& field = Field(at, path, key, "a text", &Json::is_string);
    return field.is_string() ? field.get<std::string>() : "";
  }
  bool Flag(const Json& at, const std::string& path, const char* key) {
    const Json& field = Field(at, path, key, "true or false", &Json::is_boolean);
    return field.is_boolean() && field.get<bool>();
  }
  int64_t Whole(const Json& at, const std::string& path, const char* key, int64_t most) {
    const std::string expected = fmt::format("a whole number from 0 to {}", most);
    const Json& field = Field(at, path, key, expected, &Json::is_number_integer);
    if (!field.is_number_integer()) return 0;
    const bool beyond = field.is_number_unsigned() && field.get<uint64_t>() > static_cast<uint64_t>(most);
    if (!beyond && field.get<int64_t>() >= 0 && field.get<int64_t>() <= most) return field.get<int64_t>();
    Wrong(path + key, expected, field);
    return 0;
  }
  double Number(const Json& at, const std::string& path, const char* key) {
    const Json& field = Field(at, path, key, "a number", &Json::is_number);
    return field.is_number() ? field.get<double>() : 0;
  }
  int Count(const Json& at, const std::string& path, const char* key) {
    return static_cast<int>(Whole(at, path, key, std::numeric_limits<int>::max()));
  }
  const Json& Object(const Json& at, const std::string& path, const char* key) {
    return Field(at, path, key, "an object", &Json::is_object);
  }
  // Calls `read` with each object of a list and its path.
  template <class Read>
  void Each(const Json& at, const std::string& path, const char* key, const Read& read) {
    const Json& list = Field(at, path, key, "a list", &Json::is_array);
    for (size_t i = 0; list.is_array() && i < list.size() && status_.ok(); ++i) {
      const std::string one = fmt::format("{}{}[{}]", path, key, i);
      if (!list[i].is_object()) return Wrong(one, "an object", list[i]);
      read(list[i], one + ".");
    }
  }
  size_t OneOf(const Json& at, const std::string& path, const char* key, const std::vector<std::string>& words) {
    const std::string text = Text(at, path, key);
    const size_t found = static_cast<size_t>(std::find(words.begin(), words.end(), text) - words.begin());
    if (found < words.size()) return found;
    std::string expected;
    for (const std::string& word : words) expected += (expected.empty() ? "" : ", ") + word;
    Fail(fmt::format("{}{}: expected one of {}, found '{}'", path, key, expected, text));
    return 0;
  }
  Verdict VerdictOf(const Json& at, const std::string& path) {
    constexpr Verdict kAll[] = {Verdict::kAligned, Verdict::kNotTested, Verdict::kGrey, Verdict::kWrong};
    std::vector<std::string> words;
    for (const Verdict verdict : kAll) words.emplace_back(VerdictName(verdict));
    return kAll[OneOf(at, path, "verdict", words)];
  }

 private:
  void Wrong(const std::string& path, const std::string& expected, const Json& found) {
    const bool shown = found.is_primitive() && !found.is_null();
    const std::string text =
        shown ? fmt::format(" ({})", found.dump(-1, ' ', false, Json::error_handler_t::replace)) : "";
    Fail(fmt::format("{}: expected {}, found {} {}{}", path, expected,
                     found.is_array() || found.is_object() ? "an" : "a", found.type_name(), text.substr(0, 60)));
  }
  const Json& Field(const Json& at, const std::string& path, const char* key, const std::string& expected,
                    bool (Json::*is)() const noexcept) {
    static const Json nothing;
    const auto found = at.is_object() ? at.find(key) : at.end();
    if (found == at.end()) {
      Fail(fmt::format("{}{}: expected {}, found nothing", path, key, expected));
      return nothing;
    }
    if (!((*found).*is)()) Wrong(path + key, expected, *found);
    return *found;
  }

  std::string machine_;
  Status status_;
};

// What its layers say is what it says, or too little of it was compared (check/core/coverage.cc).
void CheckRun(const RunReport& run, const std::string& path, Fields* fields) {
  Verdict worst = Verdict::kNotTested;
  const LayerReport* decides = nullptr;
  int tested = 0;
  for (const LayerReport& layer : run.layers) {
    if (layer.verdict == Verdict::kNotTested) continue;
    ++tested;
    if (decides != nullptr && layer.verdict <= worst) continue;
    worst = layer.verdict;
    decides = &layer;
  }
  const bool little = run.verdict == Verdict::kNotTested && worst != Verdict::kWrong;
  if (run.verdict != worst && !little) {
    fields->Fail(fmt::format("{}verdict: '{}' contradicts its layers, of which {} is '{}'", path,
                             VerdictName(run.verdict), decides == nullptr ? "each" : "'" + decides->step.name + "'",
                             VerdictName(worst)));
  }
  if (run.coverage.steps != tested || run.coverage.all_steps != static_cast<int>(run.layers.size())) {
    fields->Fail(fmt::format("{}coverage: {} of {} steps contradicts its layers, of which {} of {} were tested", path,
                             run.coverage.steps, run.coverage.all_steps, tested, run.layers.size()));
  }
}

RunReport ReadRun(const Json& json, const std::string& path, Fields* fields) {
  RunReport run;
  run.device = fields->Text(json, path, "device");
  run.verdict = fields->VerdictOf(json, path);
  run.why_not_tested = fields->Text(json, path, "not_tested_reason");
  run.only_named_layers = fields->Flag(json, path, "only_named_layers");
  const Json& coverage = fields->Object(json, path, "coverage");
  const std::string in = path + "coverage.";
  run.coverage.steps = fields->Count(coverage, in, "steps");
  run.coverage.all_steps = fields->Count(coverage, in, "all_steps");
  run.coverage.values = fields->Whole(coverage, in, "values", std::numeric_limits<int64_t>::max());
  run.coverage.all_values = fields->Whole(coverage, in, "all_values", std::numeric_limits<int64_t>::max());
  run.coverage.multiply_adds = fields->Number(coverage, in, "multiply_adds");
  run.coverage.all_multiply_adds = fields->Number(coverage, in, "all_multiply_adds");
  run.coverage.outputs = fields->Count(coverage, in, "outputs");
  run.coverage.all_outputs = fields->Count(coverage, in, "all_outputs");
  fields->Each(json, path, "layers", [&](const Json& layer, const std::string& at) {
    LayerReport read;
    read.step.name = fields->Text(layer, at, "name");
    read.verdict = fields->VerdictOf(layer, at);
    run.layers.push_back(std::move(read));
  });
  if (fields->status().ok()) CheckRun(run, path, fields);
  return run;
}

AskedDevice ReadDevice(const Json& json, const std::string& path, Fields* fields) {
  constexpr AskedDevice::State kStates[] = {AskedDevice::State::kNotRun, AskedDevice::State::kRan,
                                            AskedDevice::State::kSkipped, AskedDevice::State::kFailed};
  AskedDevice device;
  device.device = fields->Text(json, path, "device");
  device.state = kStates[fields->OneOf(json, path, "state", {"not run", "ran", "skipped", "failed"})];
  device.error = fields->Text(json, path, "error");
  device.exit_code = static_cast<int>(fields->Whole(json, path, "exit_code", 4));
  return device;
}

CheckResult ReadResult(const Json& json, Fields* fields) {
  CheckResult result;
  result.checked.weights_generated = fields->Flag(json, "", "weights_generated");
  fields->Each(json, "", "input_matches", [&](const Json& match, const std::string& at) {
    InputMatch read;
    read.input = fields->Text(match, at, "input");
    read.a = fields->Text(match, at, "a");
    read.b = fields->Text(match, at, "b");
    read.equal = fields->Flag(match, at, "equal");
    result.checked.input_matches.push_back(std::move(read));
  });
  fields->Each(json, "", "errors", [&](const Json& error, const std::string& at) {
    result.errors.push_back(
        {fields->Text(error, at, "message"), static_cast<int>(fields->Whole(error, at, "exit_code", 4))});
  });
  fields->Each(json, "", "devices", [&](const Json& device, const std::string& at) {
    result.devices.push_back(ReadDevice(device, at, fields));
  });
  fields->Each(json, "", "comparisons", [&](const Json& comparison, const std::string& at) {
    result.comparisons.push_back({fields->Text(comparison, at, "what"), fields->VerdictOf(comparison, at)});
  });
  fields->Each(json, "", "runs",
               [&](const Json& run, const std::string& at) { result.runs.push_back(ReadRun(run, at, fields)); });
  return result;
}

// As a terminal shows it; a tabulator is a space.
std::string OneLine(std::string line) {
  while (!line.empty() && line.back() == '\r') line.pop_back();
  std::replace(line.begin(), line.end(), '\t', ' ');
  return TerminalText(line);
}

// A terminal would go on in its first column, where our own lines begin.
std::string Broken(const std::string& line, size_t width) {
  if (width == 0) return line;
  const size_t columns = std::max(width, kNarrowest) - std::string_view(kOfMachine).size();
  std::string broken;
  size_t used = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const size_t color_end = line[i] == '\033' ? line.find('m', i) : std::string::npos;
    const unsigned char byte = static_cast<unsigned char>(line[i]);
    const bool begins = (byte & 0xC0) != 0x80;                                                 // a character of UTF-8
    const size_t more = color_end != std::string::npos || !begins ? 0 : byte >= 0xE1 ? 2 : 1;  // wide ones take two
    if (used + more > columns) broken += std::string("\n") + kOfMachine, used = 0;
    used += more;
    if (color_end != std::string::npos) {
      broken += line.substr(i, color_end + 1 - i);
      i = color_end;
    } else {
      broken += line[i];
    }
  }
  return broken;
}

}  // namespace

Result<Json> ReadMachineJson(const std::string& what, const std::string& path) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(path, error);
  if (!error && bytes > kMostBytes) {
    return Status::CorruptModel(fmt::format("{}: expected at most {} bytes, found {}", what, kMostBytes, bytes));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  return ParseMachineJson(what, text);
}

Result<Json> ParseMachineJson(const std::string& what, const std::string& text) {
  if (const int depth = NestingOf(text); depth > kMostNested) {
    return Status::CorruptModel(
        fmt::format("{}: expected JSON nested {} deep at most, found {}", what, kMostNested, depth));
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) return json;
  return Status::CorruptModel(
      fmt::format("{}: expected a JSON object, found {}", what, json.is_discarded() ? "no JSON" : json.type_name()));
}

Result<Conclusion> ConcludeReport(const std::string& machine, const Json& report) {
  Fields fields(machine);
  const CheckResult result = ReadResult(report, &fields);
  const int reported = static_cast<int>(fields.Whole(report, "", "exit_code", 4));
  PLUMB_RETURN_IF_ERROR(fields.status());
  Conclusion conclusion = Conclude(result);
  if (conclusion.exit_code != reported) {
    fields.Fail(fmt::format("exit_code: {} contradicts what it holds, which makes {}", reported, conclusion.exit_code));
    return fields.status();
  }
  return conclusion;
}

std::string MachineWords(const std::string& text, size_t width) {
  std::string words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = OneLine(text.substr(begin, end - begin));
    const bool colored = line.find('\033') != std::string::npos;
    words += kOfMachine + Broken(line, width) + (colored ? "\033[0m\n" : "\n");
    begin = end + 1;
  }
  return words;
}

Status CheckPulledFolder(const std::string& machine, const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::file_status status = at->symlink_status(error);
    if (fs::is_regular_file(status) || fs::is_directory(status)) continue;
    return Status::CorruptModel(
        fmt::format("{}: its dump: expected files and folders only, found '{}', which is neither", machine,
                    at->path().filename().string()));
  }
  return error ? Status::IoError(fmt::format("cannot read '{}': {}", folder, error.message())) : Status::Ok();
}

}  // namespace plumb
