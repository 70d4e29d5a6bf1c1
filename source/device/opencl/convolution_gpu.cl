// Convolutions in channel blocks for GPUs: an item computes four pixels of eight output channels; neighbouring items compute
// neighbouring pixels, so that their loads join, and all items of a group read the same weights.
// Weights lie as [output block][input block][kernel row][kernel column][input lane 8][output lane 8].
#include "common.clh"

#define PIXELS 4
#define ROWS 4

typedef struct {
  int batch, group, in_channels, out_channels;
  int in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
} Conv;

#define EACH_PIXEL for (int t = 0; t < PIXELS; ++t)
#define EACH_ROW for (int t = 0; t < ROWS; ++t)

LINEAR void convolution_gpu(global stored* y, long y_at, global const stored* x, long x_at, global const stored* addend,
                            long addend_at, global const float* weight, global const float* bias, int tiles, int columns,
                            int flags, Conv c, Epilogue e) {
  const int first = get_group_id(0) * 64 * PIXELS + get_local_id(0), pixels = c.out_h * c.out_w;
  const int out_block = get_global_id(1), n = get_global_id(2);
  if (first >= pixels || out_block >= columns || n >= c.batch) return;
  const int in_blocks = (c.in_channels / c.group + 7) / 8, all_in_blocks = (c.in_channels + 7) / 8;
  const int first_block = out_block * 8 / (c.out_channels / c.group) * in_blocks;
  const float8 start = flags & 1 ? vload8(out_block, bias) : (float8)(0.0f);
  float8 acc[PIXELS];
  int row[PIXELS], column[PIXELS];
  EACH_PIXEL {
    const int p = min(first + t * 64, pixels - 1);
    acc[t] = start;
    row[t] = p / c.out_w * c.stride_h - c.pad_top;
    column[t] = p % c.out_w * c.stride_w - c.pad_left;
  }
  global const float* w = weight + (long)out_block * in_blocks * c.kernel_h * c.kernel_w * 64;
  for (int block = 0; block < in_blocks; ++block) {
    global const stored* plane = x + x_at + (long)(n * all_in_blocks + first_block + block) * c.in_h * c.in_w * 8;
    for (int i = 0; i < c.kernel_h; ++i) {
      for (int j = 0; j < c.kernel_w; ++j, w += 64) {
        const float8 w0 = vload8(0, w), w1 = vload8(1, w), w2 = vload8(2, w), w3 = vload8(3, w);
        const float8 w4 = vload8(4, w), w5 = vload8(5, w), w6 = vload8(6, w), w7 = vload8(7, w);
        EACH_PIXEL {
          const int h = row[t] + i * c.dilation_h, at = column[t] + j * c.dilation_w;
          if (h < 0 || h >= c.in_h || at < 0 || at >= c.in_w) continue;
          const float8 v = LOAD8(plane, (h * c.in_w + at) * 8);
          acc[t] = fma(v.s0, w0, fma(v.s1, w1, fma(v.s2, w2, fma(v.s3, w3, acc[t]))));
          acc[t] = fma(v.s4, w4, fma(v.s5, w5, fma(v.s6, w6, fma(v.s7, w7, acc[t]))));
        }
      }
    }
  }
  const long plane = (long)(n * ((c.out_channels + 7) / 8) + out_block) * pixels;
  EACH_PIXEL {
    const int p = first + t * 64;
    if (p >= pixels) break;
    const long at = (plane + p) * 8;
    float8 sum = acc[t];
    if (flags & 2) sum += LOAD8(addend + addend_at, at);
    STORE8(activate8(sum, e), y + y_at, at);
  }
}

// One filter per channel: an item computes ROWS neighbouring rows of one column of eight channels and loads each pixel once for all
// of them; neighbouring items compute neighbouring columns. Weights [block][kernel row][kernel column][8]; `tiles` strips of rows.
LINEAR void depthwise_gpu(global stored* y, long y_at, global const stored* x, long x_at, global const stored* addend,
                          long addend_at, global const float* weight, global const float* bias, int tiles, int columns, int flags,
                          Conv c, Epilogue e) {
  const int item = get_global_id(0), block = get_global_id(1), n = get_global_id(2);
  if (item >= tiles * c.out_w || block >= columns || n >= c.batch) return;
  const int column = item % c.out_w, row = item / c.out_w * ROWS, count = min(ROWS, c.out_h - row);
  const int left = column * c.stride_w - c.pad_left, top = row * c.stride_h - c.pad_top;
  const int last = top + (count - 1) * c.stride_h + (c.kernel_h - 1) * c.dilation_h;
  const float8 start = flags & 1 ? vload8(block, bias) : (float8)(0.0f);
  float8 acc[ROWS];
  EACH_ROW acc[t] = start;
  global const float* w = weight + (long)block * c.kernel_h * c.kernel_w * 8;
  global const stored* plane = x + x_at + (long)(n * columns + block) * c.in_h * c.in_w * 8;
  for (int h = max(top, 0); h <= min(last, c.in_h - 1); ++h) {
    int tap[ROWS], used = 0;  // the first weight of the kernel row that meets input row h, or -1
    EACH_ROW {
      const int below = h - top - t * c.stride_h, i = below / c.dilation_h;
      const int meets = below >= 0 && i < c.kernel_h && i * c.dilation_h == below;
      tap[t] = meets ? i * c.kernel_w : -1;
      used |= meets;
    }
    if (!used) continue;
    for (int j = 0; j < c.kernel_w; ++j) {
      const int at = left + j * c.dilation_w;
      if (at < 0 || at >= c.in_w) continue;
      const float8 v = LOAD8(plane, (h * c.in_w + at) * 8);
      EACH_ROW {
        if (tap[t] >= 0) acc[t] = fma(v, vload8(tap[t] + j, w), acc[t]);
      }
    }
  }
  const long first = ((long)(n * columns + block) * c.out_h + row) * c.out_w + column;
  EACH_ROW {
    if (t >= count) break;
    const long at = (first + t * c.out_w) * 8;
    float8 sum = acc[t];
    if (flags & 2) sum += LOAD8(addend + addend_at, at);
    STORE8(activate8(sum, e), y + y_at, at);
  }
}
