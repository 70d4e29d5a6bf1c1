#version 450
// SPDX-License-Identifier: Apache-2.0
// Max or average pooling over planes, one invocation per output; kAdaptive: output o covers [floor(o in / out),
// ceil((o + 1) in / out)). -DCHANNEL4: four channels of a pixel at once
// (NC4HW4), read as texels.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"
#ifdef CHANNEL4
#define V vec4
#define VS S4
#else
#define V float
#define VS S
#endif

layout(constant_id = 0) const int kAverage = 0;
layout(constant_id = 1) const int kAdaptive = 0;
layout(constant_id = 2) const int kIncludePad = 0;
layout(std430, binding = 0) writeonly buffer Y { VS y[]; };
#ifdef CHANNEL4
layout(binding = 1) uniform samplerBuffer x;
vec4 Read(int at) { return texelFetch(x, at); }
#else
layout(std430, binding = 1) readonly buffer X { float x[]; };
float Read(int at) { return x[at]; }
#endif
layout(push_constant) uniform Params {
  uint count;
  int in_h, in_w, out_h, out_w;
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right;
  int channels;
};

ivec2 Window(int o, int size, int out_size, int kernel, int stride, int pad) {
  if (kAdaptive != 0) return ivec2(o * size / out_size, ((o + 1) * size + out_size - 1) / out_size);
  return ivec2(o * stride - pad, o * stride - pad + kernel);
}

float Larger(float best, float v) { return !IsNaN(best) && (IsNaN(v) || v > best) ? v : best; }

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const int w = int(i) % out_w, h = int(i) / out_w % out_h, plane = int(i) / (out_w * out_h);
  const ivec2 rows = Window(h, in_h, out_h, kernel_h, stride_h, pad_top);
  const ivec2 columns = Window(w, in_w, out_w, kernel_w, stride_w, pad_left);
  const int top = max(rows.x, 0), bottom = min(rows.y, in_h), left = max(columns.x, 0), right = min(columns.y, in_w);
  V result = V(kAverage != 0 ? 0.0 : -Infinity());
  for (int r = top; r < bottom; ++r) {
    for (int c = left; c < right; ++c) {
      const V v = Read((plane * in_h + r) * in_w + c);
      if (kAverage != 0) {
        result += v;
      } else {
#ifdef CHANNEL4
        result = vec4(Larger(result.x, v.x), Larger(result.y, v.y), Larger(result.z, v.z), Larger(result.w, v.w));
#else
        result = Larger(result, v);
#endif
      }
    }
  }
  if (kAverage != 0) {
    int valid = (bottom - top) * (right - left);
    // The padding counts as far as it goes: a window of ceil_mode may reach beyond it.
    if (kIncludePad != 0) {
      valid = (min(rows.y, in_h + pad_bottom) - rows.x) * (min(columns.y, in_w + pad_right) - columns.x);
    }
    result = valid > 0 ? result / float(valid) : V(0.0);
  }
#ifdef CHANNEL4
  const int quads = (channels + 3) / 4;
  result = mix(vec4(0.0), result, lessThan(ivec4(plane % quads * 4) + ivec4(0, 1, 2, 3), ivec4(channels)));
#endif
  y[i] = Store(result);
}
