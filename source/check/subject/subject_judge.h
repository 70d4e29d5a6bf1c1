// SPDX-License-Identifier: Apache-2.0
// SubjectJudge: judges a subject's steps, all of them or again those whose judgement another hypothesis changes. What
// its tensors say as a whole (16 bits, grids) is found once.
#ifndef PLUMB_CHECK_SUBJECT_SUBJECT_JUDGE_H_
#define PLUMB_CHECK_SUBJECT_SUBJECT_JUDGE_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "check/numbers/half_storage.h"
#include "check/numbers/int8_weights.h"
#include "check/subject/subject_pass.h"
#include "plumb/check.h"

namespace plumb {

SomeSteps StepsThat(const RunReport& report, const std::function<bool(const LayerReport& layer)>& are);

class SubjectJudge {
 public:
  // All of them outlive it.
  SubjectJudge(const Graph& graph, const BlobSource& subject, const std::map<std::string, Tensor>& inputs)
      : graph_(graph), subject_(subject), inputs_(inputs) {}

  Result<RunReport> All(const SubjectOptions& options) { return Judge(options, {}); }
  using Ends = std::function<bool(const LayerReport& layer)>;
  // Ends behind the step of which this is true: the report is then of no other use. Not asked of a step whose judgement
  // others may change.
  Result<RunReport> Until(const SubjectOptions& options, const Ends& ends) {
    return Judge(options, {nullptr, {}, ends});
  }
  // The earlier report with these steps judged anew, as far as to the one of which `ends` is true. What the subject
  // inherits, and what wrong layers do to its outputs, stays as it was.
  Result<RunReport> Again(const SubjectOptions& options, RunReport earlier, const SomeSteps& steps,
                          const Ends& ends = nullptr);

  const Graph& graph() const { return graph_; }

 private:
  // Blobs that lie on no grid were computed in floats, and so were layers that neither read nor wrote anything else.
  struct Grids {
    std::set<std::string> floats;
    std::vector<RoundedLayer> layers;
  };
  Result<RunReport> Judge(const SubjectOptions& options, const Look& look);
  Result<RunReport> JudgeInt8(const SubjectOptions& options, const Look& look);
  Result<Grids> FindGrids() const;
  // In what the blobs are stored: everywhere so, unless their values say otherwise.
  Result<HalfStorage> HalfStorageIn(DType format, const BlobTable& blobs);

  const Graph& graph_;
  const BlobSource& subject_;
  const std::map<std::string, Tensor>& inputs_;
  std::optional<HalfStorage> halves_;
  std::optional<Grids> grids_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_SUBJECT_JUDGE_H_
