// Element-wise operators with coefficients per channel, and sums of two blobs, in either form; and LRN across the channels.
#include "common.clh"

// Which channel element i of a blob with `block` lanes belongs to; there are coefficients for every lane.
#define CHANNEL (i / block / pixels % blocks * block + i % block)

// y = activate(scale[c] x + shift[c]). The lanes behind the last channel have scale and shift 0.
LINEAR void channel_affine(global stored* y, long y_at, global const stored* x, long x_at, global const float* scale,
                           global const float* shift, int count, int blocks, int pixels, int block, Epilogue e) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const int c = CHANNEL;
  STORE(activate(fma(LOAD(x + x_at, i), scale[c], shift[c]), e), y + y_at, i);
}

// The same with coefficient (i / inner) % count of plain blobs.
LINEAR void affine(global stored* y, long y_at, global const stored* x, long x_at, global const float* scale,
                   global const float* shift, int elements, int count, int inner) {
  const int i = get_global_id(0);
  if (i >= elements) return;
  const int c = i / inner % count;
  STORE(fma(LOAD(x + x_at, i), scale[c], shift[c]), y + y_at, i);
}

LINEAR void add_same(global stored* y, long y_at, global const stored* a, long a_at, global const stored* b, long b_at, int count,
                     Epilogue e) {
  const int i = get_global_id(0);
  if (i >= count) return;
  STORE(activate(LOAD(a + a_at, i) + LOAD(b + b_at, i), e), y + y_at, i);
}

// Eight elements an item, for CPU drivers.
LINEAR void add_same_x8(global stored* y, long y_at, global const stored* a, long a_at, global const stored* b, long b_at,
                        int count, Epilogue e) {
  const int i = get_global_id(0) * 8;
  if (i >= count) return;
  STORE8(activate8(LOAD8(a + a_at, i) + LOAD8(b + b_at, i), e), y + y_at, i);
}

LINEAR void prelu(global stored* y, long y_at, global const stored* x, long x_at, global const float* slope, int count, int blocks,
                  int pixels, int block) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const float v = LOAD(x + x_at, i);
  STORE(v < 0.0f ? v * slope[CHANNEL] : v, y + y_at, i);
}

// y = x / (bias + alpha / size * sum of x^2 over the channels [c - before, c + after])^beta.
LINEAR void lrn(global stored* y, long y_at, global const stored* x, long x_at, int batch, int channels, int pixels, int block,
                int before, int after, float alpha_by_size, float beta, float bias) {
  const int i = get_global_id(0);
  if (i >= batch * channels * pixels) return;
  const int p = i % pixels, c = i / pixels % channels, n = i / pixels / channels;
  float sum = 0.0f;
  for (int k = max(c - before, 0); k <= min(c + after, channels - 1); ++k) {
    const float v = LOAD(x + x_at, element(n, k, p, channels, pixels, block));
    sum = fma(v, v, sum);
  }
  const int at = element(n, c, p, channels, pixels, block);
  STORE(LOAD(x + x_at, at) / pow(fma(alpha_by_size, sum, bias), beta), y + y_at, at);
}
