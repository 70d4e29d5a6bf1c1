// SPDX-License-Identifier: Apache-2.0
#include "device/shared/kernel_choice.h"

#include <algorithm>
#include <cstdlib>

#include "plumb/tool/printing.h"

namespace plumb {
namespace {

// The variable's value, one of `words`, or "" when it is not set.
Result<std::string> WordOf(const char* variable, const std::vector<std::string>& words) {
  const char* value = std::getenv(variable);
  const std::string text = value == nullptr ? "" : value;
  if (text.empty() || std::find(words.begin(), words.end(), text) != words.end()) return text;
  return Status::InvalidArgument(UnknownWord(variable, text, words));
}

}  // namespace

Result<std::optional<bool>> CpuShapesFromEnvironment(const char* variable) {
  PLUMB_ASSIGN_OR_RETURN(const std::string word, WordOf(variable, {"cpu", "gpu"}));
  return word.empty() ? std::optional<bool>() : word == "cpu";
}

Result<std::optional<int>> WinogradTileFromEnvironment(const char* variable, const std::vector<int>& tiles) {
  std::vector<std::string> words = {"off"};
  for (const int tile : tiles) words.push_back(std::to_string(tile));
  PLUMB_ASSIGN_OR_RETURN(const std::string word, WordOf(variable, words));
  if (word.empty()) return std::optional<int>();
  return std::optional<int>(word == "off" ? 0 : std::stoi(word));
}

}  // namespace plumb
