// SPDX-License-Identifier: Apache-2.0
// Blobs that lie on grids of int8, whose scales the runtime chose (int8.h).
#include <cmath>
#include <utility>

#include "check/judge/numeric_rules.h"
#include "check/judge/tied_weights.h"
#include "check/numbers/int8.h"
#include "check/numbers/int8_weights.h"

namespace plumb {
namespace {

class GridNumericRules : public NumericRules {
 public:
  std::string WhyUnbounded(const LayerGroup& group) const override { return plumb::WhyUnbounded(group); }
  double wrong_below_db() const override { return 10; }
  bool tells_functions() const override { return false; }

  // Float inputs that the step rounds itself. A layer in floats made its inputs of integers itself, by an FMA or by a
  // product, or read what is handed out computed once more (OpenVINO).
  Result<Way> FirstWay(const Scene& scene, const StepRecord& record) const override {
    Way way;
    way.arithmetic = ArithmeticFor(record.group, *scene.model);
    const Layer* product = ProductLayerOf(record.group);
    if (product != nullptr && scene.int8_weights.layers.count(product->index) != 0)
      way.note = "computed with int8 weights of half of their range";
    for (size_t i = 0; i < record.info.inputs.size(); ++i) {
      const PortInfo& port = record.info.inputs[i];
      const Layer& reader = *record.group.members[static_cast<size_t>(record.group.inputs[i].member)];
      if (port.constant || port.dtype != DType::kF32) continue;
      if (record.info.outputs[0].stored != DType::kI8) {
        PLUMB_ASSIGN_OR_RETURN(way.extra.input_tau[port.blob], DequantisingNoise(record.inputs[i]));
      } else if (port.stored != DType::kI8 && IsProduct(reader)) {
        PLUMB_ASSIGN_OR_RETURN(way.extra.input_tau[port.blob], InputNoise(record.inputs[i]));
      }
    }
    return way;
  }

  Result<std::vector<Way>> OtherWays(const Scene& scene, const StepRecord& record, const Way& first) const override {
    auto ways = WaysOfTies(scene, record, first);
    return ways.ok() ? std::move(ways) : std::vector<Way>();  // else it is what it was without
  }

  // Integers are added exactly.
  int MaxLevel(const StepRecord& record) const override {
    return record.info.outputs[0].stored == DType::kI8 ? 0 : NumericRules::MaxLevel(record);
  }

  // Weights of unknown scale.
  Status WidenBound(const Scene& scene, const StepRecord& record, ReplayResult* replay) const override {
    const Layer* product = ProductLayerOf(record.group);
    if (product == nullptr || WeightsOf(scene.int8_weights, *product).steps > 0) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> sigma,
                           WeightNoise(record.group, record.inputs, *scene.blobs, *replay));
    for (size_t o = 0; o < sigma.size(); ++o) {
      double* tau = replay->tau[o].data<double>();
      const double* noise = sigma[o].data<double>();
      for (int64_t i = 0; i < sigma[o].NumElements(); ++i)
        tau[i] = std::sqrt(tau[i] * tau[i] + 64 * noise[i] * noise[i]);
    }
    return Status::Ok();
  }
};

}  // namespace

const NumericRules& GridRules() {
  static const NumericRules* rules = new GridNumericRules();
  return *rules;
}

}  // namespace plumb
