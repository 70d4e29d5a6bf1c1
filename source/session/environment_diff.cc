// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "plumb/tool/bundle.h"

namespace plumb {
namespace {

using DiffJson = nlohmann::json;

struct KnownFact {
  bool is_list = false;
  std::string text;
  std::set<std::string> words;  // of a list
};

std::string TextOfValue(const DiffJson& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, DiffJson::error_handler_t::replace);
}

// Every value by its path: "cpu.model". CheckJsonDepth has bounded the recursion.
void Flatten(const DiffJson& json, const std::string& path, std::map<std::string, KnownFact>* facts) {
  if (json.is_object()) {
    for (const auto& entry : json.items())
      Flatten(entry.value(), path.empty() ? entry.key() : path + "." + entry.key(), facts);
    return;
  }
  KnownFact fact;
  fact.is_list = json.is_array();
  if (fact.is_list) {
    for (const DiffJson& word : json) fact.words.insert(TextOfValue(word));
  } else {
    fact.text = TextOfValue(json);
  }
  (*facts)[path] = std::move(fact);
}

Result<std::map<std::string, KnownFact>> ParseFacts(const std::string& text) {
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(text, "environment"));
  const DiffJson json = DiffJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", DiffJson()) != "plumb-environment" ||
      json.value("version", DiffJson()) != 1)
    return Status::CorruptModel("expected JSON with \"format\": \"plumb-environment\" and version 1");
  std::map<std::string, KnownFact> facts;
  Flatten(json, "", &facts);
  return facts;
}

// The words that the other list lacks.
std::string OnlyIn(const std::set<std::string>& words, const std::set<std::string>& others) {
  std::string text;
  for (const std::string& word : words) {
    if (others.count(word) == 0) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

}  // namespace

Result<std::vector<EnvironmentDifference>> CompareEnvironments(const std::string& a, const std::string& b) {
  auto first = ParseFacts(a);
  if (!first.ok()) return first.status().AddContext("the first environment");
  auto second = ParseFacts(b);
  if (!second.ok()) return second.status().AddContext("the second environment");
  std::map<std::string, KnownFact> all = *first;
  all.insert(second->begin(), second->end());
  std::vector<EnvironmentDifference> differences;
  for (const auto& entry : all) {
    const KnownFact one = (*first)[entry.first], other = (*second)[entry.first];
    if (one.text == other.text && one.words == other.words) continue;
    const bool lists = one.is_list || other.is_list;
    differences.push_back({entry.first, lists ? OnlyIn(one.words, other.words) : one.text,
                           lists ? OnlyIn(other.words, one.words) : other.text});
  }
  return differences;
}

Result<std::string> ReadEnvironment(const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{16} << 20;
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(folder ? path + "/environment.json" : path, kMostBytes));
  return std::string(bytes.text());
}

}  // namespace plumb
