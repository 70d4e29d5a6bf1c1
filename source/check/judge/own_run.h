// SPDX-License-Identifier: Apache-2.0
// OwnRun: the reference's own run from the network's inputs, step by step beside the judged one. What a step's replay
// differs from it by is inherited. Holds live blobs only.
#ifndef PLUMB_CHECK_JUDGE_OWN_RUN_H_
#define PLUMB_CHECK_JUDGE_OWN_RUN_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "check/numbers/replay.h"

namespace plumb {

// What the own run of a step starts from.
struct OwnInputs {
  bool known = false;             // else it is not run
  bool are_the_device_s = false;  // bit for bit: the step's replay is its own run, too
  std::vector<Tensor> values;
};

class OwnRun {
 public:
  Status SetInputs(const std::map<std::string, Tensor>& inputs);
  // The value of a blob, or null: it is not known (any more).
  const Tensor* Find(const std::string& blob) const;
  // Its values of the group's inputs, constants from `inputs`; fewer when an earlier layer could not be replayed: then
  // nothing is inherited from here on.
  std::vector<Tensor> InputsOf(const LayerGroup& group, const BlobTable& blobs,
                               const std::vector<Tensor>& inputs) const;
  Status Run(const LayerGroup& group, const std::vector<Tensor>& inputs, const BlobTable& blobs);
  // What the group made of this run's own inputs.
  void Take(const LayerGroup& group, const std::vector<Tensor>& values);
  // In place of what the run made of the blob.
  void Put(const std::string& blob, Tensor value) { values_[blob] = std::move(value); }
  void Release(const std::string& blob) { values_.erase(blob); }
  size_t peak_bytes() const { return peak_bytes_; }

 private:
  std::map<std::string, Tensor> values_;
  size_t peak_bytes_ = 0;
};

// Whether two lists of inputs are the same, bit for bit.
bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_OWN_RUN_H_
