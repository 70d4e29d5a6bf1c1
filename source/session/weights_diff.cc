// SPDX-License-Identifier: Apache-2.0
// DiffWeights: each pair of constants judged, folds undone, and what has no partner.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "plumb/weights.h"
#include "session/weight_cause.h"

namespace plumb {
namespace {

class WeightsJudge {
 public:
  WeightsJudge(const WeightSet& original, const WeightSet& converted, const WeightsOptions& options)
      : a_(original), b_(converted), options_(options), pairing_(original, converted) {}

  WeightsReport Run() {
    for (size_t i = 0; i < a_.tensors.size(); ++i) {
      const int partner = pairing_.partners()[i].place;
      if (partner >= 0 && fits_.count(i) == 0)
        matches_[i] = MatchWeights(a_.tensors[i], b_.tensors[static_cast<size_t>(partner)], false);
    }
    ChooseLayouts();
    for (size_t i = 0; i < a_.tensors.size(); ++i) Fold(i);
    FoldAlone();
    for (size_t i = 0; i < a_.tensors.size(); ++i) Judge(i);
    CompareEpsilons();
    for (size_t i = 0; i < a_.tensors.size(); ++i) {
      if (pairing_.partners()[i].place < 0 && used_.count(i) == 0 && !Missing(i))
        report_.only_original.push_back(a_.tensors[i].name);
    }
    for (size_t j = 0; j < b_.tensors.size(); ++j) {
      if (!pairing_.taken(j)) report_.only_converted.push_back(b_.tensors[j].name);
    }
    return std::move(report_);
  }

 private:
  const Tensor* ValueAt(const WeightSet& set, int place) const {
    return place < 0 ? nullptr : &set.tensors[static_cast<size_t>(place)].value;
  }

  WeightsPair Row(size_t i, const WeightMatch& match) const {
    WeightsPair row;
    row.original = a_.tensors[i].name;
    row.shape = a_.tensors[i].value.shape();
    const WeightPairing::Partner& partner = pairing_.partners()[i];
    if (partner.place >= 0) row.converted = b_.tensors[static_cast<size_t>(partner.place)].name;
    row.paired_by = partner.by;
    row.max_abs = match.max_abs;
    return row;
  }

  // A file without a graph does not say what its axes are. Two weights or more that all want one order say it.
  void ChooseLayouts() {
    if (a_.has_graph && b_.has_graph) return;
    std::map<int, std::map<std::vector<int>, int>> votes;
    for (const auto& [i, match] : matches_) {
      const bool tells = match.kind == WeightMatch::kEqual || match.kind == WeightMatch::kRounded;
      if (tells) ++votes[a_.tensors[i].value.shape().rank()][match.axes];
    }
    for (const auto& [rank, orders] : votes) {
      const auto most = std::max_element(orders.begin(), orders.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      if (most->first.empty() || most->second < 2) continue;
      layouts_[rank] = most->first;
      report_.notes.push_back(fmt::format("{} tensors of {} axes stand in the order {} of the original's", most->second,
                                          rank, AxesText(most->first)));
    }
  }

  bool HasItsLayout(size_t i, const std::vector<int>& axes) const {
    const auto layout = layouts_.find(a_.tensors[i].value.shape().rank());
    return axes == (layout == layouts_.end() ? std::vector<int>() : layout->second);
  }

  // What is scaled per channel, and the norm that did it; its bias with it.
  void Fold(size_t i) {
    const auto match = matches_.find(i);
    if (match == matches_.end() || match->second.kind != WeightMatch::kScaled) return;
    const auto fit = FitNorm(a_, match->second.factors, std::max(match->second.tolerance, 2e-5), options_.epsilon);
    if (!fit) return;
    fits_[i] = *fit;
    const auto weight = static_cast<size_t>(pairing_.partners()[i].place);
    UseNorm(*fit);
    FoldBias(i, *fit, WeightPairing::BiasOf(a_, i), WeightPairing::BiasOf(b_, weight));
  }

  void UseNorm(const NormFit& fit) {
    for (const int place : {fit.norm->gamma, fit.norm->beta, fit.norm->mean, fit.norm->variance}) {
      if (place >= 0) used_.insert(static_cast<size_t>(place));
    }
  }

  // `own`: the bias of the layer itself; `other`: the converted layer's.
  void FoldBias(size_t i, const NormFit& fit, int own, int other) {
    if (own >= 0) used_.insert(static_cast<size_t>(own));
    if (other >= 0) pairing_.Use(static_cast<size_t>(other));
    WeightsPair row;
    row.original =
        fit.norm->beta >= 0 ? a_.tensors[static_cast<size_t>(fit.norm->beta)].name : fit.norm->name + ".bias";
    row.paired_by = "layer";
    WeightTensor expected;
    const std::vector<double> values = FoldedBias(a_, fit, ValueAt(a_, own));
    row.shape = Shape{static_cast<int64_t>(values.size())};
    if (other < 0) {
      row.paired_by = "missing";
      row.cause = fmt::format("is missing: '{}' is folded into a layer without a bias", fit.norm->name);
    } else {
      CompareFoldedBias(fit, values, ValueAt(a_, own), b_.tensors[static_cast<size_t>(other)], &row);
    }
    if (other < 0 && std::all_of(values.begin(), values.end(), [](double value) { return value == 0; })) return;
    extra_[i] = row;
  }

  // Folding subtracts, so that what it rounds may be large beside a small result.
  static bool NearBias(const std::vector<double>& expected, const WeightTensor& found, double* max_abs) {
    constexpr double kShare = 2e-5;
    const Result<Tensor> made = Tensor::Create(DType::kF32, found.value.shape());
    if (!made.ok()) return false;
    WeightTensor folded;
    folded.value = *made;
    std::copy(expected.begin(), expected.end(), folded.value.data<float>());
    *max_abs = LargestDifference(folded.value, found.value);
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    if (*max_abs <= kShare * largest) return true;
    const WeightMatch match = MatchWeights(folded, found, true);
    return match.kind == WeightMatch::kRounded && match.axes.empty();
  }

  void CompareFoldedBias(const NormFit& fit, const std::vector<double>& expected, const Tensor* own,
                         const WeightTensor& found, WeightsPair* row) const {
    row->converted = found.name;
    if (static_cast<size_t>(found.value.NumElements()) != expected.size()) {
      row->cause = fmt::format("has the shape {}, expected [{}]", found.value.shape().ToString(), expected.size());
      return;
    }
    if (NearBias(expected, found, &row->max_abs)) {
      row->verdict = WeightsPair::kFolded;
      row->cause = fmt::format("with '{}' folded in", fit.norm->name);
      return;
    }
    row->cause = fmt::format("is not the bias that folding '{}' gives, by up to {:.4g}", fit.norm->name, row->max_abs);
    double ignored = 0;
    WeightNorm without_mean = *fit.norm;
    without_mean.mean = -1;
    NormFit other = fit;
    other.norm = &without_mean;
    if (NearBias(FoldedBias(a_, other, own), found, &ignored))
      row->cause = fmt::format("leaves out the running mean of '{}'", fit.norm->name);
    if (own != nullptr && NearBias(FoldedBias(a_, fit, nullptr), found, &ignored))
      row->cause = fmt::format("leaves out the layer's own bias, which '{}' is folded onto", fit.norm->name);
  }

  // Whether some tensor of the original is this one.
  bool IsExplained(size_t converted) const {
    return std::any_of(matches_.begin(), matches_.end(), [&](const auto& match) {
      const bool same = match.second.kind == WeightMatch::kEqual || match.second.kind == WeightMatch::kRounded;
      return same && pairing_.partners()[match.first].place == static_cast<int>(converted);
    });
  }

  // A norm that became a scale and a bias of its own.
  void FoldAlone() {
    for (size_t j = 0; j < b_.tensors.size(); ++j) {
      const WeightTensor& scale = b_.tensors[j];
      if (!scale.is_weight || scale.value.shape().rank() != 1 || IsExplained(j)) continue;
      const float* values = scale.value.data<float>();
      const std::vector<double> factors(values, values + scale.value.NumElements());
      const auto fit = FitNorm(a_, factors, 2e-5, options_.epsilon);
      if (!fit || fit->norm->variance < 0) continue;
      const auto place = static_cast<size_t>(fit->norm->gamma >= 0 ? fit->norm->gamma : fit->norm->variance);
      if (fits_.count(place) > 0) continue;
      fits_[place] = *fit;
      alone_[place] = scale.name;
      pairing_.Use(j);
      UseNorm(*fit);
      FoldBias(place, *fit, -1, WeightPairing::BiasOf(b_, j));
    }
  }

  void Judge(size_t i) {
    const int partner = pairing_.partners()[i].place;
    if (fits_.count(i) > 0) {
      JudgeFold(i);
    } else if (partner >= 0 && used_.count(i) == 0) {
      JudgePair(i, static_cast<size_t>(partner));
    } else if (Missing(i)) {
      WeightsPair row = Row(i, {});
      row.paired_by = "missing";
      row.cause = "is missing: the layer has no bias in the converted model";
      report_.pairs.push_back(row);
    }
  }

  void JudgeFold(size_t i) {
    const NormFit& fit = fits_.at(i);
    const auto match = matches_.find(i);
    WeightsPair row = Row(i, match == matches_.end() ? WeightMatch() : match->second);
    if (alone_.count(i) > 0) row.converted = alone_.at(i), row.paired_by = "values";
    row.verdict = WeightsPair::kFolded;
    row.cause = fmt::format("with '{}' folded in", fit.norm->name);
    if (match != matches_.end() && !match->second.rounding.empty())
      row.cause += ", rounded to " + match->second.rounding;
    epsilons_.emplace_back(report_.pairs.size(), &fit);
    report_.pairs.push_back(row);
    if (extra_.count(i) > 0) report_.pairs.push_back(extra_.at(i));
  }

  void JudgePair(size_t i, size_t j) {
    const WeightMatch& match = matches_.at(i);
    WeightsPair row = Row(i, match);
    const bool same = match.kind == WeightMatch::kEqual || match.kind == WeightMatch::kRounded;
    if (same && HasItsLayout(i, match.axes)) {
      row.verdict = match.kind == WeightMatch::kEqual ? WeightsPair::kEqual : WeightsPair::kRounded;
      row.cause = match.rounding;
    } else if (same && match.axes.empty()) {
      row.cause = "is not transposed, as the others of its rank are";
    } else if (same) {
      row.cause = fmt::format("is transposed: its values stand in the order {} of the original's axes{}",
                              AxesText(match.axes), WordsForAxes(match.axes));
    } else {
      row.max_abs = LargestDifference(a_.tensors[i].value, b_.tensors[j].value);
      row.cause = CauseOfDifference(a_, b_, pairing_, i, j, match);
    }
    report_.pairs.push_back(row);
  }

  // A bias that is not zero, whose weight has a partner that has no bias.
  bool Missing(size_t i) const {
    if (!a_.tensors[i].is_bias || pairing_.partners()[i].place >= 0 || used_.count(i) > 0) return false;
    const float* values = a_.tensors[i].value.data<float>();
    const bool zero =
        std::all_of(values, values + a_.tensors[i].value.NumElements(), [](float value) { return value == 0; });
    for (size_t w = 0; w < a_.tensors.size() && !zero; ++w) {
      if (a_.tensors[w].is_weight && a_.tensors[w].layer == a_.tensors[i].layer && pairing_.partners()[w].place >= 0)
        return WeightPairing::BiasOf(b_, static_cast<size_t>(pairing_.partners()[w].place)) < 0;
    }
    return false;
  }

  // Epsilons that the original says; else the one that most norms were folded with.
  void CompareEpsilons() {
    std::map<double, int> found;
    for (const auto& [row, fit] : epsilons_) ++found[fit->epsilon];
    double most = 0;
    for (const auto& [epsilon, count] : found) {
      if (most == 0 || count > found[most]) most = epsilon;
    }
    for (const auto& [place, fit] : epsilons_) {
      WeightsPair& row = report_.pairs[place];
      const double expected = fit->known ? fit->said : most;
      if (fit->epsilon == expected) continue;
      row.verdict = WeightsPair::kDifferent;
      row.cause = fmt::format("has '{}' folded in with the epsilon {:.4g}; {} {:.4g}", fit->norm->name, fit->epsilon,
                              fit->known ? "the original's is" : "the others are folded with", expected);
    }
    const bool said = !epsilons_.empty() && epsilons_[0].second->known;
    if (!said && most != 0 && most != 1e-5)
      report_.notes.push_back(fmt::format(
          "the original does not say its epsilon; batch norms are folded with {:.4g} (PyTorch's default is 1e-05)",
          most));
  }

  const WeightSet& a_;
  const WeightSet& b_;
  const WeightsOptions& options_;
  WeightPairing pairing_;
  WeightsReport report_;
  std::map<size_t, WeightMatch> matches_;
  std::map<int, std::vector<int>> layouts_;  // by rank
  std::map<size_t, NormFit> fits_;
  std::map<size_t, std::string> alone_;
  std::map<size_t, WeightsPair> extra_;  // the bias of a fold
  std::set<size_t> used_;                // tensors of the original that a fold took in
  std::vector<std::pair<size_t, const NormFit*>> epsilons_;
};

}  // namespace

Result<WeightsReport> DiffWeights(const std::string& original, const std::string& converted,
                                  const WeightsOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(const WeightSet a, ReadWeightSet(original));
  PLUMB_ASSIGN_OR_RETURN(const WeightSet b, ReadWeightSet(converted));
  WeightsReport report = WeightsJudge(a, b, options).Run();
  report.original = a.description;
  report.converted = b.description;
  return report;
}

}  // namespace plumb
