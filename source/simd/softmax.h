// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax over the middle axis of a dense [outer, n, inner] view, one outer slice per call; and of the
// rows inside attention.
#ifndef PLUMB_SIMD_SOFTMAX_H_
#define PLUMB_SIMD_SOFTMAX_H_

#include <cstdint>

namespace plumb::simd {

// For the columns c in [begin, end) of [0, inner): p = e^(x - max) / sum e^(x - max) over i < n of x = src[i * inner +
// c], or its logarithm (x - max) - log(sum). `dst` may be `src`. A column with a NaN or an infinite maximum becomes
// NaN.
void Softmax(bool log, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, float* dst);

// The rows of scores inside attention: x * scale + mask, n of them in each of `rows` rows.
struct ScoreRows {
  float* x = nullptr;
  int64_t rows = 0, n = 0, row_step = 0;
  float scale = 1;
  const float* mask = nullptr;  // n values a row with mask_step 1, one with 0; null: none
  int64_t mask_row_step = 0;
  int mask_step = 0;
};

// Each row becomes the weights of its softmax but for a factor: e^(score - the largest one), 0 where that is no normal
// number. factors[row] is 1 / their sum; NaN for a row with a NaN or an infinite maximum.
void SoftmaxWeights(const ScoreRows& scores, float* factors);

// Each of the n values of each row times the row's factor, and whether all of these are finite. `to` may be `from`.
bool ScaleRows(const float* from, int64_t from_step, int64_t rows, int64_t n, const float* factors, float* to,
               int64_t to_step);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_SOFTMAX_H_
