// SPDX-License-Identifier: Apache-2.0
// Blobs that stand in the dump as f16 or bf16: the replay reads the rounded values; a step that is off on these very
// values may have read them before they were rounded, or rounded what stands in f32.
#include <algorithm>
#include <cmath>

#include "check/judge/numeric_rules.h"
#include "check/numbers/stored_half.h"

namespace plumb {
namespace {

class HalfNumericRules : public NumericRules {
 public:
  Result<std::vector<Way>> OtherWays(const Scene& scene, const StepRecord& record, const Way& first) const override {
    std::vector<Way> ways;
    // A product may hand out f32 and round what it reads all the same (OpenVINO's bf16).
    Way operands = first;
    if (UseOtherProducts(record.group, ModelOf(OperandsOf(*scene.model)), &operands.arithmetic, &operands.extra))
      ways.push_back(std::move(operands));
    Way way = first;
    PLUMB_ASSIGN_OR_RETURN(const bool any, AddInputNoise(scene, record.group, record.inputs, &way.extra));
    way.infinities_unknown = ReadsBeforeRounding(scene, record);
    // Runtimes that store 16 bits choose Winograd's algorithm in f32 layer by layer, too: its errors are far below half
    // a unit but where a tile's values cancel.
    const bool winograd =
        UseOtherProducts(record.group, ModelOf(SubjectArithmetic::kWinograd), &way.arithmetic, &way.extra);
    const bool alone = record.group.members.size() == 1;
    if (!alone) way.extra.stored = scene.storage;  // what nobody dumped was stored, too
    if (!alone || any || way.infinities_unknown || winograd) ways.push_back(std::move(way));
    return ways;
  }

  static SubjectArithmetic OperandsOf(const NumericModel& model) {
    return model.blobs == DType::kF16 ? SubjectArithmetic::kF16Products : SubjectArithmetic::kBf16Products;
  }

  // Whether an input stands in the dump as infinite because 16 bits hold no more, and was read before that.
  static bool ReadsBeforeRounding(const Scene& scene, const StepRecord& record) {
    if (!scene.model->chains) return false;
    for (size_t i = 0; i < record.group.inputs.size(); ++i) {
      if (scene.storage(record.group.inputs[i].blob) != scene.model->blobs) continue;
      const Tensor& input = record.inputs[i];
      for (int64_t k = 0; input.dtype() == DType::kF64 && k < input.NumElements(); ++k) {
        if (std::isinf(input.data<double>()[k])) return true;
      }
    }
    return false;
  }

  // What stands in 16 bits may have been read before it was rounded; what stands in f32 (what an operator keeps so) may
  // be rounded when it is read; of the network's input either holds.
  Result<bool> AddInputNoise(const Scene& scene, const LayerGroup& group, const std::vector<Tensor>& inputs,
                             ReplayExtra* extra) const override {
    const NumericModel& model = *scene.model;
    const bool writes_half = std::any_of(group.outputs.begin(), group.outputs.end(), [&](const LayerGroup::Port& port) {
      return scene.storage(port.blob) == model.blobs;
    });
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      const std::string& blob = group.inputs[i].blob;
      if (!scene.blobs->at(blob).value.empty()) continue;
      const auto& outer = scene.graph->inputs;
      const bool network = std::any_of(outer.begin(), outer.end(), [&](const GraphInput& g) { return g.name == blob; });
      const bool stands_rounded = scene.storage(blob) == model.blobs;
      const bool read_before = model.chains && (network || stands_rounded);
      const bool read_rounded = writes_half && (network || !stands_rounded);
      PLUMB_ASSIGN_OR_RETURN(Tensor noise, StorageNoise(model.blobs, inputs[i], read_before, read_rounded));
      if (!noise.empty()) extra->input_tau[blob] = std::move(noise);
    }
    return !extra->input_tau.empty();
  }
};

}  // namespace

const NumericRules& HalfRules() {
  static const NumericRules* rules = new HalfNumericRules();
  return *rules;
}

}  // namespace plumb
