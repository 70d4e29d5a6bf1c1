// SPDX-License-Identifier: Apache-2.0
// Reorders and permutations move every element to its place, bit for bit, and touch nothing else.
#include "simd/transpose.h"

#include <cstring>
#include <numeric>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

TEST(SimdTransposeTest, BlocksAndBack) {
  ForEachIsa([] {
    for (int block : {8, 16}) {
      for (int64_t channels : {1, 3, 4, 7, 8, 13, 16}) {
        if (channels > block) continue;
        for (int64_t pixels : {1, 3, 4, 35, 49}) {
          const int64_t stride = pixels + 5;
          const std::vector<float> src = RandomBits(block * stride);
          std::vector<float> blocked(pixels * block + 1, 777.0f), plain(block * stride, 777.0f);
          ToBlocked(block, src.data(), stride, channels, pixels, blocked.data());
          for (int64_t i = 0; i < pixels * block; ++i) {
            const float expected = i % block < channels ? src[i % block * stride + i / block] : 0.0f;
            ASSERT_EQ(std::memcmp(&blocked[i], &expected, sizeof(float)), 0) << channels << " " << pixels << " " << i;
          }
          ASSERT_EQ(blocked.back(), 777.0f);
          ToPlain(block, blocked.data(), channels, pixels, plain.data(), stride);
          for (int64_t i = 0; i < block * stride; ++i) {
            const float expected = i / stride < channels && i % stride < pixels ? src[i] : 777.0f;
            ASSERT_EQ(std::memcmp(&plain[i], &expected, sizeof(float)), 0) << channels << " " << pixels << " " << i;
          }
        }
      }
    }
  });
}

template <class T>
void CheckPermute(const std::vector<int64_t>& dims, const std::vector<int>& order) {
  const int rank = static_cast<int>(dims.size());
  const int64_t size = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::vector<T> src(size), dst(size + 1, T{77}), expected(size);
  for (int64_t i = 0; i < size; ++i) src[i] = static_cast<T>(i * 7 + 1);
  for (int64_t i = 0; i < size; ++i) {
    int64_t rest = i, at = 0;
    for (int k = rank - 1; k >= 0; --k) {
      int64_t stride = 1;
      for (int j = order[k] + 1; j < rank; ++j) stride *= dims[j];
      at += rest % dims[order[k]] * stride;
      rest /= dims[order[k]];
    }
    expected[i] = src[at];
  }
  const PermutePlan plan = PlanPermute(dims.data(), order.data(), rank);
  const int64_t half = plan.tasks / 2;
  Permute(plan, sizeof(T), src.data(), dst.data(), 0, half);
  Permute(plan, sizeof(T), src.data(), dst.data(), half, plan.tasks);
  ASSERT_EQ(dst.back(), T{77});
  dst.pop_back();
  ASSERT_EQ(dst, expected);
}

TEST(SimdTransposeTest, EveryPermutationOfFourDimensions) {
  ForEachIsa([] {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2, 3, 5, 7}, {3, 1, 17, 4}, {1, 64, 9, 1}}) {
      std::vector<int> order = {0, 1, 2, 3};
      do {
        CheckPermute<float>(dims, order);
        CheckPermute<uint8_t>(dims, order);
        CheckPermute<uint16_t>(dims, order);
        CheckPermute<int64_t>(dims, order);
      } while (std::next_permutation(order.begin(), order.end()));
    }
    CheckPermute<float>({}, {});
    CheckPermute<float>({6}, {0});
    CheckPermute<float>({2, 3, 2, 3, 2, 3}, {5, 3, 1, 0, 2, 4});
    CheckPermute<float>({2, 8, 4, 5, 3}, {0, 2, 1, 3, 4});
  });
}

TEST(SimdTransposeTest, MergesToOneTranspose) {
  const int64_t dims[] = {1, 24, 5, 7};
  const int nhwc[] = {0, 2, 3, 1};
  const PermutePlan plan = PlanPermute(dims, nhwc, 4);
  EXPECT_EQ(plan.tasks, 1);
  EXPECT_EQ(plan.rows, 24);
  EXPECT_EQ(plan.columns, 35);
}

}  // namespace
}  // namespace plumb::simd
