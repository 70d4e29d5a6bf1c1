// SPDX-License-Identifier: Apache-2.0
// The integers of a float blob of a step: those of the DequantizeLinear that made it, in the step or before.
#ifndef PLUMB_CHECK_INTEGER_STEP_SOURCES_H_
#define PLUMB_CHECK_INTEGER_STEP_SOURCES_H_

#include <optional>
#include <string>
#include <vector>

#include "check/integer/integer_operand.h"
#include "check/judge/scene.h"

namespace plumb {

// The one number of a constant blob of the scene.
std::optional<double> OneNumber(const Scene& scene, const std::string& blob);

// Of a zero point: the number that all elements of the constant are.
std::optional<double> SameNumber(const Scene& scene, const std::string& blob);
// The scales of the channels of TNN's blobs, where the constant has several, all above 0; else empty.
std::vector<float> ChannelScalesOf(const Scene& scene, const std::string& blob);

class StepSources {
 public:
  StepSources(const Scene& scene, const LayerGroup& group, const std::vector<Tensor>& inputs)
      : scene_(scene), group_(group), inputs_(inputs) {}

  // One scale and zero point; `whole` is left out.
  Result<IntegerOperand> ScaleOf(const std::string& blob) const;
  // Of the blobs, in their order, the whole numbers that stand for them.
  Result<std::vector<IntegerOperand>> Take(const std::vector<std::string>& blobs) const;

 private:
  Result<IntegerOperand> ScaleBy(const Layer& dequantizer) const;
  // A float from outside as whole steps.
  Result<Tensor> Counted(const Tensor& values, const std::string& blob) const;

  const Scene& scene_;
  const LayerGroup& group_;
  const std::vector<Tensor>& inputs_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_STEP_SOURCES_H_
