// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool BeginsWith(std::string_view word, std::string_view text) {
  return word.size() >= text.size() && EditDistance(word.substr(0, text.size()), text) == 0;
}

}  // namespace

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = static_cast<int>(i + j);
        continue;
      }
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) && Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::string NearestWord(std::string_view text, const std::vector<std::string>& words) {
  if (text.size() > 64) return "";  // nobody misspells a word so
  std::string nearest, begun;
  int best = static_cast<int>(text.size()) / 3 + 1, num_begun = 0;
  for (const std::string& word : words) {
    if (const int distance = EditDistance(text, word); distance < best) {
      best = distance;
      nearest = word;
    }
    if (text.size() >= 3 && BeginsWith(word, text)) {
      begun = word;
      ++num_begun;
    }
  }
  return nearest.empty() && num_begun == 1 ? begun : nearest;
}

std::string DidYouMean(std::string_view text, const std::vector<std::string>& words) {
  const std::string nearest = NearestWord(text, words);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string UnknownWord(std::string_view what, std::string_view text, const std::vector<std::string>& words) {
  std::string message = std::string(what) + ": expected ";
  for (size_t i = 0; i < words.size(); ++i) {
    message += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return fmt::format("{}, found '{}'{}", message, text, DidYouMean(text, words));
}

}  // namespace plumb
