// Tensors that were computed in f32 and dumped as f16 or bf16: each is known to half a unit only, and the weights are
// f32.
#include <gtest/gtest.h>

#include <cmath>

#include "alternatives_util.h"
#include "check/storage.h"
#include "op/convolution.h"

namespace plumb {
namespace {

// x -> Convolution -> Sigmoid -> Mul with the convolution -> ReLU: inner tensors a, s, m, y.
Graph Net() {
  Layer conv = MakeLayer(OpKind::kConvolution, "conv", {"x"}, {"a"});
  auto param = std::make_shared<ConvolutionParam>();
  param->group = 1;
  param->in_channels_per_group = param->out_channels = 16;
  param->kernel_h = param->kernel_w = 3;
  param->stride_h = param->stride_w = param->dilation_h = param->dilation_w = 1;
  param->pad_h = param->pad_w = 1;
  param->pad_type = -1;
  conv.param = param;
  conv.resources["weight"] = Gauss({16, 16, 3, 3}, 1 / 12.0);
  return GraphOf({conv, MakeLayer(OpKind::kSigmoid, "sigmoid", {"a"}, {"s"}),
                  MakeLayer(OpKind::kMul, "mul", {"a", "s"}, {"m"}), MakeLayer(OpKind::kReLU, "relu", {"m"}, {"y"})},
                 {1, 16, 9, 9});
}

// Computed in f32 throughout, then rounded.
Stored Dumped(const Graph& graph, DType storage) {
  Stored subject;
  subject.blobs["x"] = Gauss(graph.inputs[0].shape);
  for (const Layer& layer : graph.layers) {
    Tensor y = Tensor::Create(DType::kF32, graph.inputs[0].shape).value();
    NaiveArgs args{layer, {}, {&y}};
    for (const std::string& input : layer.inputs) args.inputs.push_back(&subject.blobs.at(input));
    EXPECT_TRUE(GetNaiveOp(layer.kind).run(args).ok());
    subject.blobs[layer.outputs[0]] = y;
  }
  for (auto& [name, value] : subject.blobs) value = RoundedTo(storage, value).value();
  return subject;
}

RunReport JudgeAs(const Graph& graph, const Stored& subject, SubjectArithmetic arithmetic) {
  SubjectOptions options;
  options.check.arithmetic = arithmetic;
  return CheckSubjectBlobs(graph, subject, {}, options).value();
}

TEST(HalfStorage, IsAlignedAsWhatItIsAndItsFaultsAreNot) {
  const Graph graph = Net();
  for (const bool half : {true, false}) {
    const DType storage = half ? DType::kF16 : DType::kBF16;
    const auto stored = half ? SubjectArithmetic::kStoredF16 : SubjectArithmetic::kStoredBf16;
    Stored subject = Dumped(graph, storage);
    EXPECT_GE(
        JudgeAs(graph, subject, half ? SubjectArithmetic::kFp16 : SubjectArithmetic::kBf16).Count(Verdict::kWrong), 1)
        << "the bits that layers read were others";
    const RunReport healthy = JudgeAs(graph, subject, stored);
    EXPECT_EQ(healthy.Count(Verdict::kAligned), 4) << DTypeName(storage);
    const double unit = half ? 0x1p-11 : 0x1p-8;
    for (size_t i = 0; i < 3; ++i) {
      const std::string blob = graph.layers[i].outputs[0];
      Stored faulty = Dumped(graph, storage);
      Tensor changed = faulty.blobs.at(blob).Clone().value();
      for (int64_t k = 0; k < changed.NumElements(); ++k)
        changed.data<float>()[k] *= 1 + static_cast<float>((k % 2 == 0 ? 16 : -16) * unit);
      faulty.blobs[blob] = RoundedTo(storage, changed).value();
      const RunReport report = JudgeAs(graph, faulty, stored);
      ASSERT_EQ(report.first_wrong, static_cast<int>(i)) << blob << " " << DTypeName(storage);
    }
  }
}

// A network input that stands in f32 in an fp16 run: rounded before the first layer, or not.
TEST(HalfStorage, AnUnroundedNetworkInputIsNoFaultOfAnFp16Run) {
  Graph graph = GraphOf({MakeLayer(OpKind::kSigmoid, "sigmoid", {"x"}, {"y"})}, {1, 16, 9, 9});
  Stored subject;
  subject.blobs["x"] = Gauss({1, 16, 9, 9}, 20);
  for (const bool rounded : {false, true}) {
    const Tensor read = rounded ? RoundedTo(DType::kF16, subject.blobs["x"]).value() : subject.blobs["x"];
    subject.blobs["y"] = RoundedTo(DType::kF16, Mapped(read, [](double x) { return 1 / (1 + std::exp(-x)); })).value();
    EXPECT_EQ(JudgeAs(graph, subject, SubjectArithmetic::kFp16).verdict, Verdict::kAligned) << rounded;
  }
}

}  // namespace
}  // namespace plumb
