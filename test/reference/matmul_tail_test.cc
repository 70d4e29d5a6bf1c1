// A product whose last terms are all zero (keys that a mask hides, in a cache that is longer than the text): the bound
// is that of the terms that round, and a NaN behind them still counts.
#include <gtest/gtest.h>

#include <cmath>

#include "op/matmul.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

// Partial sums of 1000 that cancel: what rounds is in the first four terms.
struct TailProduct {
  explicit TailProduct(int64_t k) {
    layer.kind = OpKind::kMatMul;
    layer.param = std::make_shared<MatMulParam>();
    a = Tensor::Zeros(DType::kF64, Shape{2, k}).value();
    b = Tensor::Zeros(DType::kF64, Shape{k, 1}).value();
    y = Tensor::Create(DType::kF64, Shape{2, 1}).value();
    tau = Tensor::Create(DType::kF64, Shape{2, 1}).value();
    for (int64_t row = 0; row < 2; ++row) {
      for (int64_t i = 0; i < 4; ++i)
        a.data<double>()[row * k + i] = i % 2 == 0 ? 1000 + static_cast<double>(i) : -1000;
    }
    for (int64_t i = 0; i < k; ++i) b.data<double>()[i] = 1;
  }
  void Run() {
    BoundArgs bound;
    bound.tau = {&tau};
    ASSERT_TRUE(GetReferenceOp(OpKind::kMatMul).run_with_bound({layer, {&a, &b}, {&y}}, bound).ok());
  }
  Layer layer;
  Tensor a, b, y, tau;
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

TEST(MatMulTail, ZeroTimesNaNIsNaN) {
  TailProduct bad(256);
  bad.b.data<double>()[200] = NAN;
  bad.Run();
  EXPECT_TRUE(std::isnan(bad.y.ValueAt(0)));
}

}  // namespace
}  // namespace plumb
