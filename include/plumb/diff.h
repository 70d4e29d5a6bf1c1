// SPDX-License-Identifier: Apache-2.0
// Comparing two dumps, or any two sets of tensors, blob by blob. Nothing is known of a model here, and so no bound: a
// rule with tolerances decides. Devices and other runtimes are judged by bound (plumb/check.h, plumb/session.h).
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(const plumb::DiffReport report, plumb::DiffDumps("their_dump", "golden"));
//   std::fputs(plumb::FormatDiffSummary(report).c_str(), stdout);
//   if (const plumb::DiffPair* first = report.FirstWrong()) std::puts(first->Name().c_str());
//
// Threading: free functions without shared state; one tensor of each side is in memory at a time.
#ifndef PLUMB_DIFF_H_
#define PLUMB_DIFF_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plumb/check.h"
#include "plumb/tensor_file.h"

namespace plumb {

// Under every rule NaN and infinities must agree in position, class and sign. Integers are compared in a wider type;
// the default rule wants them equal.
struct ComparisonRule {
  enum Kind {
    kDefault,   // |a - b| <= atol + rtol |b|; atol is by default 1e-5 of the largest |b|, rtol 1e-3
    kAllClose,  // the same with atol absolute (1e-8 unless given, rtol 1e-5 unless given): NumPy's
    kTnn,       // TNN's: wrong where |a - b| / (|a| + |b|) > 0.005 and |a - b| > 0.001; integers may differ by 1
    kCosine     // cosine similarity >= 0.999 (TNN's for network outputs; blind to scale: ask for it by name only)
  };
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
  int64_t failing = 0;        // elements that break the rule (cosine: all or none)
  int64_t first = -1;         // the first of them
  double atol = 0, rtol = 0;  // as used
  DiffMetrics metrics;
  std::string reason;  // of a failure
};

// Mismatch when the element counts differ. Shapes may differ otherwise (a text file has none).
Result<ComparisonResult> CompareByRule(const ComparisonRule& rule, const Tensor& a, const Tensor& b);

struct DiffOptions {
  ComparisonRule rule;
  TensorHints hints;  // of two tensor files that hold values only
  // Name in A -> name in B (ReadNames); with it A and B are sets of named tensors.
  std::map<std::string, std::string> names;
  bool pair_by_order = false;  // pair what no name pairs by its place in the order; the pairs are notes
  std::function<void(size_t done, size_t total)> progress;  // told after each pair; may be empty
};

// One side of a pair.
struct DiffSide {
  std::string path;
  DType dtype = DType::kF32;
  Shape shape;
  int64_t finite = 0, nans = 0, infinities = 0;
  double min = 0, max = 0, mean = 0;  // over the finite values
};

struct DiffPair {
  bool has_layer = false;  // two dumps; otherwise only the name (`blob`) is known
  int layer_index = 0;     // this and what follows as A has it
  std::string layer, type;
  bool output = false;
  int slot = 0;
  std::string blob;
  bool network_input = false;  // no layer writes it
  DiffSide a, b;
  Verdict verdict = Verdict::kNotTested;  // kAligned, kWrong, or kNotTested with a reason
  std::string reason;
  ComparisonResult result;
  double sum_diff = 0, sum_abs_diff = 0;  // of a - b and |a - b|, where both are finite

  std::string Name() const;  // "00012 conv_3 out 0 'x:17'", or the tensor's name
};

struct DiffReport {
  std::string a, b;  // as given
  ComparisonRule rule;
  std::vector<DiffPair> pairs;              // in A's order
  std::vector<std::string> only_a, only_b;  // without a partner, with the reason where a manifest says it
  std::vector<std::string> notes;           // incomplete dumps and the like
  Verdict verdict = Verdict::kNotTested;    // kNotTested: nothing could be compared

  int Count(Verdict verdict) const;
  const DiffPair* FirstWrong() const;  // or null
  // The network inputs that differ: then every other difference may only be their consequence.
  std::vector<const DiffPair*> DifferentInputs() const;
};

// `b` is the side that counts as right. Two dumps are paired place by place, two files and all else by the tensors'
// names. NotFound: there is no such file or folder; otherwise the errors of opening and reading. A difference is no
// error.
Result<DiffReport> DiffDumps(const std::string& a, const std::string& b, const DiffOptions& options = DiffOptions());

struct DiffStyle {
  bool color = false;
  bool all = false;    // every pair: otherwise those that are not aligned and the five that differ most
  size_t width = 100;  // columns give way to keep it
};

// Head, a table of pairs, what has no pair, last sentence; all forms hold the same numbers.
std::string FormatDiffText(const DiffReport& report, const DiffStyle& style = DiffStyle());
// The last sentence: the first difference, or that all that was compared is aligned.
std::string FormatDiffSummary(const DiffReport& report);
std::string FormatDiffJson(const DiffReport& report);
std::string FormatDiffCsv(const DiffReport& report);

}  // namespace plumb

#endif  // PLUMB_DIFF_H_
