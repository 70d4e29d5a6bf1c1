// SPDX-License-Identifier: Apache-2.0
// One constant beside another: equal, equal in a narrower type, in another order of its axes, or scaled per channel.
#ifndef PLUMB_SESSION_WEIGHT_MATCH_H_
#define PLUMB_SESSION_WEIGHT_MATCH_H_

#include <optional>
#include <string>
#include <vector>

#include "session/weight_set.h"

namespace plumb {

struct WeightMatch {
  enum Kind { kNone, kEqual, kRounded, kScaled };
  Kind kind = kNone;
  std::vector<int> axes;        // of the original's axes, in the order that the converted memory has them; {}: its own
  std::string rounding;         // "f16": of kRounded
  std::vector<double> factors;  // of kScaled, per output channel; NaN where the original's are all zero
  double tolerance = 0;         // relative, of the factors
  double max_abs = 0;           // of what is equal or rounded
};

// With `quick` only what a search among many candidates may claim: no factors of very few values.
WeightMatch MatchWeights(const WeightTensor& original, const WeightTensor& converted, bool quick);

// "(3,2,0,1)".
std::string AxesText(const std::vector<int>& axes);

// The batch norm of the set whose scale explains factors per channel, and its epsilon.
struct NormFit {
  const WeightNorm* norm = nullptr;
  double epsilon = 0;
  bool known = false;  // the original says its epsilon, and it is another than `epsilon`, or this one
  double said = 0;
};
std::optional<NormFit> FitNorm(const WeightSet& set, const std::vector<double>& factors, double tolerance,
                               std::optional<double> epsilon);
// What a bias becomes behind that norm; `bias` of the layer itself may be null.
std::vector<double> FoldedBias(const WeightSet& set, const NormFit& fit, const Tensor* bias);

// Why two constants of one place differ, but for what MatchWeights finds: one clause.
std::string DifferenceOfWeights(const Tensor& original, const Tensor& converted);
double LargestDifference(const Tensor& original, const Tensor& converted);

}  // namespace plumb

#endif  // PLUMB_SESSION_WEIGHT_MATCH_H_
