// SPDX-License-Identifier: Apache-2.0
// Coefficients along any axis of plain blobs.
#include "common.clh"

// y = scale[c] x + shift[c], c = (i / inner) % count.
LINEAR void affine(global stored* y, long y_at, global const stored* x, long x_at, global const float* scale,
                   global const float* shift, int elements, int count, int inner) {
  const int i = get_global_id(0);
  if (i >= elements) return;
  const int c = i / inner % count;
  STORE(fma(LOAD(x + x_at, i), scale[c], shift[c]), y + y_at, i);
}
