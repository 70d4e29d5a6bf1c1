// SPDX-License-Identifier: Apache-2.0
// x / 2 erfc(-x / sqrt 2) of a C library is hundreds of ULP off in the tail, where rounding -x / sqrt 2 is multiplied
// by x^2, and libraries differ. This is the other way round, with s = |x|:
//
//   s Phi(-s) = w P(w) e^(-s^2 / 2),  w = s / (s + 4),  P = (s + 4) Phi(-s) e^(s^2 / 2),  x Phi(x) = x + (-x) Phi(-x)
//
// P is smooth on all of 0 <= w < 1, so that one polynomial does: M. M. Shepherd and J. G. Laframboise, "Chebyshev
// Approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < inf", Mathematics of Computation 36 (153), 1981. Everything
// that ends in the last bit is a sum of two float64 (T. J. Dekker, "A Floating-Point Technique for Extending the
// Available Precision", Numerische Mathematik 18, 1971).
#include "reference/core/gelu.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace plumb {
namespace {

struct Pair {
  double high = 0, low = 0;  // low: at most about an ULP of high
};

Pair Sum(double a, double b) {
  const double sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

Pair Product(const Pair& a, const Pair& b) {
  const double product = a.high * b.high;
  return {product, std::fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high)};
}

// P as a polynomial in w - 1/2, through the Chebyshev nodes of 0 <= s <= 39 (60 digits), within 2^-57 of P; the first
// coefficients in two parts.
constexpr Pair kFirst[] = {{0x1.82b4bb8c94dcep-1, -0x1.a1656caab995fp-56},
                           {-0x1.373e3a893c28ap+0, -0x1.9e3753e90e35ap-57},
                           {0x1.8c6dbf2cfc2b1p+0, 0x1.c2afb40f723e2p-55}};
constexpr double kRest[] = {-0x1.7dff2bff683b4p+0, 0x1.eec4cc3e4d7f2p-1,  -0x1.ee2761047889ep-3, -0x1.c81719d5c10dcp-3,
                            0x1.ab825fbf65b69p-3,  0x1.17a4ae851932ep-5,  -0x1.e4a424fd84275p-4, -0x1.001edbcd0e89ap-9,
                            0x1.26d08f65c4ff2p-4,  0x1.80baa16a9c2aap-9,  -0x1.8d49ebe4a9497p-5, -0x1.51fb943c2c413p-7,
                            0x1.122a5f17fbb8dp-5,  0x1.23872292c6acap-6,  -0x1.4c4352d9063e7p-6, -0x1.6d3f0e7e5e128p-6,
                            0x1.c2d4773d6ec89p-8,  0x1.4c5f1038eb0b5p-6,  0x1.0df9a2d22ac96p-8,  -0x1.4c20ba116ea25p-7,
                            -0x1.8f97cbc9023ffp-8, -0x1.f675af45fb0d0p-13};

// P at z + z_low, z_low below an ULP of 1.
Pair PolynomialAt(double z, double z_low) {
  constexpr int kLast = static_cast<int>(std::size(kRest)) - 1;
  double even = kRest[kLast - 1], odd = kRest[kLast];  // two chains: half of the wait
  for (int i = kLast - 3; i >= 0; i -= 2) even = even * (z * z) + kRest[i], odd = odd * (z * z) + kRest[i + 1];
  Pair p = {even + odd * z, 0};
  for (int i = 2; i >= 0; --i) {
    const Pair product = Product(p, {z, z_low}), sum = Sum(kFirst[i].high, product.high);
    p = {sum.high, sum.low + (product.low + kFirst[i].low)};
  }
  return p;
}

// e^x = 2^power times what is returned, for -1000 < x <= 0: x = power ln 2 + r, and Taylor's polynomial of r.
Pair ExpOfMinus(const Pair& x, int* power) {
  constexpr double kInverseFactorials[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                           1.0 / 40320,     1.0 / 5040,     1.0 / 720,     1.0 / 120,
                                           1.0 / 24,        1.0 / 6,        1.0 / 2};
  constexpr Pair kLn2 = {0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45};  // power times the first is exact
  *power = static_cast<int>(x.high * 1.4426950408889634 - 0.5);
  const Pair r = Sum(x.high - *power * kLn2.high, x.low - *power * kLn2.low);
  double sum = 1.0 / 6227020800;  // 1/13!; the next term is below 2^-57
  for (const double factor : kInverseFactorials) sum = sum * r.high + factor;
  const Pair e = Sum(1, r.high);
  return {e.high, e.low + (r.low + r.high * r.low + r.high * r.high * sum)};
}

double PowerOfTwo(int power) {
  const uint64_t bits = static_cast<uint64_t>(1023 + power) << 52;
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// In two steps: the power alone may lie below the smallest float64.
double Scaled(double x, int power) { return x * PowerOfTwo(power / 2) * PowerOfTwo(power - power / 2); }

}  // namespace

double Gelu(double x) {
  const double s = std::fabs(x);
  if (!(s < 39)) return x < 0 ? 0 * x : x;  // Phi(-39) is 0 in float64
  const Pair below = Sum(s, 4);
  const double w = s / below.high;
  // What the division left, over s + 4; 1 / (s + 4) = (1 - w) / 4.
  const double w_low = (std::fma(-w, below.high, s) - w * below.low) * (0.25 * (1 - w));
  const double z = w - 0.5;
  const Pair p = PolynomialAt(z, (w + (-0.5 - z)) + w_low);
  int power = 0;
  const double square = s * s;
  const Pair e = ExpOfMinus({-0.5 * square, -0.5 * std::fma(s, s, -square)}, &power);
  const Pair tail = Product(Product(p, {w, w_low}), e);
  if (std::signbit(x)) return -Scaled(tail.high + tail.low, power);
  const Pair rest = Sum(x, -Scaled(tail.high, power));
  return rest.high + (rest.low - Scaled(tail.low, power));
}

}  // namespace plumb
