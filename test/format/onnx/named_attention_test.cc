// SPDX-License-Identifier: Apache-2.0
// Faults of attention operators that are imported as groups of layers: the node is wrong, and what was computed in its
// place is named. The subject has the tensors of a model whose node has the fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "format/onnx/node_verdict.h"
#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

constexpr int64_t kLength = 4, kHeads = 4, kFew = 2, kSize = 8, kWidth = kHeads * kSize, kPast = 3;

float Noise(int64_t i) {
  const uint64_t bits = static_cast<uint64_t>(i + 1) * 6364136223846793005u + 1442695040888963407u;
  return static_cast<float>(static_cast<int64_t>(bits >> 44) - (1 << 19)) / (1 << 18);
}

std::vector<float> Noises(int64_t count, int64_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(Noise(i + 1000 * seed));
  return values;
}

// A model of one attention node, with what a faulty runtime does around it.
struct NodeFault {
  std::string name, words;
  std::map<std::string, int64_t> ints;  // attributes that differ
  std::map<std::string, float> floats;
  int64_t first_place = 0;  // of the tables of angles
  bool masked_one_off = false, unmasked = false;
  std::vector<int64_t> heads;  // the queries' heads in this order, and back
  bool values_turned = false, newest_missing = false;
  bool only_y = false;  // the subject has no other output
};

class AttentionModel {
 public:
  explicit AttentionModel(const NodeFault& fault) : fault_(fault) {
    auto* opset = m_.proto().add_opset_import();
    opset->set_domain("com.microsoft");
    opset->set_version(1);
  }

  OnnxModel Rotary() {
    m_.Input("x", {1, kHeads, kLength, kSize}).Output("y");
    m_.Ints("places", {1, kLength}, {0, 1, 2, 3});
    Tables();
    SetUp(&m_.Node("RotaryEmbedding", {"x", "places", "cos", "sin"}, {"y"}, "node"), {});
    return m_;
  }

  OnnxModel MultiHead() {
    m_.Input("q", {1, kLength, kWidth}).Input("k", {1, kLength, kWidth}).Input("v", {1, kLength, kWidth}).Output("y");
    Mask();
    std::vector<std::string> inputs = {"q", "k", Values("v"), "", "", fault_.unmasked ? "" : "mask"};
    SetUp(&m_.Node("MultiHeadAttention", inputs, {"y"}, "node"), {{"num_heads", kHeads}});
    return m_;
  }

  OnnxModel Packed() {
    m_.Input("x", {1, kLength, kWidth}).Output("y");
    m_.Floats("w", {kWidth, 3 * kWidth}, Noises(3 * kWidth * kWidth, 5));
    m_.Floats("b", {3 * kWidth}, Noises(3 * kWidth, 6));
    SetUp(&m_.Node("Attention", {"x", "w", "b"}, {"y"}, "node"), {{"num_heads", kHeads}, {"unidirectional", 1}});
    return m_;
  }

  OnnxModel Grouped(int64_t length) {
    m_.Input("q", {1, length, kWidth}).Input("k", {1, length, kFew * kSize}).Input("v", {1, length, kFew * kSize});
    m_.Input("pk", {1, kFew, kPast, kSize}).Input("pv", {1, kFew, kPast, kSize}).Output("y").Output("ok").Output("ov");
    Number("lengths", {1}, static_cast<int>(kPast + length - 1));
    Number("total", {}, static_cast<int>(kPast + length));
    Tables();
    const std::string y = fault_.heads.empty() ? "y" : "y_other";
    SetUp(&m_.Node("GroupQueryAttention",
                   {Ordered("q", "q_other", false), Missing("k"), Missing("v"), "pk", "pv", "lengths", "total", "cos",
                    "sin"},
                   {y, "ok", "ov"}, "node"),
          {{"num_heads", kHeads}, {"kv_num_heads", kFew}, {"do_rotary", 1}});
    if (y != "y") (void)Ordered(y, "y", true);
    return m_;
  }

 private:
  void SetUp(::onnx::NodeProto* node, std::map<std::string, int64_t> ints) {
    node->set_domain("com.microsoft");
    for (const auto& [name, value] : fault_.ints) ints[name] = value;
    for (const auto& [name, value] : ints) OnnxModel::SetInt(node, name, value);
    for (const auto& [name, value] : fault_.floats) OnnxModel::SetFloat(node, name, value);
  }

  void Number(const std::string& name, const std::vector<int64_t>& dims, int value) {
    ::onnx::TensorProto& tensor = *m_.graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(6);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    tensor.add_int32_data(value);
  }

  void Tables() {
    constexpr int64_t kPlaces = 16, kHalf = kSize / 2;
    std::vector<float> cosines, sines;
    for (int64_t i = 0; i < kPlaces * kHalf; ++i) {
      const double angle = static_cast<double>(i / kHalf + fault_.first_place) *
                           std::pow(100.0, -static_cast<double>(i % kHalf) / static_cast<double>(kHalf));
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
    m_.Floats("cos", {kPlaces, kHalf}, cosines);
    m_.Floats("sin", {kPlaces, kHalf}, sines);
  }

  void Mask() {
    std::vector<float> mask;
    for (int64_t i = 0; i < kLength * kLength; ++i)
      mask.push_back(i % kLength > i / kLength + (fault_.masked_one_off ? 1 : 0) ? -1e4f : 0.0f);
    m_.Floats("mask", {1, 1, kLength, kLength}, mask);
  }

  // The memory of each head's values, turned.
  std::string Values(const std::string& v) {
    if (!fault_.values_turned) return v;
    m_.Ints("split", {4}, {1, kLength, kHeads, kSize});
    m_.Ints("turned", {4}, {1, kHeads, kLength, kSize});
    m_.Ints("joined", {3}, {1, kLength, kWidth});
    m_.Node("Reshape", {v, "split"}, {"v_split"});
    OnnxModel::SetInts(&m_.Node("Transpose", {"v_split"}, {"v_turned"}), "perm", {0, 2, 3, 1});
    m_.Node("Reshape", {"v_turned", "turned"}, {"v_read"});
    OnnxModel::SetInts(&m_.Node("Transpose", {"v_read"}, {"v_back"}), "perm", {0, 2, 1, 3});
    m_.Node("Reshape", {"v_back", "joined"}, {"v_other"});
    return "v_other";
  }

  std::string Missing(const std::string& x) {
    if (!fault_.newest_missing) return x;
    m_.Floats("zero_" + x, {}, {0});
    m_.Node("Mul", {x, "zero_" + x}, {x + "_none"});
    return x + "_none";
  }

  std::string Ordered(const std::string& x, const std::string& y, bool back) {
    if (fault_.heads.empty()) return x;
    std::vector<int64_t> from(static_cast<size_t>(kWidth));
    for (int64_t i = 0; i < kWidth; ++i) {
      const int64_t other = fault_.heads[static_cast<size_t>(i / kSize)] * kSize + i % kSize;
      from[static_cast<size_t>(back ? other : i)] = back ? i : other;
    }
    m_.Ints("from_" + y, {kWidth}, from);
    OnnxModel::SetInt(&m_.Node("Gather", {x, "from_" + y}, {y}), "axis", 2);
    return y;
  }

  OnnxModel m_;
  const NodeFault fault_;
};

using Make = std::function<OnnxModel(const NodeFault&)>;

// The judgement of `fault`'s tensors by the model without it.
LayerReport JudgedBy(const Make& make, const NodeFault& fault) {
  ImportRecord record;
  LoadOptions load;
  load.record = &record;
  const auto says = make({}).Import(load), computed = make(fault).Import();
  EXPECT_TRUE(says.ok()) << says.status().ToString();
  EXPECT_TRUE(computed.ok()) << computed.status().ToString();
  std::map<std::string, Tensor> inputs;
  for (const GraphInput& input : says->inputs) {
    const std::vector<float> values = Noises(input.shape.NumElements(), static_cast<int64_t>(inputs.size()));
    Tensor tensor = Tensor::Create(DType::kF32, input.shape).value();
    std::copy(values.begin(), values.end(), tensor.data<float>());
    inputs[input.name] = tensor;
  }
  const auto subject = NaiveSubject(*computed, inputs, fault.only_y ? std::vector<std::string>{"y"} : says->outputs);
  EXPECT_TRUE(subject.ok()) << subject.status().ToString();
  const auto run = JudgeSubject(*says, record, *subject, inputs);
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  for (const LayerReport& layer : run->layers) {
    if (layer.verdict == Verdict::kWrong) return layer;
  }
  return run->layers.back();
}

void ExpectNamed(const Make& make, const std::vector<NodeFault>& faults) {
  const LayerReport healthy = JudgedBy(make, {});
  EXPECT_EQ(healthy.verdict, Verdict::kAligned) << healthy.reason;
  for (const NodeFault& fault : faults) {
    const LayerReport layer = JudgedBy(make, fault);
    EXPECT_EQ(layer.verdict, Verdict::kWrong) << fault.name << ": " << layer.reason;
    EXPECT_NE(layer.cause.find(fault.words), std::string::npos) << fault.name << ": " << layer.cause << layer.reason;
    EXPECT_EQ(layer.cause.find("; or "), std::string::npos) << fault.name << ": " << layer.cause;
  }
}

NodeFault Fault(const std::string& name, const std::string& words, const std::function<void(NodeFault*)>& set) {
  NodeFault fault;
  fault.name = name, fault.words = words;
  set(&fault);
  return fault;
}

TEST(NamedAttention, RotaryEmbedding) {
  ExpectNamed(
      [](const NodeFault& f) { return AttentionModel(f).Rotary(); },
      {Fault("pairs", "(interleaved) turned, not halves", [](NodeFault* f) { f->ints["interleaved"] = 1; }),
       Fault("the next place", "with rotary angles of the place behind", [](NodeFault* f) { f->first_place = 1; })});
}

TEST(NamedAttention, MultiHeadAttention) {
  ExpectNamed(
      [](const NodeFault& f) { return AttentionModel(f).MultiHead(); },
      {Fault("no scale", "without multiplying", [](NodeFault* f) { f->floats["scale"] = 1; }),
       Fault("another scale", "(1 / sqrt(32))", [](NodeFault* f) { f->floats["scale"] = 1 / std::sqrt(32.0f); }),
       Fault("no mask", "without adding 'mask'", [](NodeFault* f) { f->unmasked = true; }),
       Fault("a mask one off", "with the mask 'mask' one", [](NodeFault* f) { f->masked_one_off = true; }),
       Fault("V transposed", "with the axes in the order 0 2 3 1", [](NodeFault* f) { f->values_turned = true; })});
}

TEST(NamedAttention, PackedAttention) {
  ExpectNamed([](const NodeFault& f) { return AttentionModel(f).Packed(); },
              {Fault("not causal", "without adding", [](NodeFault* f) { f->ints["unidirectional"] = 0; }),
               Fault("no scale", "without multiplying", [](NodeFault* f) { f->floats["scale"] = 1; })});
}

TEST(NamedAttention, GroupQueryAttention) {
  ExpectNamed([](const NodeFault& f) { return AttentionModel(f).Grouped(1); },
              {Fault("the newest slot", "with the last slot of axis 2 not written (0)",
                     [](NodeFault* f) { f->newest_missing = true; }),
               Fault("the newest slot, in y alone", "not written (0), in all 2 places",
                     [](NodeFault* f) { f->newest_missing = f->only_y = true; })});
}

}  // namespace
}  // namespace plumb
