// Rules for comparing two tensors without a model, and so without a bound: blob_diff, model_check -e and -f.
//   default   |a - b| <= atol + rtol |b|; atol is by default 1e-5 of the largest |b|, rtol 1e-3
//   allclose  the same with atol absolute (1e-8 unless given, rtol 1e-5 unless given): NumPy's
//   tnn       TNN's element rule: wrong where |a - b| / (|a| + |b|) > 0.005 and |a - b| > 0.001; integers may differ by 1
//   cosine    cosine similarity >= 0.999 (TNN's rule for network outputs; blind to scale: ask for it by name only)
// Under every rule NaN and infinities must agree in position, class and sign (TNN lets them pass). Integers are compared in
// a wider type; the default rule wants them equal.
#ifndef PLUMB_CHECK_RULES_H_
#define PLUMB_CHECK_RULES_H_

#include <optional>
#include <string>

#include "plumb/check.h"

namespace plumb {

struct ComparisonRule {
  enum Kind { kDefault, kAllClose, kTnn, kCosine };
  Kind kind = kDefault;
  std::optional<double> atol;
  std::optional<double> rtol;

  // "|a-b| <= 1e-05 of the largest |b| + 0.001 |b|": what the rule does, for reports.
  std::string Describe() const;
  // InvalidArgument for a tolerance that this kind does not read.
  Status CheckTolerances() const;
};

// "default", "allclose", "tnn", "cosine".
Result<ComparisonRule::Kind> ParseRule(const std::string& name);

struct ComparisonResult {
  bool pass = true;
  int64_t failing = 0;       // elements that break the rule (cosine: all or none)
  int64_t first = -1;        // the first of them
  double atol = 0, rtol = 0;  // as used
  DiffMetrics metrics;
  std::string reason;        // of a failure
};

// Mismatch when the element counts differ. Shapes may differ otherwise (a text file has none).
Result<ComparisonResult> CompareByRule(const ComparisonRule& rule, const Tensor& a, const Tensor& b);

}  // namespace plumb

#endif  // PLUMB_CHECK_RULES_H_
