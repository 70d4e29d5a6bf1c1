// What arithmetic a subject had is found for the whole of it: most 3x3 convolutions beyond fp32 mean Winograd, one
// means a fault.
#include "check/arithmetic.h"

#include <gtest/gtest.h>

#include "device/device.h"
#include "op/convolution.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

Layer Convolution(int index, int kernel, int stride) {
  auto param = std::make_shared<ConvolutionParam>();
  param->kernel_h = param->kernel_w = kernel;
  param->stride_h = param->stride_w = stride;
  param->group = 1;
  Layer layer = MakeLayer(OpKind::kConvolution, "c" + std::to_string(index), {}, {});
  layer.param = param;
  layer.index = index;
  return layer;
}

RunReport Judged(const std::vector<Verdict>& verdicts) {
  RunReport run;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    LayerReport layer;
    layer.step.members.push_back({static_cast<int>(i), "c", "Convolution", {}});
    layer.verdict = verdicts[i];
    run.layers.push_back(layer);
  }
  return run;
}

TEST(Arithmetic, MostConvolutionsBeyondFp32SuggestWinograd) {
  Graph graph;
  graph.layers = {Convolution(0, 3, 1), Convolution(1, 3, 1), Convolution(2, 3, 1), Convolution(3, 1, 1),
                  Convolution(4, 3, 2)};
  const auto found = [&](Verdict a, Verdict b, Verdict c, Verdict d, Verdict e) {
    return FindWinograd(graph, Judged({a, b, c, d, e}));
  };
  const Verdict ok = Verdict::kAligned, wrong = Verdict::kWrong, grey = Verdict::kGrey, none = Verdict::kNotTested;
  EXPECT_TRUE(found(wrong, grey, ok, ok, ok).suggests());
  EXPECT_FALSE(found(wrong, ok, ok, ok, ok).suggests()) << "one is a fault";
  EXPECT_FALSE(found(ok, ok, ok, wrong, wrong).suggests()) << "neither can be Winograd's";
  EXPECT_FALSE(found(wrong, none, none, ok, ok).suggests());
  EXPECT_EQ(found(wrong, grey, none, wrong, wrong).possible, 2);
}

TEST(Arithmetic, NamesAreReadBack) {
  for (const char* name : {"fp32", "fp32+winograd", "tf32", "fp16", "bf16", "int8"}) {
    EXPECT_STREQ(ArithmeticName(ParseArithmetic(name).value()), name);
  }
  EXPECT_EQ(ParseArithmetic("fp64").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
