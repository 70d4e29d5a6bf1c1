// SPDX-License-Identifier: Apache-2.0
// What the tests of named causes share: small graphs, what a runtime makes of them, and the judgement.
#ifndef PLUMB_TEST_CHECK_COMPUTED_OTHERWISE_UTIL_H_
#define PLUMB_TEST_CHECK_COMPUTED_OTHERWISE_UTIL_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check/cause/computed_otherwise.h"
#include "plumb/check.h"
#include "util/make_layer.h"
#include "util/stored_blobs.h"

namespace plumb {

inline Tensor Gauss(const Shape& shape, double scale = 1, double offset = 0) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  std::mt19937 random(5);
  std::normal_distribution<double> normal(offset, scale);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = static_cast<float>(normal(random));
  return tensor;
}

inline Graph GraphOf(std::vector<Layer> layers, const Shape& input) {
  Graph graph;
  graph.inputs = {{"x", DType::kF32, input}};
  graph.layers = std::move(layers);
  graph.outputs = graph.layers.back().outputs;
  for (size_t i = 0; i < graph.layers.size(); ++i) graph.layers[i].index = static_cast<int>(i);
  return graph;
}

inline LayerReport Judge(const Graph& graph, const Tensor& x, const Tensor& y) {
  Stored subject;
  subject.blobs = {{"x", x}, {graph.outputs[0], y}};
  return CheckSubjectBlobs(graph, subject, {}, {}).value().layers.back();
}

// What the graph with another last layer makes of x, rounded to f32: a runtime that computes it exactly so.
inline Tensor ComputedBy(const Graph& graph, const Tensor& x) {
  const BlobTable infos = InferShapes(graph).value();
  std::map<std::string, Tensor> blobs = {{"x", x}};
  for (const Layer& layer : graph.layers) {
    ReferenceArgs args{layer, {}, {}};
    for (const std::string& input : layer.inputs) {
      const auto constant = graph.constants.find(input);
      args.inputs.push_back(constant == graph.constants.end() ? &blobs.at(input) : &constant->second);
    }
    for (const std::string& output : layer.outputs) {
      blobs[output] = Tensor::Create(infos.at(output).dtype, infos.at(output).shape).value();
      args.outputs.push_back(&blobs[output]);
    }
    EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
  }
  return blobs.at(graph.outputs[0]);
}

inline Tensor Mapped(const Tensor& x, const std::function<double(double)>& f) {
  Tensor y = x.Clone().value();
  for (int64_t i = 0; i < y.NumElements(); ++i)
    y.data<float>()[i] = static_cast<float>(f(static_cast<double>(x.data<float>()[i])));
  return y;
}

inline void ExpectNamed(const LayerReport& report, const std::string& cause) {
  EXPECT_EQ(report.verdict, Verdict::kWrong) << report.reason;
  EXPECT_EQ(report.cause, cause) << report.reason;
  EXPECT_NE(report.reason.find(cause), std::string::npos) << report.reason;
}

template <class P>
Layer LayerOf(OpKind kind, const std::function<void(P*)>& set, std::vector<std::string> inputs = {"x"}) {
  Layer layer = MakeLayer(kind, "layer", std::move(inputs), {"y"});
  auto param = std::make_shared<P>();
  set(param.get());
  layer.param = param;
  return layer;
}

}  // namespace plumb

#endif  // PLUMB_TEST_CHECK_COMPUTED_OTHERWISE_UTIL_H_
