// SPDX-License-Identifier: Apache-2.0
// A second opinion on sums of products: one loop per output in long double, and the bound written down as tolerance.md
// has it.
#ifndef PLUMB_TEST_DEVICE_NAIVE_SUM_REFERENCE_H_
#define PLUMB_TEST_DEVICE_NAIVE_SUM_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "reference/sum/products.h"

namespace plumb::reference::test {

inline SumAxis MakeAxis(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad_begin,
                        int64_t pad_end) {
  return {in,       (in + pad_begin + pad_end - dilation * (kernel - 1) - 1) / stride + 1, kernel, stride, dilation,
          pad_begin};
}

inline std::vector<float> RandomFloats(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(random()) * 0x1p-31f - 1;
  return values;
}

// A term of an output's sum. Terms on padding are zeros; taps of a deconvolution that fall between input pixels are
// none.
struct Term {
  int64_t channel, tap;
  float x, w;
};

// The input coordinate of kernel position k for output position o, or false when there is none.
inline bool InputOf(const SumAxis& a, bool transposed, int64_t o, int64_t k, int64_t* i) {
  if (!transposed) {
    *i = o * a.stride - a.pad + k * a.dilation;
    return true;
  }
  const int64_t distance = o + a.pad - k * a.dilation;
  *i = distance / a.stride;
  return distance % a.stride == 0;
}

// All terms of output channel o (of all groups) at pixel (od, oh, ow), in the order (channel, kernel).
inline std::vector<Term> TermsOf(const SumGeometry& g, const float* x, const float* w, int64_t o, int64_t od,
                                 int64_t oh, int64_t ow) {
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups, group = o / out;
  std::vector<Term> terms;
  for (int64_t c = 0; c < in; ++c) {
    for (int64_t k = 0; k < g.kernel_size(); ++k) {
      const int64_t kd = k / (g.axis[1].kernel * g.axis[2].kernel);
      const int64_t kh = k / g.axis[2].kernel % g.axis[1].kernel;
      const int64_t kw = k % g.axis[2].kernel;
      int64_t d, h, v;
      if (!InputOf(g.axis[0], g.transposed, od, kd, &d) || !InputOf(g.axis[1], g.transposed, oh, kh, &h) ||
          !InputOf(g.axis[2], g.transposed, ow, kw, &v)) {
        continue;
      }
      const bool inside = d >= 0 && d < g.axis[0].in && h >= 0 && h < g.axis[1].in && v >= 0 && v < g.axis[2].in;
      const int64_t at =
          g.transposed ? ((group * in + c) * out + o % out) * g.kernel_size() + k : (o * in + c) * g.kernel_size() + k;
      const int64_t pixel = (((group * in + c) * g.axis[0].in + d) * g.axis[1].in + h) * g.axis[2].in + v;
      terms.push_back({c, k, inside ? x[pixel] : 0.0f, w[at]});
    }
  }
  return terms;
}

struct Sampled {
  long double first = 0, last = 0;  // sums of squares with the bias as first and as last partial sum
  double d = 0;
};

inline Sampled Sample(const std::vector<Term>& terms, long double bias) {
  const size_t block = (terms.size() + 15) / 16;
  Sampled s;
  long double sum = 0;
  float serial = 0, begun = static_cast<float>(bias);  // from zero, from the bias
  size_t length = 0;
  for (size_t k = 0; k < terms.size(); ++k) {
    sum += static_cast<long double>(terms[k].w) * terms[k].x;
    serial = std::fma(terms[k].w, terms[k].x, serial);
    begun = std::fma(terms[k].w, terms[k].x, begun);
    ++length;
    if ((k + 1) % block != 0 && k + 1 != terms.size()) continue;
    s.first += length * (sum + bias) * (sum + bias);
    s.last += length * sum * sum;
    s.d = std::max(s.d, static_cast<double>(std::fabs(serial - sum)));
    s.d = std::max(s.d, static_cast<double>(std::fabs(begun - (sum + bias))));
    length = 0;
  }
  if (bias != 0) s.last += (sum + bias) * (sum + bias);
  return s;
}

struct PlainSum {
  double value = 0, tau = 0;
};

// `later`: what sums may begin with beside the bias.
inline PlainSum Bounded(std::vector<Term> terms, long double bias, int level, long double later = 0) {
  long double y = bias, abs = 0;
  for (const Term& t : terms) y += static_cast<long double>(t.w) * t.x;
  for (const Term& t : terms) abs += std::fabs(t.w) + std::fabs(t.x);
  const double count = static_cast<double>(terms.size());
  const Sampled one = Sample(terms, bias), begun = Sample(terms, bias + later);
  long double squares = one.first;
  if (level >= 1) {
    squares = std::max({squares, one.last, begun.first});
    std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.tap < b.tap; });
    const Sampled two = Sample(terms, bias), two_begun = Sample(terms, bias + later);
    squares = std::max({squares, two.first, two.last, two_begun.first});
  }
  long double sigma2 = 0x1p-48L * (squares + y * y);
  if (level >= 2) sigma2 += 2.25L * begun.d * begun.d;
  return {static_cast<double>(y), static_cast<double>(8 * std::sqrt(sigma2) + 0x1p-126L * (count + abs))};
}

// One image; bias and later (like the output) may be null.
inline std::vector<PlainSum> PlainSums(const SumGeometry& g, const float* x, const float* w, const float* bias,
                                       int level, const double* later = nullptr) {
  std::vector<PlainSum> sums;
  for (int64_t o = 0; o < g.out_channels; ++o) {
    for (int64_t p = 0; p < g.out_pixels(); ++p) {
      const int64_t ow = p % g.axis[2].out, oh = p / g.axis[2].out % g.axis[1].out,
                    od = p / (g.axis[1].out * g.axis[2].out);
      const long double added = later != nullptr ? static_cast<long double>(later[o * g.out_pixels() + p]) : 0;
      sums.push_back(Bounded(TermsOf(g, x, w, o, od, oh, ow), bias != nullptr ? static_cast<long double>(bias[o]) : 0,
                             level, added));
    }
  }
  return sums;
}

}  // namespace plumb::reference::test

#endif  // PLUMB_TEST_DEVICE_NAIVE_SUM_REFERENCE_H_
