#version 450
// SPDX-License-Identifier: Apache-2.0
// Winograd's algorithm, the first of three launches (winograd.cc): V = B^T d B of the EDGE x EDGE pixels around each
// tile of outputs, four channels at a time. V [frequency][quad][tile of all images]. -DTILE, -DTEXELS:
// include/winograd.glslh.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"
#include "winograd.glslh"

layout(std430, binding = 0) writeonly buffer V { vec4 v[]; };
READS(1, X, S4, x);
layout(push_constant) uniform Params {
  uint count;  // tiles of all images times quads
  int tiles, image_tiles, row_tiles;
  int quads, in_h, in_w, pad_top, pad_left;
};

// Zero outside the input.
vec4 Pixel(ivec2 at, int from) {
  const bool inside = at.x >= 0 && at.x < in_w && at.y >= 0 && at.y < in_h;
  const vec4 pixel = FETCH_STORED(x, inside ? from + at.y * in_w + at.x : 0);
  return mix(vec4(0.0), pixel, bvec4(inside));
}

void main() {
  const int id = int(LinearId());
  if (id >= int(count)) return;
  const int tile = id % tiles, quad = id / tiles, n = tile / image_tiles, of_image = tile % image_tiles;
  const ivec2 origin = ivec2(of_image % row_tiles, of_image / row_tiles) * TILE - ivec2(pad_left, pad_top);
  const int from = (n * quads + quad) * in_h * in_w;
  vec4 d[EDGE * EDGE];
#define READ(r, c) d[r * EDGE + c] = Pixel(origin + ivec2(c, r), from);
#define READ_ROW(r) EACH_OF_ROW(READ, r)
  EACH_OF_EDGE(READ_ROW)
#define COLUMN(c) TO_FREQUENCIES(vec4, d, c, EDGE)
  EACH_OF_EDGE(COLUMN)
#define ROW(r) TO_FREQUENCIES(vec4, d, r * EDGE, 1)
  EACH_OF_EDGE(ROW)
#define WRITE(r, c) v[((r * EDGE + c) * quads + quad) * tiles + tile] = d[r * EDGE + c];
#define WRITE_ROW(r) EACH_OF_ROW(WRITE, r)
  EACH_OF_EDGE(WRITE_ROW)
}
