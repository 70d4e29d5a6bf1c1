// SPDX-License-Identifier: Apache-2.0
// A network as an int8 subject, judged with weights of a kind.
#ifndef PLUMB_TEST_UTIL_INT8_SUBJECT_H_
#define PLUMB_TEST_UTIL_INT8_SUBJECT_H_

#include <functional>
#include <map>
#include <string>

#include "check/numbers/int8_weights.h"
#include "graph/random_inputs.h"
#include "plumb/check.h"
#include "util/stored_blobs.h"

namespace plumb::int8_subject {

inline std::map<std::string, Tensor> Inputs(const Graph& graph) {
  const GraphInput& input = graph.inputs[0];
  return {{input.name, RandomInput(input.name, input.dtype, input.shape, 1, {}).value()}};
}

inline const Int8Weights kPerChannel, kPerTensor{false}, kUnknown{true, false, 0};

inline Int8WeightsOf ForAll(const Int8Weights& weights) {
  return {{{"Convolution", weights}, {"InnerProduct", weights}}, {}};
}

inline RunReport JudgeWith(const Graph& graph, const std::map<std::string, Tensor>& blobs, const Int8WeightsOf& weights,
                           SubjectArithmetic arithmetic = SubjectArithmetic::kInt8) {
  SubjectOptions options;
  options.check.arithmetic = arithmetic;
  options.check.int8_weights = weights;
  return CheckSubjectBlobs(graph, Stored(blobs), Inputs(graph), options).value();
}

inline RunReport Judge(const Graph& graph, const std::map<std::string, Tensor>& blobs, const Int8Weights& weights,
                       SubjectArithmetic arithmetic = SubjectArithmetic::kInt8) {
  return JudgeWith(graph, blobs, ForAll(weights), arithmetic);
}

inline std::string Failures(const RunReport& report) {
  std::string text;
  for (const LayerReport& layer : report.layers) {
    if (layer.verdict != Verdict::kWrong && layer.verdict != Verdict::kGrey) continue;
    const OutputReport* o = layer.Worst();
    text += layer.step.name + " " + VerdictName(layer.verdict) + " " + layer.reason + " E " +
            std::to_string(o == nullptr ? 0 : o->excess) + " R " + std::to_string(o == nullptr ? 0 : o->rms_excess) +
            "\n";
  }
  return text;
}

inline Tensor* WeightOf(Layer* layer) {
  Tensor& weight = layer->resources["weight"];
  weight = weight.Clone().value();
  return &weight;
}

inline void EachWeight(Layer* layer, const std::function<float(float, int64_t)>& f) {
  Tensor* weight = WeightOf(layer);
  for (int64_t i = 0; i < weight->NumElements(); ++i) weight->data<float>()[i] = f(weight->data<float>()[i], i);
}

}  // namespace plumb::int8_subject

#endif  // PLUMB_TEST_UTIL_INT8_SUBJECT_H_
