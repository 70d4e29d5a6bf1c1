// SPDX-License-Identifier: Apache-2.0
// Pooling of blobs with `block` lanes: one item per output element (plane, row, column, lane), or as a kernel says.
#include "common.clh"

typedef struct {
  int in, out, size, stride, pad_begin, pad_end;
} Axis;

typedef struct {
  Axis h, w;
  int adaptive, average, count_include_pad;
} Pool;

// Valid pixels [begin, end) of output o and the whole window's length.
inline int3 range(Axis a, int adaptive, int o) {
  if (adaptive) {
    const int begin = (int)((long)o * a.in / a.out), end = (int)((((long)o + 1) * a.in + a.out - 1) / a.out);
    return (int3)(begin, end, end - begin);
  }
  const int start = o * a.stride - a.pad_begin;
  return (int3)(max(start, 0), min(start + a.size, a.in), min(start + a.size, a.in + a.pad_end) - start);
}

LINEAR void pooling(global stored* y, long y_at, global const stored* x, long x_at, int count, int block, Pool p) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const int lane = i % block, at = i / block, column = at % p.w.out, row = at / p.w.out % p.h.out;
  const int3 h = range(p.h, p.adaptive, row), w = range(p.w, p.adaptive, column);
  global const stored* plane = x + x_at + (long)(at / p.w.out / p.h.out) * p.h.in * p.w.in * block + lane;
  float largest = -INFINITY, sum = 0.0f;
  for (int a = h.x; a < h.y; ++a) {
    float line = 0.0f;
    for (int b = w.x; b < w.y; ++b) {
      const float v = LOAD(plane, (a * p.w.in + b) * block);
      line += v;
      largest = (v > largest || v != v) && largest == largest ? v : largest;
    }
    sum += line;
  }
  const int divisor = p.count_include_pad ? h.z * w.z : max(h.y - h.x, 0) * max(w.y - w.x, 0);
  STORE(p.average ? sum / divisor : largest, y + y_at, i);
}

// The same for windows whose rows overlap, for GPUs: an item computes ROWS neighbouring rows of one column and lane,
// and reduces each input row once for all of them; neighbouring items read neighbouring elements. `strips` strips of
// rows a plane.
#define ROWS 4
#define EACH_ROW for (int t = 0; t < ROWS; ++t)

LINEAR void pooling_rows(global stored* y, long y_at, global const stored* x, long x_at, int count, int block,
                         int strips, Pool p) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const int lane = i % block, at = i / block, column = at % p.w.out, strip = at / p.w.out;
  const int plane = strip / strips, row = strip % strips * ROWS, rows = min(ROWS, p.h.out - row);
  const int3 w = range(p.w, 0, column);
  global const stored* from = x + x_at + (long)plane * p.h.in * p.w.in * block + lane;
  float largest[ROWS], sum[ROWS];
  EACH_ROW {
    largest[t] = -INFINITY;
    sum[t] = 0.0f;
  }
  const int top = row * p.h.stride - p.h.pad_begin, end = min(top + (rows - 1) * p.h.stride + p.h.size, p.h.in);
  for (int a = max(top, 0); a < end; ++a) {
    float most = -INFINITY, line = 0.0f;
    for (int b = w.x; b < w.y; ++b) {
      const float v = LOAD(from, (a * p.w.in + b) * block);
      line += v;
      most = (v > most || v != v) && most == most ? v : most;
    }
    EACH_ROW {
      const int below = a - top - t * p.h.stride;
      if (below < 0 || below >= p.h.size) continue;
      sum[t] += line;
      largest[t] = (most > largest[t] || most != most) && largest[t] == largest[t] ? most : largest[t];
    }
  }
  EACH_ROW {
    if (t >= rows) break;
    const int3 h = range(p.h, 0, row + t);
    const int divisor = p.count_include_pad ? h.z * w.z : max(h.y - h.x, 0) * max(w.y - w.x, 0);
    STORE(p.average ? sum[t] / divisor : largest[t], y + y_at,
          ((plane * p.h.out + row + t) * p.w.out + column) * block + lane);
  }
}

// Eight channels an item, for CPU drivers.
LINEAR void pooling_x8(global stored* y, long y_at, global const stored* x, long x_at, int count, Pool p) {
  const int at = get_global_id(0);
  if (at >= count) return;
  const int column = at % p.w.out, row = at / p.w.out % p.h.out;
  const int3 h = range(p.h, p.adaptive, row), w = range(p.w, p.adaptive, column);
  global const stored* plane = x + x_at + (long)(at / p.w.out / p.h.out) * p.h.in * p.w.in * 8;
  float8 largest = -INFINITY, sum = 0.0f;
  for (int a = h.x; a < h.y; ++a) {
    float8 line = 0.0f;
    for (int b = w.x; b < w.y; ++b) {
      const float8 v = LOAD8(plane, (a * p.w.in + b) * 8);
      line += v;
      largest = select(largest, v, ((v > largest) | (v != v)) & (largest == largest));
    }
    sum += line;
  }
  const int divisor = p.count_include_pad ? h.z * w.z : max(h.y - h.x, 0) * max(w.y - w.x, 0);
  STORE8(p.average ? sum / (float)divisor : largest, y + y_at, at * 8);
}
