// SPDX-License-Identifier: Apache-2.0
// Whether a network computes the same again: every step's outputs in later Forwards beside those of the first.
#ifndef PLUMB_SESSION_REPEAT_H_
#define PLUMB_SESSION_REPEAT_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/network.h"
#include "plumb/observer.h"

namespace plumb {

// Holds the first Forward's outputs of every step. What changes first of a Forward is what computes otherwise: steps
// behind it read other inputs.
class RepeatObserver : public Observer {
 public:
  // `items`: later Forwards have the first one's inputs so many times along axis 0, and so its outputs.
  explicit RepeatObserver(int64_t items = 1) : items_(items) {}
  Status ForwardBegin(int forward) override;
  Status After(const LayerEvent& event) override;
  // A sentence: that all is the same, or which step changes first, in which Forward, by how much.
  std::string Describe() const;
  // The same of one more Forward, of a network whose memory was filled with NaN (runtime/poison.h).
  std::string DescribePoisoned() const;
  // The same of one more Forward, `how`: "with 3 threads".
  std::string DescribeVaried(const std::string& how) const;
  bool changed() const { return changed_forwards_ > 0; }
  // The network itself computes other items from the same inputs side by side: a change tells nothing of a device.
  void MixItems() { mixes_ = true; }
  bool mixes() const { return mixes_; }

 private:
  void NoteChange(const StepInfo& step, const Tensor& before, const Tensor& now);

  const int64_t items_;
  std::map<std::string, Tensor> first_;  // by blob
  int other_shapes_ = 0;                 // tensors of later Forwards that are neither one nor `items_` of the first's
  int forwards_ = 0;
  int changed_forwards_ = 0;  // in which anything changed
  bool changed_now_ = false;
  bool mixes_ = false;
  std::map<std::string, int> first_changes_;  // what changed first of a Forward, and how often
  std::string example_;                       // of the first such change
};

}  // namespace plumb

#endif  // PLUMB_SESSION_REPEAT_H_
