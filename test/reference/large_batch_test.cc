// SPDX-License-Identifier: Apache-2.0
// A product of thousands of images goes in groups, each of which sweeps over the weights once: values, bounds and the
// second input beside them at the ends of the groups, and in what is left of the last one.
#include <gtest/gtest.h>

#include <algorithm>

#include "op/inner_product.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

constexpr int64_t kImages = 2 * 1024 + 3;

// y = {x0 + 2 x1, x1 / 2 - x0}
struct Products {
  Products() {
    layer.kind = OpKind::kInnerProduct;
    auto param = std::make_shared<InnerProductParam>();
    param->num_output = 2;
    layer.param = param;
    Tensor weight = Tensor::Create(DType::kF32, {2, 2}).value();
    const float values[] = {1, 2, -1, 0.5f};
    std::copy_n(values, 4, weight.data<float>());
    layer.resources["weight"] = weight;
    for (Tensor* tensor : {&x, &y, &tau, &near, &near_y}) *tensor = Tensor::Zeros(DType::kF64, {kImages, 2}).value();
    for (int64_t i = 0; i < 2 * kImages; ++i) {
      x.data<double>()[i] = static_cast<double>(i % 5003);
      near.data<double>()[i] = x.ValueAt(i) + 0.25;
    }
  }
  Layer layer;
  Tensor x, y, tau, near, near_y;
};

TEST(LargeBatch, EachImageHasItsOwnProducts) {
  Products p;
  BoundArgs bound;
  bound.tau = {&p.tau};
  bound.input_tau = {nullptr};
  ReferenceArgs beside{p.layer, {&p.near}, {&p.near_y}}, args{p.layer, {&p.x}, {&p.y}};
  args.beside = &beside;
  ASSERT_TRUE(GetReferenceOp(OpKind::kInnerProduct).run_with_bound(args, bound).ok());
  for (int64_t n = 0; n < kImages; ++n) {
    const double a = p.x.ValueAt(2 * n), b = p.x.ValueAt(2 * n + 1);
    ASSERT_EQ(p.y.ValueAt(2 * n), a + 2 * b) << n;
    ASSERT_EQ(p.y.ValueAt(2 * n + 1), 0.5 * b - a) << n;
    ASSERT_EQ(p.near_y.ValueAt(2 * n), a + 2 * b + 0.75) << n;
    ASSERT_EQ(p.near_y.ValueAt(2 * n + 1), 0.5 * b - a - 0.125) << n;
    ASSERT_TRUE(a == 0 || p.tau.ValueAt(2 * n) > 0) << n;
  }
}

}  // namespace
}  // namespace plumb
