// SPDX-License-Identifier: Apache-2.0
// Matrix products with several outputs per item: y[b] (m x n) = first[matrix[2b]] (m x k) second[matrix[2b + 1]] (k x
// n). An operand that is the layer's constant is f32 even where blobs are stored as f16; variants with _f32 at the end
// read it.
#include "common.clh"

#define F32_LOAD(p, i) (p)[i]
#define F32_LOAD16(p, i) vload16(0, (p) + (i))
#ifdef PLUMB_F16
#define LOAD16(p, i) vload_half16(0, (p) + (i))
#define STORE16(v, p, i) vstore_half16_rte(v, 0, (p) + (i))
#else
#define LOAD16(p, i) F32_LOAD16(p, i)
#define STORE16(v, p, i) vstore16(v, 0, (p) + (i))
#endif

// The item's tile of height x width outputs; one that is cut off at the right is computed output by output.
#define BEGIN(First, Second, load_first, load_second, height, width)                                             \
  const int column = get_global_id(0) * width, row = get_global_id(1) * height, b = get_global_id(2);            \
  if (column >= n || row >= m || b >= count) return;                                                             \
  const int rows = min(height, m - row), columns = min(width, n - column);                                       \
  global const First* left = first + first_at + (long)matrix[2 * b] * m * k;                                     \
  global const Second* right = second + second_at + (long)matrix[2 * b + 1] * k * n + column;                    \
  global stored* to = y + y_at + ((long)b * m + row) * n + column;                                               \
  if (columns < width) {                                                                                         \
    for (int i = 0; i < rows * columns; ++i) {                                                                   \
      const int r = i / columns, c = i % columns;                                                                \
      float sum = 0.0f;                                                                                          \
      for (int j = 0; j < k; ++j) sum = fma(load_first(left, (row + r) * k + j), load_second(right, j * n + c), sum); \
      STORE(sum, to, r * n + c);                                                                                 \
    }                                                                                                            \
    return;                                                                                                      \
  }

// Row r of the tile, or the last one there is.
#define ROW(First, r) global const First* row##r = left + min(row + r, m - 1) * k;

#define ARGUMENTS(First, Second)                                                                        \
  (global stored * y, long y_at, global const First* first, long first_at, global const Second* second, \
   long second_at, global const int* matrix, int count, int m, int k, int n)

// For CPU drivers: 6 rows of 16 columns.
#define MATMUL_CPU(name, First, Second, load_first, load_second, load_second16)                                  \
  SINGLE void name ARGUMENTS(First, Second) {                                                                    \
    BEGIN(First, Second, load_first, load_second, 6, 16)                                                         \
    ROW(First, 0) ROW(First, 1) ROW(First, 2) ROW(First, 3) ROW(First, 4) ROW(First, 5)                          \
    float16 a0 = 0.0f, a1 = 0.0f, a2 = 0.0f, a3 = 0.0f, a4 = 0.0f, a5 = 0.0f;                                    \
    for (int j = 0; j < k; ++j) {                                                                                \
      const float16 v = load_second16(right, j * n);                                                             \
      a0 = fma(load_first(row0, j), v, a0);                                                                      \
      a1 = fma(load_first(row1, j), v, a1);                                                                      \
      a2 = fma(load_first(row2, j), v, a2);                                                                      \
      a3 = fma(load_first(row3, j), v, a3);                                                                      \
      a4 = fma(load_first(row4, j), v, a4);                                                                      \
      a5 = fma(load_first(row5, j), v, a5);                                                                      \
    }                                                                                                            \
    STORE16(a0, to, 0);                                                                                          \
    if (rows > 1) STORE16(a1, to, n);                                                                            \
    if (rows > 2) STORE16(a2, to, 2 * n);                                                                        \
    if (rows > 3) STORE16(a3, to, 3 * n);                                                                        \
    if (rows > 4) STORE16(a4, to, 4 * n);                                                                        \
    if (rows > 5) STORE16(a5, to, 5 * n);                                                                        \
  }

// For GPUs: a group of 64 items computes 64 rows of 32 columns from tiles of 16 in local memory, an item 8 rows of four
// columns.
#define MATMUL_GPU(name, First, Second, load_first, load_second)                                                 \
  LINEAR void name ARGUMENTS(First, Second) {                                                                    \
    local float tile[16][65];     /* inner index, row; one more, so that neighbours lie in different banks */    \
    local float4 columns[16][8];  /* inner index, four columns */                                                \
    const int id = get_local_id(0), lane = id & 7, row_lane = id >> 3, b = get_global_id(2);                     \
    const int first_column = get_group_id(0) * 32, first_row = get_group_id(1) * 64;                             \
    global const First* left = first + first_at + (long)matrix[2 * b] * m * k;                                   \
    global const Second* right = second + second_at + (long)matrix[2 * b + 1] * k * n;                           \
    float4 acc[8];                                                                                               \
    for (int i = 0; i < 8; ++i) acc[i] = 0.0f;                                                                   \
    for (int step = 0; step < k; step += 16) {                                                                   \
      for (int e = id; e < 1024; e += 64) {                                                                      \
        const int r = first_row + e / 16, j = step + e % 16;                                                     \
        tile[e % 16][e / 16] = r < m && j < k ? load_first(left, r * k + j) : 0.0f;                              \
      }                                                                                                          \
      for (int e = id; e < 512; e += 64) {                                                                       \
        const int j = step + e / 32, c = first_column + e % 32;                                                  \
        ((local float*)columns)[e] = j < k && c < n ? load_second(right, j * n + c) : 0.0f;                      \
      }                                                                                                          \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
      for (int j = 0; j < 16; ++j) {                                                                             \
        const float4 v = columns[j][lane];                                                                       \
        for (int i = 0; i < 8; ++i) acc[i] = fma(tile[j][row_lane + 8 * i], v, acc[i]);                          \
      }                                                                                                          \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
    }                                                                                                            \
    const int c = first_column + lane * 4;                                                                       \
    for (int i = 0; i < 8; ++i) {                                                                                \
      const int r = first_row + row_lane + 8 * i;                                                                \
      if (r >= m) return;                                                                                        \
      global stored* to = y + y_at + ((long)b * m + r) * n + c;                                                  \
      const float sums[4] = {acc[i].s0, acc[i].s1, acc[i].s2, acc[i].s3};                                        \
      for (int t = 0; t < 4 && c + t < n; ++t) STORE(sums[t], to, t);                                            \
    }                                                                                                            \
  }

MATMUL_CPU(matmul_cpu, stored, stored, LOAD, LOAD, LOAD16)
MATMUL_GPU(matmul_gpu, stored, stored, LOAD, LOAD)
#ifdef PLUMB_F16
MATMUL_CPU(matmul_cpu_first_f32, float, stored, F32_LOAD, LOAD, LOAD16)
MATMUL_GPU(matmul_gpu_first_f32, float, stored, F32_LOAD, LOAD)
MATMUL_CPU(matmul_cpu_second_f32, stored, float, LOAD, F32_LOAD, F32_LOAD16)
MATMUL_GPU(matmul_gpu_second_f32, stored, float, LOAD, F32_LOAD)
#endif
