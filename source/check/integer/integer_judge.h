// SPDX-License-Identifier: Apache-2.0
// IntegerJudge: quantised steps judged to the integer, one after the other, and the run as a whole: rounding ties tell
// which rule its steps follow, and a step that follows none then differs by more than chance.
#ifndef PLUMB_CHECK_INTEGER_INTEGER_JUDGE_H_
#define PLUMB_CHECK_INTEGER_INTEGER_JUDGE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "check/integer/integer_rules.h"

namespace plumb {

class IntegerJudge {
 public:
  // Of an aligned, grey or wrong step, which will be the report's layer at `position`: each output that follows a rule
  // is aligned, and says so.
  void Judge(const Scene& scene, size_t position, StepRecord* record);
  // Aligned layers with ties that fall otherwise than by the rule which three other steps, and most, follow at ties of
  // theirs.
  std::vector<size_t> Suspects(const RunReport& report) const;
  // The layer at `position`, one of these: wrong where `fault` gives all its integers, and grey where all that differ
  // would lie in this one step by chance once in a thousand times.
  void Settle(size_t position, const std::string& fault, LayerReport* layer) const;
  // Of rules that give the same integers of an output each says the one that most others follow; how many follow which
  // goes into the report's notes.
  void SayRules(RunReport* report) const;

 private:
  struct Followers {
    int outputs = 0, others = 0;  // that follow the rule; that do not, and come nearest to it
    int64_t near_ties = 0;        // integers of the former that the bound leaves open
  };
  struct Loose {
    size_t output = 0;
    FollowedRule nearest;
    int64_t near_ties = 0;
  };
  struct Followed {
    size_t position = 0, output = 0;
    FollowedRule by;
    DType dtype = DType::kI64;  // of the model's integers: kernels of other widths are others
  };
  // Whether the output, which follows no rule, is wrong for that.
  bool JudgeRuleless(const FollowedRule& found, OutputReport* output) const;
  std::string ChosenOf(const Followed& followed) const;
  const char* declared_ = "";  // with what the words begin of the rules of the kernels that the subject names

  std::map<std::string, Followers> rules_;  // by words, or by family
  std::vector<Followed> followed_;
  std::map<std::pair<std::string, DType>, int> outputs_;  // that follow the rule, by words
  std::map<size_t, Loose> loose_;                         // by position
  int ruleless_ = 0;
  int elsewhere_ = 0;  // outputs that follow another family's rule and none of these
};

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_INTEGER_JUDGE_H_
