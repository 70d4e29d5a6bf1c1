// SPDX-License-Identifier: Apache-2.0
// How far Winograd's algorithm may carry a convolution from its exact value (Lavin and Gray, arXiv:1509.09308, for
// the algorithm; "The rule (measured)" of tolerance.md for the bound). F(m x m, r x r) computes m x m outputs at a time
// from tiles of n x n inputs, n = m + r - 1, as A^T ((G g G^T) . (B^T d B)) A, and loses digits in those
// transformations.
#ifndef PLUMB_REFERENCE_SUM_WINOGRAD_H_
#define PLUMB_REFERENCE_SUM_WINOGRAD_H_

#include <vector>

#include "plumb/status.h"
#include "reference/sum/products.h"

namespace plumb {

// F(m x m, r x r): m x m outputs at a time from tiles of (m + r - 1) x (m + r - 1) inputs; or F(m, r) along one axis.
struct WinogradForm {
  int m = 0;
  std::vector<double> points;  // the m + r - 2 finite interpolation points; infinity is the last one
  int dimensions = 2;
  int stride = 1;  // 2: of each of the four convolutions of even and odd rows and columns (Numerics::stride)
};

}  // namespace plumb

namespace plumb::reference {

// Convolutions that runtimes compute so: square kernels of 2x2 to 7x7 and 1xr, rx1; stride 1, no dilation, not
// depthwise.
bool MayBeWinograd(const SumGeometry& geometry);
bool IsWinogradKernel(int64_t height, int64_t width);

// Those of the form's kernel.
bool Applies(const WinogradForm& form, const SumGeometry& geometry);

// Those that runtimes use for 3x3.
std::vector<WinogradForm> UsualWinogradForms();

// Replaces one image's tau [out_channels][height][width] by the bound of exactly that form, infinite where a NaN or
// infinity lies in the tile. output: the exact values; weight [out_channels][in_channels][kernel]. At level
// kMaxSumLevel the serial drift d counts, too. REQUIRES: Applies(form, geometry); the form is valid
// (Numerics::Validate).
void BoundAsWinograd(const SumGeometry& geometry, const WinogradForm& form, const float* weight, ConstReals input,
                     const double* output, const SumBound& bound, double* tau);

// Raises one image's tau to the largest bound of the forms that runtimes use: tiles of 4, 6 and 8 with their usual
// points; at level 0 of 8 with points up to 3 alone. Values that overflow in it keep theirs. Otherwise like
// BoundAsWinograd. REQUIRES: MayBeWinograd(geometry).
void RaiseToWinograd(const SumGeometry& geometry, const float* weight, ConstReals input, const double* output,
                     const SumBound& bound, double* tau);

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_WINOGRAD_H_
