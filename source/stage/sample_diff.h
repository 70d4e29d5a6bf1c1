// SPDX-License-Identifier: Apache-2.0
// The walk along the stages of one sample of both sides. Where a stage differs, the convention of the original's stage
// is replayed on what the port had before it: what comes out is the port's own result (inherited), or it is not
// (introduced).
#ifndef PLUMB_STAGE_SAMPLE_DIFF_H_
#define PLUMB_STAGE_SAMPLE_DIFF_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stage/side.h"

namespace plumb {

class SampleDiff {
 public:
  // `pairs`: places of stages that belong together, in the original's order. `others`: all samples of the original,
  // among which the one may be that the port looked at. All outlive the object.
  SampleDiff(const StageSample& original, const StageSample& port, std::vector<std::pair<int, int>> pairs,
             const std::vector<StageSample>& others, const StageDiffOptions& options)
      : original_(original), port_(port), pairs_(std::move(pairs)), others_(others), options_(options) {
    report_.original = original.name;
    report_.port = port.name;
    for (size_t row = 0; row < pairs_.size(); ++row) {
      row_of_original_[pairs_[row].first] = row;
      row_of_port_[pairs_[row].second] = row;
    }
  }

  Status Run();
  StageSampleReport& report() { return report_; }

 private:
  struct Values {
    Tensor original, port;
    std::optional<Picture> original_picture, port_picture;
  };
  Result<Values> Load(int i, int j);
  void Measure(const Values& values, int i, int j, StageRow* row) const;
  double Bound(const Values& values, const StageRow& row, int i) const;
  // `exactly`: in every bit; else within their rounding.
  bool HadTheSame(int i, int j, bool exactly) const;
  // Floats of which only an earlier stage said that they are BGR are read as that and, where that is not right, as they
  // are.
  Result<StageRow> JudgePair(int i, int j);
  Status JudgeRow(const Values& values, int i, int j, bool same_before, StageRow* row);
  Status JudgeNetwork(const Values& values, int i, int j, bool same_before, StageRow* row);
  void JudgeByReplay(const Values& values, int i, int j, bool same_before, StageRow* row);
  bool JudgeClasses(const Values& values, int i, int j, StageRow* row);
  std::string SizeCause(const Values& values, int i, int j);
  void Blame(const Values& values, int i, int j, StageRow* row);
  std::string OtherSample(const Values& values, int i) const;

  Status TellAnswer();
  // The port's stages from `place` on, whose value is `mended`; the guilty ones of `mend` are done as the original
  // does.
  Status FollowMended(size_t row, bool all, std::string* answer, std::string* why);
  Status AnswerOfInput(const Picture& input, int j, std::string* answer, std::string* why);

  StageSide original_, port_;
  std::vector<std::pair<int, int>> pairs_;
  std::map<int, size_t> row_of_original_, row_of_port_;  // by place
  const std::vector<StageSample>& others_;
  const StageDiffOptions& options_;
  StageSampleReport report_;
};

}  // namespace plumb

#endif  // PLUMB_STAGE_SAMPLE_DIFF_H_
