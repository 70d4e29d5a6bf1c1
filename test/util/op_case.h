// SPDX-License-Identifier: Apache-2.0
// One case of the operator test: an operator, its parameters by name (op/core/named_params.h), its inputs, and what
// must come out.
//
// test/op/<file>_test.cc defines `std::vector<OpCase> <file>_cases();` for each file column of op_list.def: a plain
// table (no test framework here, it would cost seconds per file). op_test.cc runs every case: NAIVE against the
// expected values, against itself in f64 and against its own bound; every other device against NAIVE.
//
//   OpCase("Softmax", "rows", "axis=1").In({2, 3}, {0, 0, 0, 1, 1, 1}).Out({1/3., 1/3., 1/3., 1/3., 1/3., 1/3.}),
//   OpCase("Convolution", "k3s2p1", "in_channels_per_group=5 out_channels=7 kernel=3 stride=2 pad=1 bias").In({2, 5, 9,
//   11}), OpCase("Concat", "rank_differs").In({1, 2}).In({1, 2, 3}).Refused("rank"),
#ifndef PLUMB_TEST_UTIL_OP_CASE_H_
#define PLUMB_TEST_UTIL_OP_CASE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

// How the values of an input or a weight are drawn (tolerance.md, "Other operators").
enum class Regime {
  kGauss,      // mean 0, deviation 1
  kRelu,       // max(gauss, 0)
  kPositive,   // |gauss| + 0.1
  kUnit,       // uniform in (-1, 1)
  kWide,       // sign * 10^uniform(-6, 4)
  kOffset,     // 100 + 0.01 gauss
  kTail,       // uniform in [-110, -3]
  kZeros,      // all 0
  kConstant,   // all 1.1
  kSubnormal,  // around 1e-39
  kSpecials,   // gauss with NaN, +-inf, +-0, the largest and smallest floats mixed in
  kInts,       // whole numbers in [-9, 9] (for integer blobs too)
  kExtremes,   // integer blobs: the ends of the type, -1, 0, 1; float blobs: like kSpecials
  kBools,      // 0 or 1
};

struct OpCase {
  struct Data {
    Shape shape;
    DType dtype = DType::kF32;
    Regime regime = Regime::kGauss;
    std::vector<double> values;  // used instead of the regime when not empty
    bool constant = false;       // a graph constant instead of a network input
    std::string slot;            // resources only
  };
  struct Expected {
    std::vector<double> values;  // empty: only the shape counts
    std::optional<Shape> shape;
    double tolerance = 1e-6;  // |value - expected| <= tolerance * max(1, |expected|)
  };

  OpCase(std::string op_name, std::string case_name, std::string params_text = "")
      : op(std::move(op_name)), name(std::move(case_name)), params(std::move(params_text)) {}

  OpCase& In(Shape shape, Regime regime = Regime::kGauss, DType dtype = DType::kF32) {
    inputs.push_back({std::move(shape), dtype, regime, {}, false, ""});
    return *this;
  }
  OpCase& In(Shape shape, std::vector<double> values, DType dtype = DType::kF32) {
    inputs.push_back({std::move(shape), dtype, Regime::kGauss, std::move(values), false, ""});
    return *this;
  }
  // An input that is a graph constant.
  OpCase& Const(Shape shape, std::vector<double> values, DType dtype = DType::kF32) {
    inputs.push_back({std::move(shape), dtype, Regime::kGauss, std::move(values), true, ""});
    return *this;
  }
  OpCase& Const(Shape shape, Regime regime, DType dtype = DType::kF32) {
    inputs.push_back({std::move(shape), dtype, regime, {}, true, ""});
    return *this;
  }
  // A resource of the layer. Required ones that a case leaves out are drawn as the operator's ResourceSpec says.
  OpCase& Weight(std::string slot, Shape shape, std::vector<double> values, DType dtype = DType::kF32) {
    resources.push_back({std::move(shape), dtype, Regime::kGauss, std::move(values), true, std::move(slot)});
    return *this;
  }
  OpCase& Weight(std::string slot, Shape shape, Regime regime = Regime::kGauss, DType dtype = DType::kF32) {
    resources.push_back({std::move(shape), dtype, regime, {}, true, std::move(slot)});
    return *this;
  }
  // The values of the next output; NAN and INFINITY mean themselves.
  OpCase& Out(std::vector<double> values, double tolerance = 1e-6) {
    expected.push_back({std::move(values), std::nullopt, tolerance});
    return *this;
  }
  OpCase& OutShape(Shape shape) {  // of the output that Out named last, or of the next one
    if (expected.empty() || expected.back().shape) expected.emplace_back();
    expected.back().shape = std::move(shape);
    return *this;
  }
  OpCase& Outputs(int count) {  // layers with several outputs
    num_outputs = count;
    return *this;
  }
  // Shape inference must refuse the layer with these words in the message.
  OpCase& Refused(std::string words) {
    refused = std::move(words);
    return *this;
  }
  OpCase& Seed(uint64_t value) {
    seed = value;
    return *this;
  }

  std::string op;
  std::string name;  // letters, digits and underscores; unique within the operator
  std::string params;
  std::vector<Data> inputs;
  std::vector<Data> resources;
  std::vector<Expected> expected;
  int num_outputs = 1;
  std::string refused;
  uint64_t seed = 1;
};

// Every case of every file of op_list.def.
const std::vector<OpCase>& AllOpCases();

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_OP_CASE_H_
