// SPDX-License-Identifier: Apache-2.0
#include "session/weight_cause.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace plumb {

std::string WordsForAxes(const std::vector<int>& axes) {
  if (axes == std::vector<int>{2, 3, 1, 0}) return " (HWIO, where OIHW is expected)";
  if (axes == std::vector<int>{0, 2, 3, 1}) return " (OHWI, where OIHW is expected)";
  if (axes == std::vector<int>{0, 3, 1, 2}) return " (OIHW, where OHWI is expected)";
  if (axes == std::vector<int>{3, 2, 0, 1}) return " (from HWIO to OIHW, which it was already)";
  if (axes == std::vector<int>{1, 0}) return " ([in][out], where [out][in] is expected)";
  return "";
}

std::string CauseOfDifference(const WeightSet& a, const WeightSet& b, const WeightPairing& pairing, size_t i, size_t j,
                              const WeightMatch& match) {
  for (size_t other = 0; other < a.tensors.size(); ++other) {
    if (other == i || a.tensors[other].value.NumElements() != b.tensors[j].value.NumElements()) continue;
    const WeightMatch held = MatchWeights(a.tensors[other], b.tensors[j], true);
    if (held.kind == WeightMatch::kNone) continue;
    const int partner = pairing.partners()[other].place;
    const bool both = partner >= 0 && MatchWeights(a.tensors[i], b.tensors[static_cast<size_t>(partner)], true).kind !=
                                          WeightMatch::kNone;
    return fmt::format("{} '{}'", both ? "is exchanged with" : "holds the values of", a.tensors[other].name);
  }
  const std::string difference = DifferenceOfWeights(a.tensors[i].value, b.tensors[j].value);
  const bool one_factor = difference.find(" times ") != std::string::npos;
  if (match.kind != WeightMatch::kScaled || one_factor) return difference;
  std::vector<double> factors;  // of channels that have one
  std::copy_if(match.factors.begin(), match.factors.end(), std::back_inserter(factors),
               [](double factor) { return !std::isnan(factor); });
  const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
  return fmt::format("is scaled per output channel, by {:.4g} to {:.4g}, which no batch norm of the original explains",
                     *least, *most);
}

}  // namespace plumb
