// SPDX-License-Identifier: Apache-2.0
// A subject whose runtime quantised a float model to int8 by itself: every tensor that it wrote lies on a grid
// step * (whole numbers), and nobody knows the scales that it chose.
//   Blobs: the step is found from the tensor's own values. tau^2 += (8 * step / 2)^2, the rounding of storing it.
//   Weights: the replay takes them rounded to whole steps, one way for all layers of an operator (int8_weights.h);
//   where none fits they count as off by a random half step (first-order noise). Float inputs of a quantised product
//   (the network's input): noise of a grid that spans twice what this input needs. Values beyond the tensor's own
//   largest or smallest one saturate there.
#ifndef PLUMB_CHECK_NUMBERS_INT8_H_
#define PLUMB_CHECK_NUMBERS_INT8_H_

#include <map>
#include <string>
#include <vector>

#include "check/numbers/replay.h"
#include "plumb/check.h"

namespace plumb {

// The grid of a tensor's values. `step` is 0 where they lie on none.
struct Grid {
  double step = 0;
  double low = 0, high = 0;  // smallest and largest value
  bool few = false;          // too few distinct values to tell: `step` is the smallest distance between two of them

  bool none() const { return step == 0; }
  bool IsHighest(double value) const { return value > high - step / 2; }
  bool IsLowest(double value) const { return value < low + step / 2; }
  // Whether values at the ends may stand for values beyond: a range of 127 steps is half of int8's.
  bool spans() const { return !few && high - low >= 126.5 * step; }
};

// At most 256 steps of one width, zero among them. A tensor with NaN or infinities has none.
Grid FindGrid(const Tensor& values);

// Whether `rounded` are whole steps of a grid next to the floats, or its ends where these lie beyond.
bool IsRoundedFrom(const Tensor& floats, const Tensor& rounded);

// Whether the step of a grid explains a step's outputs: at most one product, the rest element by element or moved.
// "": it does; else why not.
std::string WhyUnbounded(const LayerGroup& group);

// tau of a float input that a quantised product reads: 8 sigma of rounding to 127 steps of twice its range.
Result<Tensor> InputNoise(const Tensor& input);

// tau of an input that a layer in floats reads: scale * (q - zero point) may round in two ways.
Result<Tensor> DequantisingNoise(const Tensor& input);

// Per output the sigma of what int8 weights of unknown scale add, from four replays with moved weights.
Result<std::vector<Tensor>> WeightNoise(const LayerGroup& group, const std::vector<Tensor>& inputs,
                                        const BlobTable& blobs, const ReplayResult& replay);

// What the grid of an output means for its verdict.
struct OnGrid {
  double step = 0;
  double low = 0, high = 0;  // its ends
  bool few = false;          // Grid::few
  double saturated = 0;      // share of the values whose reference lies more than a step beyond the grid's end
  double ends = 0;  // share of two values: a range was chosen by the largest and the smallest, which lie at its ends
  double span = 0;  // steps of a grid too short for int8's at whose ends values saturate; else 0
  // Says in the reason what is weakly tested; many saturated values, and some of a short grid, are grey.
  void AddTo(OutputReport* output) const;
};

// Replaces reference and tau (f64) by what a device that stores int8 is judged with. `exact`: where tau is 0 a value
// that stands on the grid needs no rounding, and one step off is wrong.
Result<OnGrid> JudgeOnGrid(const Tensor& device, bool exact, Tensor* reference, Tensor* tau);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_INT8_H_
