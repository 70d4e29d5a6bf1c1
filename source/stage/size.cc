// SPDX-License-Identifier: Apache-2.0
#include "stage/size.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace plumb {
namespace {

struct Rule {
  const char* words;
  int64_t (*size)(double exact);
};
constexpr Rule kRoundings[] = {
    {"cut off", [](double exact) { return static_cast<int64_t>(exact); }},
    {"rounded", [](double exact) { return static_cast<int64_t>(std::nearbyint(exact)); }},
    {"rounded up", [](double exact) { return static_cast<int64_t>(std::ceil(exact)); }},
};

// A picture that keeps its ratio: of one told side the other follows.
void AddRatioRules(const SizeChoice& choice, std::vector<std::string>* rules) {
  const bool wide = choice.before.width >= choice.before.height;
  const int64_t short_before = wide ? choice.before.height : choice.before.width;
  const int64_t long_before = wide ? choice.before.width : choice.before.height;
  const int64_t short_after = wide ? choice.after.height : choice.after.width;
  const int64_t long_after = wide ? choice.after.width : choice.after.height;
  const double ratio = static_cast<double>(long_before) / static_cast<double>(short_before);
  std::vector<std::string> of_short, of_long;
  for (const Rule& rule : kRoundings) {
    if (rule.size(static_cast<double>(short_after) * ratio) == long_after)
      of_short.push_back(fmt::format("short side {}, the long one {}", short_after, rule.words));
    if (rule.size(static_cast<double>(long_after) / ratio) == short_after)
      of_long.push_back(fmt::format("long side {}, the short one {}", long_after, rule.words));
  }
  // People tell numbers that halve often: 256, 640.
  const auto halves = [](int64_t side) { return side & -side; };
  if (halves(long_after) > halves(short_after)) of_short.swap(of_long);
  rules->insert(rules->end(), of_short.begin(), of_short.end());
  rules->insert(rules->end(), of_long.begin(), of_long.end());
}

std::vector<std::string> RulesOf(const SizeChoice& choice, bool framed) {
  std::vector<std::string> rules;
  const PictureSize& after = choice.after;
  if (choice.before.height <= 0 || choice.before.width <= 0) return rules;
  if (after.height == after.width) rules.push_back(fmt::format("a square of {}", after.height));
  if (framed && after.height != after.width) {
    for (const int64_t stride : {64, 32, 16, 8}) {
      if (after.height % stride != 0 || after.width % stride != 0) continue;
      rules.push_back(fmt::format("a rectangle, sides multiples of {}", stride));
      break;
    }
  }
  if (!framed) AddRatioRules(choice, &rules);
  rules.push_back(fmt::format("{} x {} whatever the ratio", after.height, after.width));
  return rules;
}

// The first that the other side does not have.
std::string OwnRule(const std::vector<std::string>& rules, const std::vector<std::string>& others) {
  for (const std::string& rule : rules) {
    if (std::find(others.begin(), others.end(), rule) == others.end()) return rule;
  }
  return "";
}

}  // namespace

std::string DescribeSizes(const SizeChoice& original, const SizeChoice& port, bool framed) {
  if (original.after == port.after) return "";
  const std::vector<std::string> ours = RulesOf(original, framed), theirs = RulesOf(port, framed);
  const bool shared = std::any_of(ours.begin(), ours.end(), [&](const std::string& rule) {
    return std::find(theirs.begin(), theirs.end(), rule) != theirs.end();
  });
  if (shared && !(original.before == port.before)) return "";
  return fmt::format("the size: the original's is {} x {} (h x w; {}), the port's is {} x {} ({})",
                     original.after.height, original.after.width, OwnRule(ours, theirs), port.after.height,
                     port.after.width, OwnRule(theirs, ours));
}

}  // namespace plumb
