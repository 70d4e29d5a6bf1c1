// SPDX-License-Identifier: Apache-2.0
// One side of a comparison: the stages of a sample with their values, loaded when they are needed, and which convention
// made each of the one before it.
#ifndef PLUMB_STAGE_SIDE_H_
#define PLUMB_STAGE_SIDE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stage/explain.h"

namespace plumb {

class StageSide {
 public:
  explicit StageSide(const StageSample& sample) : sample_(sample) {}

  const StageSample& sample() const { return sample_; }
  int size() const { return static_cast<int>(sample_.stages.size()); }
  // Whether the stages are no chain, but for several outputs of one network.
  bool Branches() const;
  // From now on pictures of BGR are turned to RGB: both sides say which order is whose.
  void TurnToRgb() { turns_ = true; }
  // Whether a stage says the order of its channels.
  bool SaysOrder() const;
  const StageRecord& stage(int index) const { return sample_.stages[static_cast<size_t>(index)]; }
  // The place of the (first) stage that it reads, or -1.
  int Before(int index) const { return stage(index).reads.empty() ? -1 : stage(index).reads[0]; }
  Result<Tensor> Values(int index);
  // Nothing: it is no picture.
  std::optional<Picture> AsPicture(int index);
  PictureTarget TargetOf(int index);
  // The best convention that makes the stage of the one before it, where one reproduces it.
  const Explained* Convention(int index);
  // A convention on what this side's stage reads. Nothing: it does not apply to that.
  std::optional<Picture> Replayed(const plumb::Convention& convention, int index);
  // Whether it are floats of an order that only an earlier stage said, BGR: this one may have turned it.
  bool MayHaveTurned(int index) const;
  // Whether its numbers, and those behind it, have the order that they have, or the one that was said.
  void ReadAsItIs(int index, bool as_it_is);
  // The nearest that does not, for words; null where Convention has one, or none comes near.
  const Explained* Nearest(int index);

 private:
  struct Found {
    std::optional<Explained> best, nearest;
  };
  const Found& Search(int index);
  // The values of all stages that it reads; none where one cannot be loaded.
  std::vector<Tensor> ReadBy(int index);
  // As the stage says it, or the last one before that did; one that changes colours, or a network, begins anew.
  std::string ColorOf(int index) const;
  bool FeedsNetwork(int index) const;

  const StageSample& sample_;
  bool turns_ = false;
  std::set<int> as_it_is_;
  std::map<int, Tensor> values_;
  std::map<int, Found> found_;
};

}  // namespace plumb

#endif  // PLUMB_STAGE_SIDE_H_
