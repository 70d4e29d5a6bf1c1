// SPDX-License-Identifier: Apache-2.0
// Sums of products on the reference: y[o, p] = bias[o] + sum over k of w[o, k] * x[k, p] in float64, and how far fp32
// rounding may carry a device from y. Convolution (1-D to 3-D), Deconvolution, InnerProduct and MatMul are all this.
//
// The bound is "The rule (measured)" of tolerance.md. Per output element, with s_j the partial sums:
//   sigma^2 = u^2 max over the orders of sum_j s_j^2 + u_out^2 y^2 + (1.5 d)^2
// with the orders (c, kernel), (kernel, c), and those of 4 and of 16 accumulators that take turns (TermOrder, plan.h)
// in output channels where their sums of squares are 8 times those of the others.
//   tau     = sqrt((8 sigma)^2 + sum (w tau_x)^2) + 2^-126 (K + sum |x| + sum |w|)
// s_j are sampled at 16 block ends, each weighted with its block's length; of inner products with few weights behind
// each of these. The bias (and what is added later) is the first or the last partial sum, the larger counts; d is how
// far a serial fp32 sum strays. It comes in levels of growing cost, each at least as wide as the one before, so that a
// checker which finds a layer aligned at a low level is done:
//   0: order (c, kernel) with the bias first, in the same pass as the values
//   1: (kernel, c), too, and the bias first and last
//   2: all orders, and d
// Results are the same bits for every thread count and instruction set.
#ifndef PLUMB_REFERENCE_SUM_PRODUCTS_H_
#define PLUMB_REFERENCE_SUM_PRODUCTS_H_

#include <array>
#include <cstdint>
#include <vector>

namespace plumb::reference {

// Float storage of either kind.
struct ConstReals {
  const void* data = nullptr;
  bool is_double = false;
  ConstReals() = default;
  ConstReals(const float* p) : data(p) {}                    // NOLINT(google-explicit-constructor)
  ConstReals(const double* p) : data(p), is_double(true) {}  // NOLINT(google-explicit-constructor)
  const float* f32() const { return static_cast<const float*>(data); }
  const double* f64() const { return static_cast<const double*>(data); }
  double At(int64_t i) const { return is_double ? f64()[i] : static_cast<double>(f32()[i]); }
};
struct Reals {
  void* data = nullptr;
  bool is_double = false;
  Reals() = default;
  Reals(float* p) : data(p) {}                    // NOLINT(google-explicit-constructor)
  Reals(double* p) : data(p), is_double(true) {}  // NOLINT(google-explicit-constructor)
};

// One spatial axis; the end pad follows from `out`.
struct SumAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

struct SumGeometry {
  int64_t groups = 1;
  int64_t in_channels = 1;      // of all groups
  int64_t out_channels = 1;     // of all groups
  std::array<SumAxis, 3> axis;  // depth, height, width
  // False: input = out * stride - pad + k * dilation, weights [out][in/group][kernel].
  // True (Deconvolution): out = input * stride - pad + k * dilation, weights [group][in/group][out/group][kernel].
  bool transposed = false;

  int64_t kernel_size() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
  int64_t in_pixels() const { return axis[0].in * axis[1].in * axis[2].in; }
  int64_t out_pixels() const { return axis[0].out * axis[1].out * axis[2].out; }
};

// One input and its output: an item of the batch. Items are independent; all share one sweep over the weights, so a
// second run of the layer on other inputs is best added as further items.
struct SumImage {
  ConstReals input;                   // [in_channels][depth][height][width]
  Reals output;                       // [out_channels][depth][height][width]
  double* tau = nullptr;              // like output; null: values only
  const double* input_tau = nullptr;  // like input; null: the input is exact
  const double* later = nullptr;      // like output: what sums may begin with beside the bias, from level 1 on; or null
  const double* later_constant = nullptr;  // like output: the constant part of it, or null
  // Like output, or null: what the sums of other inputs differ by from these (difference.h); becomes their output.
  double* beside = nullptr;
};

struct SumOperands {
  ConstReals weight;
  const float* bias = nullptr;         // [out_channels] or null
  const double* weight_tau = nullptr;  // like weight, for a product of two activations; null: exact
  bool constant = true;                // false: weight is an activation too, in the storage of the inputs
  // Applied last, to `count` values and their taus (null: values only); null: nothing.
  void (*activate)(int64_t count, double* value, double* tau) = nullptr;
};

struct SumBound {
  int level = 0;
  double u = 0x1p-24;      // of the accumulation
  double u_out = 0x1p-24;  // of the stored result
  double min_normal = 0x1p-126;
};
constexpr int kMaxSumLevel = 2;

// Fills the images' outputs and taus.
void SumOfProducts(const SumGeometry& geometry, const SumOperands& operands, const std::vector<SumImage>& images,
                   const SumBound& bound = {});

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_PRODUCTS_H_
