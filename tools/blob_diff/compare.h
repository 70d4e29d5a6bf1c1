// blob_diff's work: two sides (dump folders or tensor files), their pairs, and the comparison of each.
#ifndef PLUMB_TOOLS_BLOB_DIFF_COMPARE_H_
#define PLUMB_TOOLS_BLOB_DIFF_COMPARE_H_

#include <functional>
#include <string>
#include <vector>

#include "check/rules.h"
#include "dump/manifest.h"
#include "dump/pairing.h"
#include "dump/statistics.h"
#include "plumb/check.h"
#include "plumb/tensor_file.h"

namespace plumb {

struct PairReport {
  BlobPlace place;  // of side a; tensors of files have only a blob name
  bool has_layer = false;
  bool network_input = false;  // no layer writes it
  std::string path_a, path_b;
  DType dtype_a = DType::kF32, dtype_b = DType::kF32;
  Shape shape_a, shape_b;
  Verdict verdict = Verdict::kNotTested;
  std::string reason;
  ComparisonResult result;
  Statistics values_a, values_b;
  double sum_diff = 0, sum_abs_diff = 0;  // of a - b and |a - b|, where both are finite

  std::string Name() const;  // "00012 conv_3 out 0 'x:17'", or the tensor's name
};

struct DiffReport {
  std::string a, b;  // as given
  ComparisonRule rule;
  std::vector<PairReport> pairs;
  std::vector<std::string> only_a, only_b;
  std::vector<std::string> notes;  // incomplete dumps and the like
  Verdict verdict = Verdict::kNotTested;
  bool strict = false;

  int ExitCode() const;
  int Count(Verdict verdict) const;
  const PairReport* FirstWrong() const;  // or null
  // The network inputs that differ: then every other difference may only be their consequence.
  std::vector<const PairReport*> DifferentInputs() const;
};

// Fills pairs, verdicts and notes. Two dumps are paired place by place, two files and all else by the tensors' names; `names` as
// the user said (--names, --pair-by-order). `progress` is told after each pair. Errors are those of opening and reading.
Status CompareSides(const TensorHints& hints, const NameOptions& names, const std::function<void(size_t done, size_t total)>& progress,
                    DiffReport* report);

}  // namespace plumb

#endif  // PLUMB_TOOLS_BLOB_DIFF_COMPARE_H_
