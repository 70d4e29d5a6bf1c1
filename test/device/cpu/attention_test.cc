// SPDX-License-Identifier: Apache-2.0
// Attention as one kernel of the CPU device: which layers it takes, and its numbers beside NAIVE's and beside those of
// the layers one by one, for every shape of mask, rests of blocks, threads, and what is not finite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu_name.h"
#include "plumb/plumb.h"
#include "util/attention_graph.h"

namespace plumb {
namespace {

using Inputs = std::map<std::string, Tensor>;

Tensor RunOn(const std::shared_ptr<const Graph>& graph, const Inputs& inputs, const std::string& device,
             const NetworkOptions& options = {}, std::vector<std::string>* kernels = nullptr) {
  auto network = CreateNetwork(graph, device, options);
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  if (!network.ok()) return {};
  for (const auto& [name, value] : inputs) EXPECT_TRUE((*network)->SetInput(name, value).ok());
  for (int forward = 0; forward < 2; ++forward) {
    const Status status = (*network)->Forward();
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  for (const StepInfo* step : (*network)->steps()) {
    if (kernels != nullptr) kernels->push_back(step->kernel);
  }
  return (*network)->GetOutput("y").value();
}

NetworkOptions Unfused() {
  NetworkOptions options;
  options.unfuse = true;
  return options;
}

std::vector<std::string> KernelsOf(const AttentionForm& form) {
  const auto graph = AttentionGraph(form);
  std::vector<std::string> kernels;
  RunOn(graph, AttentionInputs(*graph, form), kCpuDevice, {}, &kernels);
  return kernels;
}

const std::vector<std::string> kOne = {On("attention")};

// One kernel, NAIVE's numbers, the same bits on every number of threads.
void ExpectLikeNaive(const AttentionForm& form) {
  const auto graph = AttentionGraph(form);
  const Inputs inputs = AttentionInputs(*graph, form);
  const Tensor want = RunOn(graph, inputs, "NAIVE");
  Tensor one;
  for (const int threads : {1, 2, 3}) {
    NetworkOptions options;
    options.num_threads = threads;
    std::vector<std::string> kernels;
    const Tensor got = RunOn(graph, inputs, kCpuDevice, options, &kernels);
    ASSERT_EQ(kernels, kOne);
    ASSERT_EQ(got.shape(), want.shape());
    double worst = 0;
    for (int64_t i = 0; i < want.NumElements(); ++i)
      worst = std::max(worst, std::fabs(got.ValueAt(i) - want.ValueAt(i)));
    EXPECT_LT(worst, 1e-5);  // values below 2, scores of some units
    if (threads == 1) one = got;
    EXPECT_EQ(std::memcmp(got.raw(), one.raw(), one.bytes()), 0) << threads << " threads";
  }
}

TEST(CpuAttention, OfEveryExtent) {
  for (const int64_t tokens : {1, 5, 16, 33, 128, 300}) {
    for (const int64_t size : {8, 20, 64, 128}) {
      for (const int64_t heads : {1, 3, 12}) {
        SCOPED_TRACE(testing::Message() << tokens << " tokens, " << size << " values, " << heads << " heads");
        AttentionForm form;
        form.batch = {1, heads}, form.rows = form.keys = tokens, form.size = size;
        ExpectLikeNaive(form);
      }
    }
  }
}

TEST(CpuAttention, WithOtherRowsThanKeysAndOtherValues) {
  for (const auto& [rows, keys, values] : {std::array<int64_t, 3>{1, 70, 16}, {7, 3, 1}, {40, 513, 24}, {3, 2100, 8}}) {
    AttentionForm form;
    form.rows = rows, form.keys = keys, form.size = 24, form.value_size = values;
    ExpectLikeNaive(form);
  }
}

TEST(CpuAttention, InEveryForm) {
  for (const bool turned : {false, true}) {
    for (const char scale : {'*', '/', ' '}) {
      for (const std::vector<int64_t>& batch : {std::vector<int64_t>{}, {3}, {2, 3}, {2, 1, 3}}) {
        for (const int64_t rows : {21, 3}) {
          AttentionForm form;
          form.batch = batch, form.rows = rows, form.keys = 37, form.turned = turned, form.scale = scale;
          form.scale_is_blob = turned;
          ExpectLikeNaive(form);
        }
      }
    }
  }
}

// Few rows read keys and values as they lie, more have them packed.
TEST(CpuAttention, OfFewRows) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7}) {
    for (const bool turned : {false, true}) {
      AttentionForm form;
      form.batch = {2, 3}, form.rows = rows, form.keys = 203, form.size = 20, form.value_size = 12;
      form.turned = turned, form.mask = {2, 1, 1, 203};
      ExpectLikeNaive(form);
    }
  }
}

// Heads that share keys and values, and a batch that shares all of them.
TEST(CpuAttention, WithKeysOfSeveralHeads) {
  for (const std::vector<int64_t>& batch : {std::vector<int64_t>{2, 1}, {1, 3}, {1, 1}, {3}, {}}) {
    AttentionForm form;
    form.batch = {2, 3}, form.key_batch = batch, form.rows = 9, form.keys = 11;
    ExpectLikeNaive(form);
  }
}

TEST(CpuAttention, WithMasksOfEveryShape) {
  const std::vector<int64_t> shapes[] = {{37},           {21, 37},       {1, 37},       {1, 1, 1, 37},  {2, 1, 1, 37},
                                         {1, 1, 21, 37}, {2, 1, 21, 37}, {1, 3, 1, 37}, {1, 3, 21, 37}, {2, 3, 21, 37},
                                         {3, 21, 37},    {3, 1, 37},     {2, 3, 21, 1}, {21, 1},        {1, 1, 1, 1}};
  for (const std::vector<int64_t>& shape : shapes) {
    for (const bool is_input : {false, true}) {
      for (const float hidden :
           {-1e4f, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::lowest()}) {
        SCOPED_TRACE(Shape(shape).ToString() + (is_input ? " input " : " constant ") + std::to_string(hidden));
        AttentionForm form;
        form.batch = {2, 3}, form.rows = 21, form.keys = 37, form.mask = shape;
        form.mask_is_input = is_input;
        form.hidden = shape.back() == 1 ? -3 : hidden;  // of whole rows: a large one would round the scores away
        ExpectLikeNaive(form);
      }
    }
  }
}

// What is no attention stays what it was.
TEST(CpuAttention, TakesNothingElse) {
  AttentionForm form;
  EXPECT_EQ(KernelsOf(form), kOne);
  const auto count = [&](const char* kernel) {
    const std::vector<std::string> kernels = KernelsOf(form);
    return std::count(kernels.begin(), kernels.end(), On(kernel));
  };
  form.axis = 2;
  EXPECT_EQ(count("attention"), 0) << "Softmax over the rows";
  EXPECT_EQ(count("softmax"), 1);
  form.axis = 3;
  EXPECT_EQ(count("attention"), 1);
  form.batch = {}, form.mask = {2, 16, 16}, form.axis = -1;
  EXPECT_EQ(count("attention"), 0) << "a mask that makes more heads";
  form = {};
  form.batch = {1, 1}, form.key_batch = {2, 3};
  EXPECT_EQ(count("attention"), 1) << "one head's queries for those of six heads' keys";
}

// A blob that is read twice, or leaves the network, is computed.
TEST(CpuAttention, KeepsWhatOthersRead) {
  AttentionForm form;
  for (const char* blob : {"turn", "product", "scale", "weights"}) {
    const auto graph = AttentionGraph(form);
    graph->outputs.push_back(blob);
    std::vector<std::string> kernels;
    RunOn(graph, AttentionInputs(*graph, form), kCpuDevice, {}, &kernels);
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), On("attention")), std::string(blob) == "turn") << blob;
  }
  std::vector<std::string> kernels;
  const auto graph = AttentionGraph(form);
  RunOn(graph, AttentionInputs(*graph, form), kCpuDevice, Unfused(), &kernels);
  EXPECT_EQ(kernels,
            (std::vector<std::string>{On("strided"), On("matmul"), On("channel_affine"), On("softmax"), On("matmul")}));
}

// Weights that are divided by their sum only behind the product with values make sums beyond float.
TEST(CpuAttention, OfValuesNearTheEndOfFloat) {
  for (const auto& [rows, values] : {std::pair<int64_t, int64_t>{13, 8}, {13, 12}, {3, 8}}) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << values << " values");
    AttentionForm form;
    form.rows = rows, form.keys = 19, form.value_size = values;
    const auto graph = AttentionGraph(form);
    Inputs inputs = AttentionInputs(*graph, form, 0.1f);
    Tensor& v = inputs["v"];
    for (int64_t i = 0; i < v.NumElements(); ++i) v.data<float>()[i] = (i % values % 2 == 0 ? 3e38f : -1e-38f);
    const Tensor got = RunOn(graph, inputs, kCpuDevice);
    for (int64_t i = 0; i < got.NumElements(); ++i)
      EXPECT_NEAR(got.ValueAt(i) / (i % values % 2 == 0 ? 3e38 : -1e-38), 1, 1e-6) << i;
  }
}

// NaN and infinities stand where they stand layer by layer.
TEST(CpuAttention, IsNotFiniteWhereTheLayersAreNot) {
  for (const char* input : {"q", "k", "v", "mask"}) {
    for (const auto& [special, rows] :
         {std::pair<float, int64_t>{NAN, 13}, {INFINITY, 13}, {-INFINITY, 13}, {NAN, 3}}) {
      SCOPED_TRACE(testing::Message() << input << ' ' << special << ", " << rows << " rows");
      AttentionForm form;
      form.rows = rows, form.keys = 19, form.mask = {rows, 19}, form.mask_is_input = true, form.hidden = -INFINITY;
      const auto graph = AttentionGraph(form);
      Inputs inputs = AttentionInputs(*graph, form, 2, true);
      inputs[input].data<float>()[27] = special;
      if (std::string(input) == "mask") {  // a row whose keys are all hidden, too
        for (int64_t i = 2 * 19; i < 3 * 19; ++i) inputs["mask"].data<float>()[i] = -INFINITY;
      }
      const Tensor want = RunOn(graph, inputs, kCpuDevice, Unfused()), got = RunOn(graph, inputs, kCpuDevice);
      int64_t unlike = 0;
      for (int64_t i = 0; i < want.NumElements(); ++i) {
        const double a = want.ValueAt(i), b = got.ValueAt(i);
        EXPECT_EQ(std::isnan(a), std::isnan(b)) << i;
        if (std::isinf(a) || std::isinf(b)) {
          EXPECT_EQ(a, b) << i;
        }
        unlike += !std::isfinite(a);
      }
      EXPECT_TRUE(unlike > 0 || std::string(input) != "v") << "the case is not hard enough to show anything";
    }
  }
}

}  // namespace
}  // namespace plumb
