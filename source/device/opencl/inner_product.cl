// SPDX-License-Identifier: Apache-2.0
// InnerProduct in plain order: one item per output, or a group of items.
#include "common.clh"
#include "conv.clh"

// y[r][o] = sum over k of weight[o][k] x[r][k].
LINEAR void inner_product(global stored* y, long y_at, global const stored* x, long x_at, global const float* weight,
                          global const float* bias, int rows, int k, int outputs, int flags, Epilogue e) {
  const int i = get_global_id(0);
  if (i >= rows * outputs) return;
  const int o = i % outputs;
  global const stored* row = x + x_at + (long)(i / outputs) * k;
  global const float* w = weight + (long)o * k;
  float8 sums = 0.0f;
  int j = 0;
  for (; j + 8 <= k; j += 8) sums = fma(vload8(0, w + j), LOAD8(row, j), sums);
  float sum = 0.0f;
  for (; j < k; ++j) sum = fma(w[j], LOAD(row, j), sum);
  const float4 four = sums.lo + sums.hi;
  const float2 two = four.lo + four.hi;
  sum += two.x + two.y;
  STORE(finish(sum, o, i, bias, row, flags, e), y + y_at, i);
}

// The same for GPUs: a group of 64 items per output, whose neighbours read neighbouring weights; their sums meet in a
// tree.
LINEAR void inner_product_gpu(global stored* y, long y_at, global const stored* x, long x_at,
                              global const float* weight, global const float* bias, int rows, int k, int outputs,
                              int flags, Epilogue e) {
  local float part[64];
  const int id = get_local_id(0), i = get_group_id(0), o = i % outputs;
  global const stored* row = x + x_at + (long)(i / outputs) * k;
  global const float* w = weight + (long)o * k;
  float sum = 0.0f;
  for (int j = id; j < k; j += 64) sum = fma(w[j], LOAD(row, j), sum);
  part[id] = sum;
  for (int half_size = 32; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < half_size) part[id] += part[id + half_size];
  }
  if (id == 0) STORE(finish(part[0], o, i, bias, row, flags, e), y + y_at, i);
}
