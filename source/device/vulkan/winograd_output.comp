#version 450
// SPDX-License-Identifier: Apache-2.0
// Winograd's algorithm, the last of three launches (winograd.cc): y = A^T m A of each tile, four channels at a time;
// then bias, an addend of the output's shape (has_addend) and an activation. m [frequency][quad][tile of all images].
// -DTILE, -DTEXELS: include/winograd.glslh; -DSWISH.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"
#include "math.glslh"
#include "activation.glslh"
#include "winograd.glslh"

layout(std430, binding = 0) writeonly buffer Y { S4 y[]; };
READS(1, M, vec4, m);
READS(2, Addend, S4, addend);
READS(3, Bias, vec4, bias);
layout(push_constant) uniform Params {
  uint count;  // tiles of all images times the output's quads
  int tiles, image_tiles, row_tiles;
  int product_quads, quads, channels, out_h, out_w;
  int has_addend;
  float slope, low, high;
};

void Write(vec4 v, int n, int quad, ivec2 at) {
  if (at.x >= out_w || at.y >= out_h) return;
  const int to = ((n * quads + quad) * out_h + at.y) * out_w + at.x;
  v += FETCH(bias, quad);
  if (has_addend != 0) v += FETCH_STORED(addend, to);
  y[to] = Store(KeepChannels(Activate4(v, slope, low, high), quad, channels));
}

void main() {
  const int id = int(LinearId());
  if (id >= int(count)) return;
  const int tile = id % tiles, quad = id / tiles, n = tile / image_tiles, of_image = tile % image_tiles;
  const ivec2 origin = ivec2(of_image % row_tiles, of_image / row_tiles) * TILE;
  vec4 d[EDGE * EDGE];
#define READ(r, c) d[r * EDGE + c] = FETCH(m, ((r * EDGE + c) * product_quads + quad) * tiles + tile);
#define READ_ROW(r) EACH_OF_ROW(READ, r)
  EACH_OF_EDGE(READ_ROW)
#define COLUMN(c) TO_OUTPUTS(vec4, d, c, EDGE)
  EACH_OF_EDGE(COLUMN)
#define ROW(r) TO_OUTPUTS(vec4, d, r * EDGE, 1)
  EACH_OF_TILE(ROW)
#define WRITE(r, c) Write(d[r * EDGE + c], n, quad, origin + ivec2(c, r));
#define WRITE_ROW(r) EACH_OUTPUT_OF_ROW(WRITE, r)
  EACH_OF_TILE(WRITE_ROW)
}
