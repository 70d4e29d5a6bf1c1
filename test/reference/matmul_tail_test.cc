// SPDX-License-Identifier: Apache-2.0
// A product whose first or last terms are all zero (keys that a mask hides, in a cache that is longer than the text):
// the bound is that of the terms that round, and a NaN among them still counts. The bound of sums that are rounded to
// f16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "op/matmul.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

// Partial sums of 1000 that cancel: what rounds is in the first four terms.
struct TailProduct {
  explicit TailProduct(int64_t k, int64_t begin = 0) {
    layer.kind = OpKind::kMatMul;
    layer.param = std::make_shared<MatMulParam>();
    a = Tensor::Zeros(DType::kF64, Shape{2, k}).value();
    b = Tensor::Zeros(DType::kF64, Shape{k, 1}).value();
    y = Tensor::Create(DType::kF64, Shape{2, 1}).value();
    tau = Tensor::Create(DType::kF64, Shape{2, 1}).value();
    for (int64_t row = 0; row < 2; ++row) {
      for (int64_t i = 0; i < 4; ++i)
        a.data<double>()[row * k + begin + i] = i % 2 == 0 ? 1000 + static_cast<double>(i) : -1000;
    }
    for (int64_t i = 0; i < k; ++i) b.data<double>()[i] = 1;
  }
  void Run() {
    BoundArgs bound;
    bound.tau = {&tau};
    bound.input_tau = {a_tau.empty() ? nullptr : &a_tau};
    ASSERT_TRUE(GetReferenceOp(OpKind::kMatMul).run_with_bound({layer, {&a, &b}, {&y}}, bound).ok());
  }
  Layer layer;
  Tensor a, b, y, tau, a_tau;
};

TEST(MatMulTail, IsNoPartOfTheBound) {
  TailProduct whole(256), used(4);
  whole.Run();
  used.Run();
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(whole.y.ValueAt(i), 2);
    EXPECT_NEAR(whole.tau.ValueAt(i), used.tau.ValueAt(i), 1e-6 * used.tau.ValueAt(i));
    EXPECT_GT(whole.tau.ValueAt(i), 8 * 0x1p-24 * 1000) << "the sums of 1000 round";
  }
}

TEST(MatMulTail, OneRowThatReadsItKeepsIt) {
  TailProduct one(256);
  one.a.data<double>()[2 * 256 - 1] = 5;
  one.Run();
  EXPECT_EQ(one.y.ValueAt(0), 2);
  EXPECT_EQ(one.y.ValueAt(1), 7);
  TailProduct used(4);
  used.Run();
  EXPECT_NEAR(one.tau.ValueAt(0), used.tau.ValueAt(0), 1e-6 * used.tau.ValueAt(0)) << "each row has its own terms";
}

TEST(MatMulTail, NeitherIsTheBeginning) {
  TailProduct late(256, 252), used(4);
  late.Run();
  used.Run();
  EXPECT_EQ(late.y.ValueAt(1), 2);
  EXPECT_NEAR(late.tau.ValueAt(1), used.tau.ValueAt(1), 1e-6 * used.tau.ValueAt(1));
}

TEST(MatMulTail, SoftmaxOfAHiddenKeyIsZero) {
  TailProduct whole(256), used(4);
  whole.a_tau = Tensor::Zeros(DType::kF64, Shape{2, 256}).value();
  std::fill_n(whole.a_tau.data<double>(), 512, 12 * 0x1p-126);
  whole.Run();
  used.Run();
  EXPECT_NEAR(whole.tau.ValueAt(0), used.tau.ValueAt(0), 1e-6 * used.tau.ValueAt(0));
}

TEST(MatMulTail, SumsInF16HaveItsRoundoff) {
  TailProduct narrow(4), wide(4), small(4);
  const auto param = std::make_shared<MatMulParam>();
  param->sums_in_f16 = true;
  narrow.layer.param = small.layer.param = param;
  std::fill_n(small.b.data<double>(), 4, 1e-9);
  for (TailProduct* product : {&narrow, &wide, &small}) product->Run();
  EXPECT_NEAR(narrow.tau.ValueAt(0), wide.tau.ValueAt(0) * 8192, 0.01 * narrow.tau.ValueAt(0));
  EXPECT_NEAR(small.tau.ValueAt(0), 8 * 2 * 0x1p-25 / std::sqrt(3.0), 1e-9) << "four times half a step of 2^-24";
}

TEST(MatMulTail, ZeroTimesNaNIsNaN) {
  TailProduct bad(256);
  bad.b.data<double>()[200] = NAN;
  bad.Run();
  EXPECT_TRUE(std::isnan(bad.y.ValueAt(0)));
}

}  // namespace
}  // namespace plumb
