// SPDX-License-Identifier: Apache-2.0
// Reduces one wrong step of a judged model: alone, with neighbours, then with smaller sizes.
#ifndef PLUMB_SESSION_REDUCE_STEP_H_
#define PLUMB_SESSION_REDUCE_STEP_H_

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "session/case_judge.h"
#include "session/case_model.h"

namespace plumb {

class StepReducer {
 public:
  StepReducer(const ModelFiles& files, const JudgedModel& whole, const LayerReport& wrong, const CaseJudge& judge,
              const ReduceOptions& options, std::string work);

  // Fills the case, and writes it into `folder` where there is one.
  Status Go(const std::string& folder, ReducedCase* reduced);

 private:
  using Layers = std::set<int>;  // positions in the whole graph

  // The layers that make the step's outputs of its inputs.
  void FindStep();
  Layers Grown(Layers layers, int before, int behind) const;
  // Alone; else with more and more neighbours. Nothing: right in every part, or there is no time left.
  Status FindPart();
  Status DropLayers();
  Status ShrinkSizes();
  // Cuts everything of this size that can be cut.
  Status ShrinkSize(int64_t size);
  // Cuts these sizes, which go together, as far as the fault allows.
  Result<bool> CutTogether(std::vector<CaseSize> sizes);
  void NameNeeded();

  // Whether the layers still show the fault; then they are the case so far.
  Result<bool> TryLayers(const Layers& layers, const std::string& what);
  // A model that is barely wrong may be right on the next machine: what takes the case there from further is not kept.
  // Nor is what would be "not tested" where it is right: the same value everywhere, say.
  Result<bool> Try(const CaseModel& model, const std::string& what);
  bool IsTestedWhereRight(const std::string& model, const std::string& inputs) const;
  double SecondsLeft() const;
  std::string LayerText(int layer) const;
  std::string NewFolder();

  const ModelFiles& files_;
  const JudgedModel& whole_;
  const Graph& graph_;
  const LayerReport& wrong_;
  const CaseJudge& judge_;
  const ReduceOptions& options_;
  std::string work_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::set<std::string> guilty_blobs_, guilty_layers_;
  std::map<std::string, Tensor> values_;  // of the whole model, as far as they were asked for
  Layers step_, layers_;                  // the step; what shows the fault so far
  std::optional<CaseModel> model_;        // likewise
  double excess_ = 0;                     // its E
  bool tested_ = false;                   // whether it is, where it is right
  ReducedCase* reduced_ = nullptr;
  int folders_ = 0;
};

// The step of a report that holds one of the layers or makes one of the blobs and is wrong; null: none.
const LayerReport* FindGuilty(const RunReport& report, const std::set<std::string>& layers,
                              const std::set<std::string>& blobs);

// A shell script of a few lines that shows the case, `graph`, again where it was found. `judged`: what it was judged
// with.
std::string ShowScript(const ReduceOptions& options, const SessionOptions& judged, const Graph& graph, bool is_onnx);

// Judges the case once more, with its cause, and writes it (doc/reduce.md).
Status WriteReducedCase(const CaseModel& model, const CaseJudge& judge, const ReduceOptions& options,
                        const std::set<std::string>& layers, const std::set<std::string>& blobs,
                        const std::string& folder, const std::string& work, ReducedCase* reduced);

}  // namespace plumb

#endif  // PLUMB_SESSION_REDUCE_STEP_H_
