// SPDX-License-Identifier: Apache-2.0
// ErrorPicture: what a report draws of one output's introduced errors (CheckOptions::picture_cells): how they are
// spread beside the rounding to be expected, and where in the output they lie.
#ifndef PLUMB_PICTURE_H_
#define PLUMB_PICTURE_H_

#include <cstdint>
#include <vector>

namespace plumb {

// Cells row by row, each of the positions that it covers: |e| / tau of the worst one, and both sides' values there.
struct ErrorMap {
  int64_t channel = -1;  // -1: the worst of all channels
  std::vector<double> excess, device, reference;
};

struct ErrorPicture {
  int64_t values = 0;   // with a bound above 0: these are in mean, histogram and quantiles
  int64_t exact = 0;    // the same on both sides, where the bound is 0
  int64_t outside = 0;  // different where the bound is 0, or finite on one side only
  double mean = 0;      // of 8 e / tau, with its sign
  // How many e / tau lie in each of kBins intervals of one width from -reach to reach; the first and the last also
  // count what lies beyond.
  static constexpr int kBins = 32;
  double reach = 1;
  std::vector<int64_t> histogram;
  // Of 8 e / tau at the probabilities (i + 0.5) / kQuantiles, of at most 65,536 values that lie evenly apart.
  static constexpr int kQuantiles = 32;
  std::vector<double> quantiles;
  int64_t rows = 0, columns = 0;  // of the maps, and the positions that they cover
  int64_t height = 0, width = 0;
  std::vector<ErrorMap> maps;  // that of all channels first, then the channels' of the largest E
};

}  // namespace plumb

#endif  // PLUMB_PICTURE_H_
