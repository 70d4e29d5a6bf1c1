// SPDX-License-Identifier: Apache-2.0
// Was it computed in what was expected? An accidentally quantised network is aligned as what it is, and still a fault.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "check/report/util.h"
#include "plumb/report.h"

namespace plumb {
namespace {

// What an expectation allows beside f32, in the words of ComputedAs::precisions.
const std::map<std::string, std::vector<std::string>>& Allowed() {
  static const auto* allowed = new std::map<std::string, std::vector<std::string>>{
      {"fp32", {}},       {"tf32", {"tf32", "f16"}}, {"fp16", {"f16"}},
      {"bf16", {"bf16"}}, {"int8", {"int8"}},        {"int4", {"int4", "int8"}},
  };
  return *allowed;
}

}  // namespace

const std::vector<std::string>& Expectations() {
  static const auto* words =
      new std::vector<std::string>{"any", "model", "fp32", "tf32", "fp16", "bf16", "int8", "int4"};
  return *words;
}

std::vector<ComputedAs> Unexpected(const std::string& expect, const RunReport& run) {
  std::vector<ComputedAs> unexpected;
  if (expect == "any") return unexpected;
  const auto known = Allowed().find(expect);
  const std::vector<std::string> allowed = expect == "model"          ? run.own_precisions
                                           : known == Allowed().end() ? std::vector<std::string>()
                                                                      : known->second;
  std::copy_if(run.computed_as.begin(), run.computed_as.end(), std::back_inserter(unexpected),
               [&](const ComputedAs& as) {
                 return std::any_of(as.precisions.begin(), as.precisions.end(), [&](const std::string& precision) {
                   return std::find(allowed.begin(), allowed.end(), precision) == allowed.end();
                 });
               });
  return unexpected;
}

std::string ComputedAs::Describe() const {
  return fmt::format("{} in {} of {} {} ({})", what, steps, of, type.empty() ? "results" : type,
                     declared ? "declared" : "found");
}

std::string AsText(const std::vector<ComputedAs>& computed) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, computed.size()); ++i)
    text += (i == 0 ? " as " : ", ") + computed[i].Describe();
  return text + (computed.size() > kShown ? fmt::format(" and {} more", computed.size() - kShown) : "");
}

}  // namespace plumb
