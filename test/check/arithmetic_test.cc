// SPDX-License-Identifier: Apache-2.0
// What arithmetic a subject had is found for the whole of it: Winograd's where most layers that are beyond fp32 say so,
// while one means a fault.
#include "check/numbers/arithmetic.h"

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

TEST(Arithmetic, ConvolutionsThatRuntimesComputeByWinogradsAlgorithm) {
  const auto may_be = [](const Layer& layer) {
    LayerGroup group;
    group.members = {&layer};
    return MayBeWinograd(group);
  };
  EXPECT_TRUE(may_be(Convolution(0, 3, 1)));
  EXPECT_TRUE(may_be(Convolution(0, 5, 1))) << "MNN";
  EXPECT_FALSE(may_be(Convolution(0, 1, 1)));
  EXPECT_FALSE(may_be(Convolution(0, 3, 2)));
}

TEST(Arithmetic, WinogradIsFoundWhereItExplainsMostOfWhatIsBeyondFp32) {
  const auto found = [](int possible, int beyond, int explained) {
    ProductEvidence evidence(ModelOf(SubjectArithmetic::kWinograd));
    for (int i = 0; i < possible; ++i) evidence.Note("Convolution", i < beyond, i < explained);
    return evidence.found(beyond);
  };
  EXPECT_TRUE(found(3, 2, 2));
  EXPECT_FALSE(found(3, 1, 1)) << "one is a fault";
  EXPECT_FALSE(found(8, 2, 2)) << "two of eight may be faults";
  EXPECT_TRUE(found(16, 7, 7)) << "MNN's resnet50";
  EXPECT_FALSE(found(3, 4, 2)) << "half of what is beyond fp32 is something else";
  EXPECT_FALSE(found(16, 7, 0));
}

TEST(Arithmetic, NamesAreReadBack) {
  for (const char* name : {"fp32", "fp32+winograd", "tf32", "fp16", "bf16", "int8"}) {
    EXPECT_STREQ(ArithmeticName(ParseArithmetic(name).value()), name);
  }
  EXPECT_EQ(ParseArithmetic("fp64").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
