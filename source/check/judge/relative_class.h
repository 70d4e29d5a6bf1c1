// SPDX-License-Identifier: Apache-2.0
// Sigmoid, Tanh, Erf and Log come in two classes: right to a few u absolutely, or relatively. One layer cannot tell, so
// the reference judges by the wider bound. A run whose other layers keep the relative one where that is much narrower
// (small outputs) belongs to it: those layers' smallest visible fault is the smaller one, and a layer beyond it is grey
// (it may be another kernel of the same runtime).
#ifndef PLUMB_CHECK_JUDGE_RELATIVE_CLASS_H_
#define PLUMB_CHECK_JUDGE_RELATIVE_CLASS_H_

#include <vector>

#include "check/numbers/replay.h"
#include "plumb/check.h"

namespace plumb {

class RelativeClasses {
 public:
  // The operator's reference with the relative bound, where a step is one such operator; else null.
  static const ReferenceOp* Of(const LayerGroup& group);
  // `relative`: the only output of an aligned step (that will be layers[position]), judged by the relative bound.
  void Note(size_t position, OpKind kind, const OutputReport& judged, const OutputReport& relative);
  void Apply(RunReport* report) const;

 private:
  struct Entry {
    size_t position;
    OpKind kind;
    bool telling, keeps;
    double excess, smallest_fault;  // by the relative bound
  };
  std::vector<Entry> entries_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_RELATIVE_CLASS_H_
