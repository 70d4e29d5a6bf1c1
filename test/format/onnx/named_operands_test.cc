// SPDX-License-Identifier: Apache-2.0
// Faults of integer convolutions and products, and of single operands: the node is wrong, and what was computed in its
// place is named. The subject has the tensors of a model with the fault.
#include <gtest/gtest.h>

#include <functional>

#include "format/onnx/node_verdict.h"
#include "format/onnx/onnx_model.h"
#include "graph/random_inputs.h"

namespace plumb {
namespace {

constexpr int kUint8 = 2, kInt8 = 3, kInt32 = 6, kBFloat16 = 16;

struct OperandFault {
  std::string words;  // of the cause; empty: none, the healthy model
  std::vector<int> bias = {700, -500, 300};
  std::vector<float> scales = {0.01f, 0.013f, 0.02f};
  bool zero_padded = false;
  int a_zero = 130, b_zero = 110;
  std::string first_of;  // the input whose first part stands for all
  std::string narrow;    // the input that is rounded to bf16
};

using Make = std::function<OnnxModel(const OperandFault&)>;

void Numbers(OnnxModel* m, const std::string& name, int type, const std::vector<int64_t>& dims,
             const std::function<int(int64_t)>& value) {
  ::onnx::TensorProto& tensor = *m->graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  int64_t count = 1;
  for (const int64_t dim : dims) tensor.add_dims(dim), count *= dim;
  for (int64_t i = 0; i < count; ++i) tensor.add_int32_data(value(i));
}

void Number(OnnxModel* m, const std::string& name, int type, int value) {
  Numbers(m, name, type, {}, [value](int64_t) { return value; });
}

OnnxModel Convolution(const OperandFault& f) {
  OnnxModel m;
  m.Input("x", {1, 2, 6, 6}, kUint8).Output("y");
  m.Floats("xs", {}, {0.05f});
  m.Floats("ws", {3}, f.scales);
  m.Floats("ys", {}, {0.5f});
  Number(&m, "xz", kUint8, 120);
  Number(&m, "yz", kUint8, 128);
  Numbers(&m, "w", kInt8, {3, 2, 3, 3}, [](int64_t i) { return static_cast<int>(i * 89 % 201) - 100; });
  Numbers(&m, "wz", kInt8, {3}, [](int64_t) { return 0; });
  Numbers(&m, "b", kInt32, {3}, [&](int64_t i) { return f.bias[static_cast<size_t>(i)]; });
  std::string x = "x";
  if (f.zero_padded) {
    m.Ints("pads", {8}, {0, 0, 1, 1, 0, 0, 1, 1});
    Number(&m, "nothing", kUint8, 0);
    m.Node("Pad", {"x", "pads", "nothing"}, {"padded"});
    x = "padded";
  }
  const int64_t pad = f.zero_padded ? 0 : 1;
  OnnxModel::SetInts(&m.Node("QLinearConv", {x, "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}, {"y"}, "conv"), "pads",
                     {pad, pad, pad, pad});
  return m;
}

OnnxModel IntegerProduct(const OperandFault& f) {
  OnnxModel m;
  m.Input("a", {12, 40}, kUint8).Output("y");
  Numbers(&m, "b", kUint8, {40, 16}, [](int64_t i) { return static_cast<int>(i * 151 % 256); });
  Number(&m, "az", kUint8, f.a_zero);
  Number(&m, "bz", kUint8, f.b_zero);
  m.Node("MatMulInteger", {"a", "b", "az", "bz"}, {"y"}, "product");
  return m;
}

// The operand as the faulty runtime has it.
std::string Operand(OnnxModel* m, const OperandFault& f, const std::string& name, int64_t axis, int64_t size) {
  if (f.first_of == name) {
    m->Ints("first", {size}, std::vector<int64_t>(static_cast<size_t>(size), 0));
    OnnxModel::SetInt(&m->Node("Gather", {name, "first"}, {name + "_first"}), "axis", axis);
    return name + "_first";
  }
  if (f.narrow != name) return name;
  OnnxModel::SetInt(&m->Node("Cast", {name}, {name + "_bf16"}), "to", kBFloat16);
  OnnxModel::SetInt(&m->Node("Cast", {name + "_bf16"}, {name + "_wide"}), "to", 1);
  return name + "_wide";
}

OnnxModel Scores(const OperandFault& f) {
  OnnxModel m;
  m.Input("q", {2, 4, 5, 8}).Input("k", {2, 4, 8, 6}).Output("y");
  m.Node("MatMul", {Operand(&m, f, "q", 1, 4), Operand(&m, f, "k", 1, 4)}, {"y"}, "scores");
  return m;
}

OnnxModel Masked(const OperandFault& f) {
  OnnxModel m;
  m.Input("scores", {2, 4, 5, 6}).Input("mask", {2, 1, 5, 6}).Output("y");
  m.Node("Add", {"scores", Operand(&m, f, "mask", 0, 2)}, {"y"}, "masked");
  return m;
}

LayerReport JudgedBy(const Make& make, const OperandFault& fault) {
  ImportRecord record;
  LoadOptions load;
  load.record = &record;
  const auto says = make({}).Import(load), computed = make(fault).Import();
  EXPECT_TRUE(says.ok()) << says.status().ToString();
  EXPECT_TRUE(computed.ok()) << computed.status().ToString();
  std::map<std::string, Tensor> inputs;
  for (const GraphInput& input : says->inputs) {
    const InputRange range = IsFloat(input.dtype) ? InputRange{-1, 1} : InputRange{0, 255, true};
    inputs[input.name] = RandomInput(input.name, input.dtype, input.shape, 1, range).value();
  }
  const auto subject = NaiveSubject(*computed, inputs, {"y"});
  EXPECT_TRUE(subject.ok()) << subject.status().ToString();
  const auto run = JudgeSubject(*says, record, *subject, inputs);
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  for (const LayerReport& layer : run->layers) {
    if (layer.verdict == Verdict::kWrong) return layer;
  }
  return run->layers.back();
}

void ExpectNamed(const Make& make, const std::vector<OperandFault>& faults) {
  const LayerReport healthy = JudgedBy(make, {});
  EXPECT_EQ(healthy.verdict, Verdict::kAligned) << healthy.reason;
  for (const OperandFault& fault : faults) {
    const LayerReport layer = JudgedBy(make, fault);
    EXPECT_EQ(layer.verdict, Verdict::kWrong) << fault.words << ": " << layer.reason;
    EXPECT_NE(layer.cause.find(fault.words), std::string::npos) << fault.words << ": " << layer.cause << layer.reason;
    EXPECT_EQ(layer.cause.find("; or "), std::string::npos) << fault.words << ": " << layer.cause;
  }
}

OperandFault Fault(const std::string& words, const std::function<void(OperandFault*)>& set) {
  OperandFault fault;
  fault.words = words;
  set(&fault);
  return fault;
}

TEST(NamedOperands, QLinearConv) {
  ExpectNamed(Convolution, {Fault("without the bias",
                                  [](OperandFault* f) {
                                    f->bias = {0, 0, 0};
                                  }),
                            Fault("with the bias of the channel before",
                                  [](OperandFault* f) {
                                    f->bias = {300, 700, -500};
                                  }),
                            Fault("with the scale of the first channel for all",
                                  [](OperandFault* f) {
                                    f->scales = {0.01f, 0.01f, 0.01f};
                                  }),
                            Fault("with padding by the integer 0", [](OperandFault* f) { f->zero_padded = true; })});
}

TEST(NamedOperands, MatMulInteger) {
  ExpectNamed(IntegerProduct,
              {Fault("without the zero point of the first operand", [](OperandFault* f) { f->a_zero = 0; }),
               Fault("without the zero point of the second operand", [](OperandFault* f) { f->b_zero = 0; }),
               Fault("without the zero points", [](OperandFault* f) { f->a_zero = f->b_zero = 0; })});
}

TEST(NamedOperands, MatMul) {
  ExpectNamed(Scores, {Fault("with head 0 of 'k' for every head", [](OperandFault* f) { f->first_of = "k"; }),
                       Fault("with its first operand rounded to bf16", [](OperandFault* f) { f->narrow = "q"; }),
                       Fault("with its second operand rounded to bf16", [](OperandFault* f) { f->narrow = "k"; })});
}

TEST(NamedOperands, AMaskOfTheFirstBatchElement) {
  ExpectNamed(Masked, {Fault("with batch element 0 of 'mask' for every batch element",
                             [](OperandFault* f) { f->first_of = "mask"; })});
}

}  // namespace
}  // namespace plumb
