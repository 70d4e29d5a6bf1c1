// SPDX-License-Identifier: Apache-2.0
#include "common/vocabulary.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "common/cli.h"
#include "plumb/model.h"

namespace plumb {
namespace {

// clang-format off
const std::vector<Word>& Words() {
  static const std::vector<Word> words = {
      {"model",           "m", {},                   Values::kOne},
      {"proto",           "p", {"mp"},               Values::kOne},
      {"model-type",      "",  {"mt"},               Values::kOne},
      {"network-type",    "",  {"nt"},               Values::kOne},
      {"shape",           "",  {"is", "in"},         Values::kShapes},
      {"constant",        "",  {},                   Values::kPairs},
      {"signature",       "",  {},                   Values::kOne},
      {"seed",            "",  {},                   Values::kOne},
      {"random-weights",  "",  {},                   Values::kOne},
      {"device",          "d", {"dt"},               Values::kDevices},
      {"device-index",    "",  {"di"},               Values::kOne},
      {"threads",         "t", {"th"},               Values::kOne},
      {"cpus",            "",  {"dl"},               Values::kNumbers},
      {"max-isa",         "",  {},                   Values::kOne},
      {"precision",       "",  {"sp", "pr"},         Values::kOne},
      {"max-memory",      "",  {},                   Values::kOne},
      {"fallback",        "",  {},                   Values::kOne},
      {"algorithms",      "",  {},                   Values::kOne},
      {"kernel",          "",  {},                   Values::kPairs},
      {"input",           "i", {"input-file"},       Values::kFiles},
      {"plain-input",     "",  {"ip"},               Values::kOne},
      {"input-type",      "",  {"it"},               Values::kOne},
      {"input-range",     "",  {},                   Values::kNumbers},
      {"inputs",          "",  {},                   Values::kOne},
      {"results",         "",  {},                   Values::kOne},
      {"executor",        "",  {},                   Values::kOne},
      {"workers",         "",  {},                   Values::kNumbers},
      {"part",            "",  {},                   Values::kOne},
      {"samples-only",    "",  {},                   Values::kOne},
      {"probe",           "",  {},                   Values::kOne},
      {"headroom",        "",  {},                   Values::kOne},
      {"write-inputs",    "",  {},                   Values::kOne},
      {"bias",            "n", {"bi"},               Values::kNumbers},
      {"scale",           "s", {"sc"},               Values::kNumbers},
      {"channel-order",   "",  {},                   Values::kOne},
      {"input-layout",    "",  {},                   Values::kOne},
      {"output-layout",   "",  {},                   Values::kOne},
      {"iterations",      "",  {"ic"},               Values::kOne},
      {"warmup",          "",  {"wc"},               Values::kOne},
      {"profile",         "",  {},                   Values::kOne},
      {"output",          "o", {"op"},               Values::kOne},
      {"operator",        "",  {"op"},               Values::kOne},  // where a tool declares it before --output
      {"attr",            "",  {"attribute"},        Values::kPairs},
      {"output-folder",   "",  {"do"},               Values::kOne},
      {"failing-folder",  "",  {"du"},               Values::kOne},
      {"output-dir",      "",  {"od"},               Values::kOne},
      {"values-only",     "",  {"fc"},               Values::kOne},
      {"outputs-only",    "e", {},                   Values::kOne},
      {"reference",       "f", {"ref-file"},         Values::kOne},
      {"double-batch",    "b", {},                   Values::kOne},
      {"layer-files",     "a", {},                   Values::kOne},
      {"rule",            "",  {},                   Values::kOne},
      {"atol",            "",  {},                   Values::kOne},
      {"rtol",            "",  {},                   Values::kOne},
      {"subject",         "",  {},                   Values::kOne},
      {"golden",          "",  {},                   Values::kOne},
      {"names",           "",  {},                   Values::kOne},
      {"pair-by-order",   "",  {},                   Values::kOne},
      {"layout",          "",  {},                   Values::kOne},
      {"arithmetic",      "",  {},                   Values::kOne},
      {"expect",          "",  {},                   Values::kOne},
      {"tensors",         "",  {},                   Values::kPairs},
      {"dtype",           "",  {},                   Values::kOne},
      {"weights",         "",  {},                   Values::kOne},
      {"suggest-names",   "",  {},                   Values::kOne},
      {"by-value",        "",  {},                   Values::kOne},
      {"values-a",        "",  {},                   Values::kOne},
      {"values-b",        "",  {},                   Values::kOne},
      {"epsilon",         "",  {},                   Values::kOne},
      {"strict",          "",  {},                   Values::kOne},
      {"format",          "",  {},                   Values::kOne},
      {"align",           "",  {},                   Values::kOne},
      {"align-inputs",    "",  {},                   Values::kOne},
      {"align-tolerance", "",  {},                   Values::kOne},
      {"layers",          "",  {},                   Values::kOne},
      {"min-tested",      "",  {},                   Values::kOne},
      {"all",             "",  {},                   Values::kOne},
      {"full",            "",  {},                   Values::kOne},
      {"no-source-lines", "",  {},                   Values::kOne},
      {"json",            "",  {},                   Values::kOutputFile},
      {"csv",             "",  {},                   Values::kOutputFile},
      {"junit",           "",  {},                   Values::kOutputFile},
      {"markdown",        "",  {},                   Values::kOutputFile},
      {"html",            "",  {},                   Values::kOutputFile},
      {"repeat",          "",  {},                   Values::kNumbers},
      {"poison",          "",  {},                   Values::kOne},
      {"vary-threads",    "",  {},                   Values::kNumbers},
      {"batch",           "",  {},                   Values::kNumbers},
      {"extract",         "",  {},                   Values::kOne},
      {"bundle",          "",  {},                   Values::kOne},
      {"with-model",      "",  {},                   Values::kOne},
      {"environment",     "",  {},                   Values::kFiles},
      {"run",             "",  {},                   Values::kOne},
      {"flags",           "",  {},                   Values::kWords},
      {"env",             "",  {},                   Values::kPairs},
      {"each",            "",  {},                   Values::kOne},
      {"wheels",          "",  {},                   Values::kOne},
      {"with",            "",  {},                   Values::kWords},
      {"python",          "",  {},                   Values::kOne},
      {"max-cases",       "",  {},                   Values::kOne},
      {"seconds",         "",  {},                   Values::kOne},
      {"show",            "",  {},                   Values::kOne},
      {"sarif",           "",  {},                   Values::kOutputFile},
      {"model-explorer",  "",  {},                   Values::kOutputFile},
      {"baseline",        "",  {},                   Values::kOne},
      {"update-baseline", "",  {},                   Values::kOne},
      {"reason",          "",  {},                   Values::kOne},
      {"until",           "",  {},                   Values::kOne},
      {"adb",             "",  {},                   Values::kOne},
      {"ssh",             "",  {},                   Values::kOne},
      {"ssh-config",      "",  {},                   Values::kOne},
      {"runner",          "",  {},                   Values::kOne},
      {"binaries",        "",  {},                   Values::kOne},
      {"device-folder",   "",  {},                   Values::kOne},
      {"judge",           "",  {},                   Values::kOne},
      {"part-size",       "",  {},                   Values::kOne},
      {"program",         "",  {},                   Values::kOne},
      {"push",            "",  {},                   Values::kOne},
      {"timeout",         "",  {},                   Values::kOne},
      {"silence",         "",  {},                   Values::kOne},
      {"clean",           "",  {},                   Values::kOne},
      {"color",           "",  {},                   Values::kOne},
      {"verbose",         "v", {},                   Values::kOne},
      {"quiet",           "q", {},                   Values::kOne},
      {"help",            "h", {},                   Values::kOne},
      {"version",         "",  {},                   Values::kOne},
  };
  return words;
}

struct Refusal {
  const char* spelling;
  const char* why;
};
constexpr Refusal kRefusals[] = {
    {"half", "weights are written as the model has them; --precision NORMAL runs in f16"},
    {"int8", "Plumb does not quantise models"},
    {"align-batch", "model_check -b doubles the batch"},
    {"debug", "what went wrong is always said"},
    {"tp", "TensorFlow's graphs are not read; export ONNX"},
    {"lp", "Plumb has no Metal device, whose library this names"},
};

// Taken, with a note: what they ask for is so anyway.
constexpr Refusal kNothingToDo[] = {
    {"optimize", "constants are always folded, and nothing else changes the layers"},
    {"not-fold-const", "constants are always folded"},
    {"et", "no device of Plumb tunes kernels"},
    {"ub", "TNNTest takes it and does nothing, too"},
};
// clang-format on

std::string WithDashes(std::string_view text) {
  std::string name(text);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// "0.0," goes on behind a space, as in TNN's documentation: -n 0.0, 0.0, 0.0.
bool AreNumbers(std::string text) {
  if (text.size() > 1 && text.back() == ',') text.pop_back();
  for (const std::string& part : SplitList(text)) {
    char* end = nullptr;
    std::strtod(part.c_str(), &end);
    if (part.empty() || *end != '\0') return false;
  }
  return !text.empty();
}

bool IsShape(const std::string& text) {
  const size_t mark = text.find_last_of("=[:");
  if (mark == std::string::npos || mark == 0 || mark + 1 == text.size()) return false;
  return text.find_first_not_of("0123456789,]", mark + 1) == std::string::npos;
}

bool IsDevices(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == ','; });
}

// FILE or NAME=FILE.
bool NamesFile(const std::string& text) { return PathExists(text) || PathExists(text.substr(text.find('=') + 1)); }

}  // namespace

bool HasSpelling(const Word& word, std::string_view spelling) {
  const std::string name = WithDashes(spelling);
  const auto& others = word.spellings;
  return !name.empty() &&
         (name == word.name || name == word.letter || std::find(others.begin(), others.end(), name) != others.end());
}

const Word* FindWord(std::string_view spelling) {
  const auto found =
      std::find_if(Words().begin(), Words().end(), [&](const Word& word) { return HasSpelling(word, spelling); });
  return found == Words().end() ? nullptr : &*found;
}

std::vector<std::string> SplitValues(Values values, const std::string& text) {
  std::vector<std::string> parts = SplitList(text);
  const bool split = values == Values::kFiles && !NamesFile(text) && std::all_of(parts.begin(), parts.end(), NamesFile);
  return split && !parts.empty() ? parts : std::vector<std::string>{text};
}

namespace {

template <size_t kRows>
const char* WhyOf(std::string_view spelling, const Refusal (&rows)[kRows]) {
  const std::string name = WithDashes(spelling);
  for (const Refusal& row : rows) {
    if (name == row.spelling) return row.why;
  }
  return nullptr;
}

}  // namespace

const char* WhyRefused(std::string_view spelling) { return WhyOf(spelling, kRefusals); }
const char* WhyNothingToDo(std::string_view spelling) { return WhyOf(spelling, kNothingToDo); }

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool PathExists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

bool IsModelFile(const std::string& path) { return FindModelFormat(path) != nullptr; }

namespace {

// "--threads 1" is one: no option of ours has a blank in it.
bool IsWordOfList(const std::string& text) {
  return !text.empty() && (text[0] != '-' || text.find(' ') != std::string::npos) && !IsModelFile(text);
}

}  // namespace

bool ContinuesList(Values values, const std::string& text) {
  switch (values) {
    case Values::kOne:
    case Values::kOutputFile: return false;
    case Values::kDevices: return !text.empty() && IsDevices(text) && !PathExists(text);
    case Values::kNumbers: return AreNumbers(text);
    case Values::kShapes: return IsShape(text) && !PathExists(text);
    case Values::kPairs: return text.find('=') != std::string::npos && text[0] != '-' && !PathExists(text);
    case Values::kWords: return IsWordOfList(text);
    case Values::kFiles: return !IsModelFile(text) && NamesFile(text);
  }
  return false;
}

}  // namespace plumb
