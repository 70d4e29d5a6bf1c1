// SPDX-License-Identifier: Apache-2.0
// NarrowProducts: sums of products of fewer bits (weights of int8 or f16, operands rounded as the network runs) in a
// subject that is fp32 otherwise, as runtimes keep weights alone (MNN's weightQuantBits, LiteRT's weight-only and
// dynamic-range models, ncnn's f16 storage). The causes of what is beyond fp32 say how; where they say the same of most
// layers of an operator that is how the subject computes, and a layer that differs from its like stays wrong. A product
// of floats with weights that are int8 in the model itself is made to round what it reads: it needs no others.
#ifndef PLUMB_CHECK_JUDGE_NARROW_PRODUCTS_H_
#define PLUMB_CHECK_JUDGE_NARROW_PRODUCTS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "check/judge/step_record.h"

namespace plumb {

// Whether all outputs are the model's own integers, which say nothing of the precision that made them.
bool MakesIntegers(const StepRecord& record);

class NarrowProducts {
 public:
  NarrowProducts() = default;  // looks for nothing
  // declared: each layer that is so explained counts as computed so; half: each that 16 bits explain.
  NarrowProducts(bool declared, bool half) : looks_(true), declared_(declared), half_(half) {}

  // A judged step whose cause was sought; its place in the run. The last word counts.
  void Note(const StepRecord& record, size_t position);
  // Of operators of which some are explained: steps that are wrong without a cause.
  std::vector<size_t> Unexplained(const RunReport& run) const;
  // Once the run is known: gives those that were so computed that report, and notes in `run` what was found.
  void Settle(RunReport* run) const;

 private:
  struct Explained {
    std::string narrow;
    std::optional<LayerReport> layer;  // none: something else is wrong with it, too
    bool of_bytes = false;             // its weights are int8 in the model
  };
  struct OfOperator {
    std::set<size_t> possible;  // positions
    std::map<size_t, Explained> explained;
  };
  bool looks_ = false, declared_ = false, half_ = false;
  std::map<std::string, OfOperator> operators_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_NARROW_PRODUCTS_H_
