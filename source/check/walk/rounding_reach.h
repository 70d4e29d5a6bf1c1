// SPDX-License-Identifier: Apache-2.0
// How far rounding may move a network's outputs along the whole network.
#ifndef PLUMB_CHECK_WALK_ROUNDING_REACH_H_
#define PLUMB_CHECK_WALK_ROUNDING_REACH_H_

#include <map>
#include <string>
#include <vector>

#include "check/judge/scene.h"

namespace plumb {

// The reference's run from these inputs in which every blob is moved by what rounding does to it: tau / 8 and half a
// step of what it is stored in, with signs by chance, others for each turn. Returns the network's outputs. NotSupported
// where blobs lie on grids.
Result<std::map<std::string, Tensor>> MovedByRounding(const Scene& scene, const std::map<std::string, Tensor>& inputs,
                                                      uint64_t turn);

// By how much that may move two values of an output against each other: of each output that has the reference's values
// beside it and can be moved so.
std::map<std::string, double> ReachOfOutputs(const Scene& scene, const std::map<std::string, Tensor>& inputs,
                                             const std::vector<OutputSummary>& outputs);

// 1 or -1, the same in every run.
double SignByChance(uint64_t turn, uint64_t blob, uint64_t i);

// Of two values that a difference's rms tells: what tau is of one.
constexpr double kReachOfPair = 8 * 1.4142135623730951;

}  // namespace plumb

#endif  // PLUMB_CHECK_WALK_ROUNDING_REACH_H_
