// SPDX-License-Identifier: Apache-2.0
// Matrix products as the CPU devices use them, against plain loops: sizes around a tile's rows, a panel's columns and
// the copy of many rows.
#include "device/cpu/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace plumb::cpu {
namespace {

std::vector<float> Numbers(int64_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(static_cast<int>(engine() >> 8) % 2001 - 1000) / 1000.0f;
  return values;
}

constexpr int64_t kRows[] = {1, 3, 4, 5, 15, 16, 21}, kDepths[] = {1, 7, 64}, kColumns[] = {1, 8, 15, 16, 17, 40};

TEST(ProductTest, MatMulReadsAndWritesRowsApart) {
  for (const int64_t m : kRows) {
    for (const int64_t k : kDepths) {
      for (const int64_t n : kColumns) {
        SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n);
        const int64_t stride = n + 3;
        const auto a = Numbers(m * k, 1), b = Numbers(k * stride, 2);
        std::vector<float> c(static_cast<size_t>(m * stride), 7.0f);
        auto product = MakeMatMul(m, k, n, stride);
        ASSERT_TRUE(product.ok()) << product.status().ToString();
        (*product)->Run(a.data(), c.data(), b.data());
        for (int64_t row = 0; row < m; ++row) {
          for (int64_t column = 0; column < stride; ++column) {
            double sum = 0;
            for (int64_t i = 0; i < k; ++i)
              sum += double{a[static_cast<size_t>(row * k + i)]} * double{b[static_cast<size_t>(i * stride + column)]};
            ASSERT_NEAR(c[static_cast<size_t>(row * stride + column)], column < n ? sum : 7.0, 1e-5)
                << row << ", " << column;
          }
        }
      }
    }
  }
}

TEST(ProductTest, InnerProductEndsWithBiasAndActivation) {
  const Epilogue ends[] = {{},
                           {Epilogue::Kind::kRelu},
                           {Epilogue::Kind::kLeakyRelu, 0.25f},
                           {Epilogue::Kind::kClip, -0.5f, 0.5f},
                           {Epilogue::Kind::kSwish}};
  for (const Epilogue& end : ends) {
    for (const int64_t m : kRows) {
      for (const int64_t n : kColumns) {
        SCOPED_TRACE(testing::Message() << m << " x " << n << ", activation " << static_cast<int>(end.kind));
        const int64_t k = 19;
        const auto x = Numbers(m * k, 3), w = Numbers(n * k, 4), bias = Numbers(n, 5);
        std::vector<float> y(static_cast<size_t>(m * n));
        auto product = MakeInnerProduct(m, k, n, w.data(), bias.data(), end);
        ASSERT_TRUE(product.ok()) << product.status().ToString();
        (*product)->Share()->Run(x.data(), y.data());
        for (int64_t i = 0; i < m * n; ++i) {
          double v = double{bias[static_cast<size_t>(i % n)]};
          for (int64_t j = 0; j < k; ++j)
            v += double{x[static_cast<size_t>(i / n * k + j)]} * double{w[static_cast<size_t>(i % n * k + j)]};
          if (end.kind == Epilogue::Kind::kRelu) v = std::max(v, 0.0);
          if (end.kind == Epilogue::Kind::kLeakyRelu && v < 0) v *= 0.25;
          if (end.kind == Epilogue::Kind::kClip) v = std::min(std::max(v, -0.5), 0.5);
          if (end.kind == Epilogue::Kind::kSwish) v /= 1 + std::exp(-v);
          ASSERT_NEAR(y[static_cast<size_t>(i)], v, 1e-5) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plumb::cpu
