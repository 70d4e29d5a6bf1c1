// SPDX-License-Identifier: Apache-2.0
// A convolution of stride 2 along both axes as one of stride 1 (Numerics::stride): the even and the odd rows and
// columns of an image become channels of their own, 4 c + 2 (row's parity) + (column's), those of the kernel as well.
#ifndef PLUMB_REFERENCE_SUM_WINOGRAD_PHASES_H_
#define PLUMB_REFERENCE_SUM_WINOGRAD_PHASES_H_

#include <cstdint>
#include <vector>

#include "reference/sum/products.h"

namespace plumb::reference {

struct Phases {
  SumGeometry geometry;  // without padding: the zeros beside the image are written out
  std::vector<double> input;
  std::vector<float> weight;

  // REQUIRES: two axes of stride 2 without dilation.
  Phases(const SumGeometry& whole, const float* weights, ConstReals image) : geometry(whole) {
    geometry.in_channels = 4 * whole.in_channels;
    for (size_t a = 1; a < 3; ++a) {
      SumAxis& axis = geometry.axis[a];
      axis.kernel = (axis.kernel + 1) / 2, axis.stride = 1, axis.pad = 0;
      axis.in = axis.out + axis.kernel - 1;
    }
    Split(
        whole.in_channels, whole.axis[1].in, whole.axis[2].in, geometry.axis[1].in, geometry.axis[2].in,
        whole.axis[1].pad, whole.axis[2].pad, [&](int64_t at) { return image.At(at); }, &input);
    Split(
        whole.in_channels / whole.groups * whole.out_channels, whole.axis[1].kernel, whole.axis[2].kernel,
        geometry.axis[1].kernel, geometry.axis[2].kernel, 0, 0, [&](int64_t at) { return weights[at]; }, &weight);
  }

 private:
  // Planes of h x w as four planes each of to_h x to_w, the first of which begin `top` and `left` before theirs.
  template <class At, class T>
  static void Split(int64_t planes, int64_t h, int64_t w, int64_t to_h, int64_t to_w, int64_t top, int64_t left, At at,
                    std::vector<T>* to) {
    to->assign(static_cast<size_t>(4 * planes * to_h * to_w), T());
    auto next = to->begin();
    for (int64_t plane = 0; plane < planes; ++plane) {
      for (int64_t parity = 0; parity < 4; ++parity) {
        for (int64_t i = 0; i < to_h * to_w; ++i, ++next) {
          const int64_t y = i / to_w * 2 + parity / 2 - top, x = i % to_w * 2 + parity % 2 - left;
          if (y >= 0 && y < h && x >= 0 && x < w) *next = at((plane * h + y) * w + x);
        }
      }
    }
  }
};

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_WINOGRAD_PHASES_H_
