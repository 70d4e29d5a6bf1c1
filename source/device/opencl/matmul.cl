// Matrix products with several outputs per item: y[b] (m x n) = first[matrix[2b]] (m x k) second[matrix[2b + 1]] (k x n).
// An operand that is the layer's constant is f32 even where blobs are stored as f16; variants with _f32 at the end read it.
#include "common.clh"

#define F32_LOAD(p, i) (p)[i]
#define F32_LOAD4(p, i) vload4(0, (p) + (i))
#define F32_LOAD16(p, i) vload16(0, (p) + (i))
#ifdef PLUMB_F16
#define LOAD4(p, i) vload_half4(0, (p) + (i))
#define LOAD16(p, i) vload_half16(0, (p) + (i))
#define STORE4(v, p, i) vstore_half4_rte(v, 0, (p) + (i))
#define STORE16(v, p, i) vstore_half16_rte(v, 0, (p) + (i))
#else
#define LOAD4(p, i) F32_LOAD4(p, i)
#define LOAD16(p, i) F32_LOAD16(p, i)
#define STORE4(v, p, i) vstore4(v, 0, (p) + (i))
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

#define ARGUMENTS(First, Second)                                                                                 \
  (global stored * y, long y_at, global const First* first, long first_at, global const Second* second, long second_at, \
   global const int* matrix, int count, int m, int k, int n)

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

// For GPUs: 4 rows of 4 columns; neighbouring items read neighbouring columns.
#define MATMUL_GPU(name, First, Second, load_first, load_second, load_second4)                                   \
  LINEAR void name ARGUMENTS(First, Second) {                                                                    \
    BEGIN(First, Second, load_first, load_second, 4, 4)                                                          \
    ROW(First, 0) ROW(First, 1) ROW(First, 2) ROW(First, 3)                                                      \
    float4 a0 = 0.0f, a1 = 0.0f, a2 = 0.0f, a3 = 0.0f;                                                           \
    for (int j = 0; j < k; ++j) {                                                                                \
      const float4 v = load_second4(right, j * n);                                                               \
      a0 = fma(load_first(row0, j), v, a0);                                                                      \
      a1 = fma(load_first(row1, j), v, a1);                                                                      \
      a2 = fma(load_first(row2, j), v, a2);                                                                      \
      a3 = fma(load_first(row3, j), v, a3);                                                                      \
    }                                                                                                            \
    STORE4(a0, to, 0);                                                                                           \
    if (rows > 1) STORE4(a1, to, n);                                                                             \
    if (rows > 2) STORE4(a2, to, 2 * n);                                                                         \
    if (rows > 3) STORE4(a3, to, 3 * n);                                                                         \
  }

MATMUL_CPU(matmul_cpu, stored, stored, LOAD, LOAD, LOAD16)
MATMUL_GPU(matmul_gpu, stored, stored, LOAD, LOAD, LOAD4)
#ifdef PLUMB_F16
MATMUL_CPU(matmul_cpu_first_f32, float, stored, F32_LOAD, LOAD, LOAD16)
MATMUL_GPU(matmul_gpu_first_f32, float, stored, F32_LOAD, LOAD, LOAD4)
MATMUL_CPU(matmul_cpu_second_f32, stored, float, LOAD, F32_LOAD, F32_LOAD16)
MATMUL_GPU(matmul_gpu_second_f32, stored, float, LOAD, F32_LOAD, F32_LOAD4)
#endif
