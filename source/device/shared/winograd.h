// SPDX-License-Identifier: Apache-2.0
// Winograd's algorithm for devices: F(2x2,3x3) and F(4x4,3x3) with their usual points. An m x m tile of outputs is
// A^T ((G g G^T) . (B^T d B)) A, d being (m + 2) x (m + 2) inputs. G is here; B^T and A^T are in winograd.inc, which
// kernel sources include. NAIVE's bound has matrices of its own (design decision 2).
#ifndef PLUMB_DEVICE_SHARED_WINOGRAD_H_
#define PLUMB_DEVICE_SHARED_WINOGRAD_H_

#include "plumb/observer.h"

namespace plumb {

constexpr int kMaxWinogradTile = 6;  // m + 2 at most

// What a kernel that uses this file declares. REQUIRES: m is 2 or 4.
Numerics UsualWinograd(int m);

// U = G g G^T of a 3x3 kernel g, (m + 2) x (m + 2) values in float64: the device rounds each once, to what it stores.
// REQUIRES: m is 2 or 4.
void TransformWinogradKernel(int m, const float* kernel, double* transformed);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_WINOGRAD_H_
