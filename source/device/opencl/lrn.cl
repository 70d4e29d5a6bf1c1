// SPDX-License-Identifier: Apache-2.0
// LRN in either form.
#include "common.clh"

// y = x / (bias + alpha / size * sum of x^2 over the channels [c - before, c + after])^beta.
LINEAR void lrn(global stored* y, long y_at, global const stored* x, long x_at, int batch, int channels, int pixels,
                int block, int before, int after, float alpha_by_size, float beta, float bias) {
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
