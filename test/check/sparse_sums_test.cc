// SPDX-License-Identifier: Apache-2.0
// Products with few weights that are not zero: the bound follows the partial sums between them.
#include <algorithm>

#include "computed_otherwise_util.h"
#include "op/inner_product.h"

namespace plumb {
namespace {

// A filter of a few weights side by side among a thousand zeros, as mel bands are: the partial sums between its terms
// cancel, and what rounding makes of them counts. (BirdNET's two mel products, by LiteRT's serial sums.)
TEST(HealthySums, BandsOfFewWeightsStayInside) {
  constexpr int64_t kTerms = 1025, kBands = 96, kRows = 64;
  Tensor weight = Tensor::Zeros(DType::kF32, Shape{kBands, kTerms}).value();
  const Tensor x = Gauss({kRows, kTerms}, 6), own = Gauss({kBands, 8}, 1);
  for (int64_t band = 0; band < kBands; ++band) {
    for (int64_t i = 0; i < 8; ++i)
      weight.data<float>()[band * kTerms + band * 10 + i] = own.data<float>()[band * 8 + i];
  }
  Layer layer = LayerOf<InnerProductParam>(OpKind::kInnerProduct,
                                           [](InnerProductParam* p) { p->num_output = static_cast<int>(kBands); });
  layer.resources["weight"] = weight;
  const Graph graph = GraphOf({layer}, x.shape());
  Tensor y = Tensor::Create(DType::kF32, Shape{kRows, kBands}).value();
  for (int64_t o = 0; o < y.NumElements(); ++o) {
    float sum = 0;
    for (int64_t k = 0; k < kTerms; ++k) {
      const float product = x.data<float>()[o / kBands * kTerms + k] * weight.data<float>()[o % kBands * kTerms + k];
      sum += product;
    }
    y.data<float>()[o] = sum;
  }
  const LayerReport healthy = Judge(graph, x, y);
  EXPECT_EQ(healthy.verdict, Verdict::kAligned) << healthy.reason;
  y.data<float>()[77] *= 1 + 1e-4f;
  EXPECT_EQ(Judge(graph, x, y).verdict, Verdict::kWrong);
}

}  // namespace
}  // namespace plumb
