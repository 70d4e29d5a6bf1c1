// SPDX-License-Identifier: Apache-2.0
// Reads the IntegerStep of a blob: its result and tail (step_reader.cc), then the operator's form: sums of products
// (product_form.cc) or others (value_form.cc).
#ifndef PLUMB_CHECK_INTEGER_STEP_READER_H_
#define PLUMB_CHECK_INTEGER_STEP_READER_H_

#include <optional>
#include <string>
#include <vector>

#include "check/integer/integer_step.h"
#include "check/integer/step_sources.h"
#include "check/integer/whole_constants.h"
#include "op/core/window.h"

namespace plumb {

class StepReader {
 public:
  StepReader(const Scene& scene, const LayerGroup& group, const std::vector<Tensor>& inputs)
      : scene_(scene), group_(group), inputs_(inputs), sources_(scene, group, inputs) {}

  Result<IntegerStep> Read(const std::string& blob);

 private:
  const Layer& MemberAt(int i) const { return *group_.members[static_cast<size_t>(i)]; }
  // The member that makes the blob, where it is of the kind; null: another one, or none.
  const Layer* MakerOf(const std::string& blob, OpKind kind) const;

  Status ReadResult(const Layer& quantize);
  // A limit in steps of the result.
  float Limit(float value) const;
  // The layer, where it commutes with rounding: what moves values, takes the largest or limits them.
  std::optional<Layer> InSteps(const Layer& layer) const;
  // Fills the tail; the operator in front of it.
  Result<const Layer*> ReadTail(std::string blob);
  Status ReadForm(const Layer& base);
  Status ReadSumForm(const Layer& base);
  // A convolution, maybe with an activation that limits its result.
  Status ReadConvolution(const Layer& base);

  // product_form.cc
  // sums (integers) as f32 times constant scales, as the QLinear operators of products are imported.
  Status ReadScaledSums(const Layer& base);
  // One factor, or one for each entry of an axis.
  Status ReadFactors(const Tensor& scale);
  // A product of x and constant weights, both dequantised; `behind`: layers that move its sums or add zeros to them.
  Status ReadProduct(const Layer& base, const Tensor* bias, const std::vector<const Layer*>& behind = {});
  // A product behind which the bias is a layer of its own, or the sums are padded; NotFound: it is none.
  // Of a convolution, or of what cuts behind a transposed one.
  void ReadWindow(const Layer& base, const Shape& x);
  Status ReadSpreadProduct(const Layer& base);
  Status ReadProductOfTwo(const Layer& base);
  // A convolution, maybe with a ReLU, whose sums are not rounded before the Add, as TNN fuses them; NotFound: it is
  // none.
  Status ReadProductAndAdd(const Layer& add);
  // The layers, one behind the other, on whole numbers, exactly: f64 holds such sums.
  Status SumUp(const std::vector<const Layer*>& layers, const std::vector<Tensor>& inputs);
  // Of each output channel: one for all its weights.
  Status ReadWeightScales(const Layer& base, const WholeConstant& weight, float scale_of_x);
  // Whole steps of x times weights: those of its own DequantizeLinear, else rounded, as ONNX Runtime does it.
  Status AddBias(const Tensor& bias);

  // value_form.cc
  // Of one scale.
  Result<IntegerOperand> ConstantOperand(const Tensor& values) const;
  // Both operands of Add or Mul, broadcast.
  Status ReadPair(const Layer& base, IntegerForm form);
  Result<Tensor> BroadcastTo(const Tensor& tensor, const Shape& shape) const;
  // The mean of whole planes or of windows: their sums.
  Status ReadMean(const Layer& base);
  // Of axes: the sums, of so many values each.
  Status ReadReduced(const Layer& base, IntegerForm form);
  Status ReadOfOne(const Layer& base, IntegerForm form);
  // One slope, as LEAKY_RELU has it, is no integer.
  Status ReadPRelu(const Layer& base);
  // x < 0 ? x slope : x, as slopes that are not one for each channel are imported.
  Status ReadSelectedPRelu(const Layer& base);
  // Softmax or LogSoftmax, maybe of x times a constant.
  Status ReadSoftmax(const Layer& base, IntegerForm form);
  // x / max(sqrt(sum of x x along an axis), constant).
  Status ReadNorm(const Layer& base);
  Status ReadRequantised(const Layer& dequantize);
  Status ReadJoined(const Layer& base);
  // (a - b)(a - b).
  Status ReadSquaredDifference(const Layer& base);

  const Scene& scene_;
  const LayerGroup& group_;
  const std::vector<Tensor>& inputs_;
  const StepSources sources_;
  IntegerStep step_;
};

// How a group quantises one of its blobs; `inputs` as for ReplayValues. NotSupported: it does not, or the operator has
// no form.
Result<IntegerStep> ReadIntegerStep(const Scene& scene, const LayerGroup& group, const std::vector<Tensor>& inputs,
                                    const std::string& blob);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_STEP_READER_H_
