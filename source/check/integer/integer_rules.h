// SPDX-License-Identifier: Apache-2.0
// Which integers a kernel gives, to the last one: a rule per form of operator and family of kernels. A rule is exact:
// it replays the kernel's own arithmetic, roundings and order, and follows from a step's integers alone. A step whose
// output is what one of the rules of its operator gives, element by element, was computed by it.
#ifndef PLUMB_CHECK_INTEGER_INTEGER_RULES_H_
#define PLUMB_CHECK_INTEGER_INTEGER_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "check/integer/cut_group.h"
#include "check/integer/integer_step.h"
#include "check/integer/made_for.h"

namespace plumb {

struct IntegerRule {
  IntegerForm form;
  const char* words;  // "ONNX Runtime's rule (f32 scale, round half to even)"
  // The operator's integers, in front of the tail. False: the rule does not apply to the step, or says nothing of
  // numbers of this size. `integers` has an element for each of the result.
  bool (*replay)(const IntegerStep& step, std::vector<int64_t>* integers);
  bool of_tflite = false;  // only of a .tflite file: elsewhere it would be a fault, or has another name
};

// onnxruntime_rules.cc, tflite_rules.cc, tflite_element_rules.cc, tflite_softmax_rules.cc, xnnpack_rules.cc,
// resize_rules.cc, tnn_rules.cc, ncnn_rules.cc, mnn_rules.cc
std::vector<IntegerRule> OnnxRuntimeRules();
std::vector<IntegerRule> TfliteRules();
std::vector<IntegerRule> TfliteElementRules();
std::vector<IntegerRule> TfliteSoftmaxRules();
std::vector<IntegerRule> TfliteResizeRules();
std::vector<IntegerRule> XnnpackRules();
std::vector<IntegerRule> XnnpackResizeRules();
std::vector<IntegerRule> TnnRules();
std::vector<IntegerRule> TnnResizeRules();
std::vector<IntegerRule> NcnnRules();
std::vector<IntegerRule> MnnRules();
// All that are asked of such a model, in their order: of a .tflite file TFLite's and XNNPACK's first, of TNN's, ncnn's
// and MNN's their own alone.
const std::vector<IntegerRule>& AllIntegerRules(MadeFor runtime = MadeFor::kOnnxRuntime);

// An output as a QuantizeLinear makes it, moved or not.
struct QuantisedOutput {
  std::string blob;     // of the QuantizeLinear; "": another operator's
  std::string written;  // what the integers were written as
  Tensor integers;      // the device's, i64; of a TNN model, whose dumps hold reals, those that stand for them
};
QuantisedOutput QuantisedOutputOf(const Scene& scene, const StepRecord& record, size_t output);

// The part of a step that makes the blob of a QuantizeLinear. Of tensors in between that the subject has not, each is
// made by the first rule of the model's runtime that applies.
CutGroup PartThatMakes(const Scene& scene, const StepRecord& record, const std::string& blob);

// The rules that an output follows, and of the model's own runtime's and f32's that which comes nearest.
struct FollowedRule {
  bool quantised = false;          // by the step; else no rule is asked
  bool ruled = false;              // a rule of LiteRT's kernels says something of it
  std::vector<std::string> words;  // none; or several, which give the same integers here
  std::string behind;              // tensors that the subject has not and the rules made
  std::string nearest;             // "": none of them says anything of it
  int64_t differing = 0;           // integers that are not the nearest one's
};
// The output's integers by the rule that comes nearest; nothing: none says anything of it.
std::optional<Tensor> NearestByRule(const Scene& scene, const StepRecord& record, size_t output);
FollowedRule FindIntegerRule(const Scene& scene, const StepRecord& record, size_t output);

// The output that follows from the integers of the blob.
Result<Tensor> MovedIntegers(const Scene& scene, const StepRecord& record, const std::string& blob,
                             const std::string& output, const Tensor& integers);

// What several families compute alike: a product's sum times f32(f32(x_scale * w_scale) / y_scale), to an even half.
bool RequantisedInF32(const IntegerStep& step, std::vector<int64_t>* integers);
// LOGISTIC and TANH of 8 bits by a table of f32's function, to an even half.
bool XnnpackTable(const IntegerStep& step, std::vector<int64_t>* integers);
// The slope below zero of a leaky ReLU. False: the step is none.
bool LeakySlopeOf(const IntegerStep& step, float* slope);

// v rounded to an even half and within the result's range, without its zero point; false: it is no number, or beyond 32
// bits.
bool RoundedToRange(const IntegerStep& step, float v, int64_t* whole);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_INTEGER_RULES_H_
