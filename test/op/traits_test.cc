// SPDX-License-Identifier: Apache-2.0
// What OpDef says of operators so that nobody has to keep a list of them.
#include <gtest/gtest.h>

#include "op/core/op.h"

namespace plumb {
namespace {

TEST(OpTraitsTest, Sums) {
  for (const OpKind kind :
       {OpKind::kConvolution, OpKind::kConvolution1D, OpKind::kDeconvolution, OpKind::kInnerProduct, OpKind::kMatMul}) {
    EXPECT_EQ(GetOp(kind).sums, Sums::kProducts) << GetOp(kind).name;
  }
  for (const OpKind kind : {OpKind::kReduceL2, OpKind::kReduceSumSquare, OpKind::kLRN, OpKind::kInstBatchNormCxx}) {
    EXPECT_EQ(GetOp(kind).sums, Sums::kSquares) << GetOp(kind).name;
  }
  for (const OpKind kind : {OpKind::kReduceSum, OpKind::kReduceL1, OpKind::kPooling, OpKind::kPlumbCumSum}) {
    EXPECT_EQ(GetOp(kind).sums, Sums::kTerms) << GetOp(kind).name;
  }
  for (const OpKind kind : {OpKind::kReduceMax, OpKind::kReduceLogSumExp, OpKind::kAdd, OpKind::kPlumbMaxPool}) {
    EXPECT_EQ(GetOp(kind).sums, Sums::kNothing) << GetOp(kind).name;
  }
}

TEST(OpTraitsTest, Spread) {
  EXPECT_EQ(GetOp(OpKind::kReLU).spread, Spread::kHalved);
  EXPECT_EQ(GetOp(OpKind::kHardSwish).spread, Spread::kHalved);
  EXPECT_EQ(GetOp(OpKind::kPReLU).spread, Spread::kHalved);
  EXPECT_EQ(GetOp(OpKind::kHardSigmoid).spread, Spread::kPositive);
  EXPECT_EQ(GetOp(OpKind::kTanh).spread, Spread::kBounded);
  EXPECT_EQ(GetOp(OpKind::kGroupNorm).spread, Spread::kNormalised);
  EXPECT_EQ(GetOp(OpKind::kAbs).spread, Spread::kKept);
}

}  // namespace
}  // namespace plumb
