// SPDX-License-Identifier: Apache-2.0
// OtherProducts: other ways to compute sums of products (Winograd's algorithm, operands of 16 bits; in a run of 16 bits
// sums that are rounded so, too), found in one pass over a foreign runtime's tensors: a step that is beyond the run's
// model is judged by their bounds while its tensors are at hand, and what it is stands when the whole run is known.
// What would be said of it waits until then.
#ifndef PLUMB_CHECK_JUDGE_OTHER_PRODUCTS_H_
#define PLUMB_CHECK_JUDGE_OTHER_PRODUCTS_H_

#include <map>
#include <string>
#include <vector>

#include "check/judge/step_judge.h"
#include "check/numbers/arithmetic.h"

namespace plumb {

class OtherProducts {
 public:
  // Those that are looked for in a run of that model.
  static OtherProducts Of(const NumericModel& model);

  // Of a judged step that will be at `position` of the run. Whether it is beyond fp32 but not beyond one of them: then
  // it is to wait.
  bool PutOff(const StepRecord& record, const StepJudge& judge, size_t position);

  // Of a step that was judged before and is not off: it counts among its like.
  void NoteKept(const LayerGroup& group, const LayerReport& report);

  // What a step that waits would be reported as if it were computed by Winograd's algorithm; null: that does not
  // explain it.
  const LayerReport* AsWinograd(size_t position) const;
  // Whether only one step of the run may be so computed: it has no like.
  bool OneMayBeWinograd() const;
  // Whether its errors are spread as those of one of the algorithm's forms (winograd_spread.h). record.replay: the
  // direct bound.
  static bool IsSpreadAsWinograd(const StepRecord& record, const BlobTable& blobs);
  // Once the run is known: gives those that wait the report by what was found, which is noted in `run`. Returns the
  // others: what PutOff kept back is to be said of them.
  std::vector<size_t> Settle(const std::vector<const StepInfo*>& steps, RunReport* run) const;

 private:
  struct Way {
    // The operator by which a step that may be so computed speaks for its like; "": it may not.
    std::string OperatorOf(const LayerGroup& group, bool makes_integers) const;
    ProductEvidence evidence;
    std::map<size_t, LayerReport> waiting;  // by position, as they would be reported
  };
  std::vector<Way> ways_;
  int beyond_ = 0;  // steps of any kind
};

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_OTHER_PRODUCTS_H_
