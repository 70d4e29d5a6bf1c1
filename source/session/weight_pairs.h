// SPDX-License-Identifier: Apache-2.0
// Which constant of one file is which of another: by name, by values, by their layer, last by shape alone.
#ifndef PLUMB_SESSION_WEIGHT_PAIRS_H_
#define PLUMB_SESSION_WEIGHT_PAIRS_H_

#include <map>
#include <string>
#include <vector>

#include "session/weight_match.h"

namespace plumb {

class WeightPairing {
 public:
  WeightPairing(const WeightSet& original, const WeightSet& converted);

  struct Partner {
    int place = -1;  // in the other set; -1: none
    const char* by = "";
  };
  // Of each tensor of the original.
  const std::vector<Partner>& partners() const { return partners_; }
  bool taken(size_t converted) const { return taken_[converted]; }
  // What a fold makes of it is compared as the fold's.
  void Use(size_t converted) { taken_[converted] = true; }
  // The bias of the layer that the tensor belongs to; -1: it has none.
  static int BiasOf(const WeightSet& set, size_t weight);

 private:
  void ByName();
  void ByValues(bool weights);
  void WithTheirLayer();
  void WithTheirNorm();
  void ByShape();
  void Pair(size_t a, size_t b, const char* by);

  const WeightSet& a_;
  const WeightSet& b_;
  std::vector<Partner> partners_;
  std::vector<bool> taken_;
};

}  // namespace plumb

#endif  // PLUMB_SESSION_WEIGHT_PAIRS_H_
