// SPDX-License-Identifier: Apache-2.0
// Constant scales and shifts that follow each other in a fused group: a device may fold them into one scale and one
// shift beforehand and rounds these, not what lies between them. Where the members' shifts cancel, that is more.
#ifndef PLUMB_CHECK_CORE_FOLDING_H_
#define PLUMB_CHECK_CORE_FOLDING_H_

#include <map>
#include <string>

#include "device/kernel.h"
#include "reference/core/reference_op.h"

namespace plumb {

// Replaces the value (f64) of the blob by what the layer makes of it, when that is a scale or shift by constants of a
// result of the same shape; false for any other layer.
bool ScaleOrShift(const Layer& layer, const std::string& blob, const BlobTable& blobs, Tensor* value);

// Of the two constants that such a layer, or several, make of an element: y = scale x + shift.
struct ScaleAndShift {
  Tensor scale, shift;  // f64, shaped like the blob
};

// Of the one layer on this blob; empty tensors when it is none, or memory is out.
ScaleAndShift ScaleAndShiftOf(const Layer& layer, const std::string& blob, const BlobTable& blobs);

// Whether a group has two such layers behind each other, by their kinds.
bool MayFold(const LayerGroup& group);

// The scales and shifts of a group, member by member.
class Folding {
 public:
  // Before a member runs, as long as its input still holds its values; tau may be null. Says whether Widen is to be
  // called.
  bool Note(const Layer& layer, const std::string& blob, const BlobTable& blobs, const Tensor& values,
            const Tensor* tau);
  // Behind it: widens tau to what folding all such members up to this one allows:
  //   tau^2 = 64 (u^2 F + u_out^2 y^2) + (scale tau_x)^2
  // where F adds (scale x)^2 and shift^2 of each folded pair, as later scales carry them on.
  void Widen(const std::string& output, const Tensor& values, const Arithmetic& arithmetic, Tensor* tau);

 private:
  struct Run {
    int members = 0;
    Tensor x, tau;  // what the first of them reads
    Tensor scale, shift, spread;
  };
  std::map<std::string, Run> runs_;  // by the blob that the last of them writes
  Run noted_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_CORE_FOLDING_H_
