// SPDX-License-Identifier: Apache-2.0
// NumericRules: what of a judgement depends on how a run's numbers are computed and stored. The rows of NumericModel
// share three of them: floats (fp32, its products by other algorithms or of narrower operands), 16 bits (blobs stored
// as f16 or bf16) and grids (int8). The judge asks them and knows no arithmetic by its name; another kind of numbers is
// another class here and its rows.
#ifndef PLUMB_CHECK_JUDGE_NUMERIC_RULES_H_
#define PLUMB_CHECK_JUDGE_NUMERIC_RULES_H_

#include <string>
#include <vector>

#include "check/judge/scene.h"
#include "check/judge/step_record.h"

namespace plumb {

// How a step is replayed with its bound.
struct Way {
  Arithmetic arithmetic;
  ReplayExtra extra;
  // Infinities among the inputs may have been any value beyond f16's range when they were read: what follows from them
  // is not known.
  bool infinities_unknown = false;
  // Error of a factor or an offset that all values of an output may share, relative to the largest of them.
  double shared = 0;
  // In what the results of the step stand, f16 or bf16, in place of what the step says; f32: as it says.
  DType stored = DType::kF32;
  std::string note;  // what the report says of it
};

class NumericRules {
 public:
  virtual ~NumericRules() = default;
  // Why the step cannot be judged by a bound, or "".
  virtual std::string WhyUnbounded(const LayerGroup& /*group*/) const { return ""; }
  // Without a bound: the signal to noise ratio below which values are wrong, which rounding alone never comes near.
  virtual double wrong_below_db() const { return 30; }
  // How the step is replayed first, and where it is not aligned so, in which other ways, one after the other.
  virtual Result<Way> FirstWay(const Scene& scene, const StepRecord& record) const;
  virtual Result<std::vector<Way>> OtherWays(const Scene& scene, const StepRecord& record, const Way& first) const;
  // How far the inputs of a group may lie from what was computed with; false: not at all.
  virtual Result<bool> AddInputNoise(const Scene& scene, const LayerGroup& group, const std::vector<Tensor>& inputs,
                                     ReplayExtra* extra) const;
  // The highest level of the bound that the step may need.
  virtual int MaxLevel(const StepRecord& record) const { return MaxBoundLevel(record.group); }
  // What a bound of the reference leaves out.
  virtual Status WidenBound(const Scene& scene, const StepRecord& record, ReplayResult* replay) const;
  // Whether larger groups and other functions can be told by their values.
  virtual bool tells_functions() const { return true; }
};

const NumericRules& RulesOf(const NumericModel& model);

// numeric_rules_half.cc, numeric_rules_grid.cc
const NumericRules& HalfRules();
const NumericRules& GridRules();

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_NUMERIC_RULES_H_
