// Numerics: how a step computes, as far as its rounding errors depend on that: by which algorithm, in what it adds up,
// and in what it holds the operands of its products. Kernels declare it, and the checker judges a step by the bound of
// exactly that (doc/check.md, "The rule").
#ifndef PLUMB_NUMERICS_H_
#define PLUMB_NUMERICS_H_

#include <string>
#include <utility>
#include <vector>

#include "plumb/dtype.h"
#include "plumb/status.h"

namespace plumb {

struct Numerics {
  enum Algorithm {
    kDirect,    // sums of products as the operator is defined
    kWinograd,  // Lavin and Gray, arXiv:1509.09308
  };
  Algorithm algorithm = kDirect;
  // Of kWinograd: F(tile x tile, r x r), or along one axis F(tile, r), with tile + r - 2 finite interpolation points;
  // infinity is the last one. tile 0: any form in use, of a runtime of which nobody knows.
  int tile = 0;
  std::vector<double> points;
  int dimensions = 2;  // 1: kernels of one row or one column
  // Of kWinograd with tile > 0. 2: a convolution of stride 2 is the sum of four of stride 1, of the even and the odd
  // rows and columns of map and kernel, and each is computed so; r is half of the kernel's taps, rounded up.
  int stride = 1;
  DType accumulator = DType::kF32;  // f32, or f16 or bf16: every sum is rounded so
  DType storage = DType::kF32;      // f32, or f16 or bf16: products round their operands (blobs and weights) so first

  static Numerics Winograd(int tile, std::vector<double> points, int dimensions = 2) {
    return {kWinograd, tile, std::move(points), dimensions, 1, DType::kF32, DType::kF32};
  }
  // r of kWinograd: the taps along an axis.
  int taps() const { return static_cast<int>(points.size()) + 2 - tile; }
  // InvalidArgument for a form of Winograd's algorithm that nobody computes: kernels of more than kMaxTaps taps, tiles
  // of more than kMaxPositions inputs along an axis, points that lie within 1/8 of each other or beyond 8, strides
  // beyond 2, and a stride of 2 along one axis.
  Status Validate() const;
  // What Validate() accepts, in words that follow "expected".
  static std::string ValidForms();
  static constexpr int kMaxTaps = 7, kMaxPositions = 10;
  // "winograd F(4x4,3x3) points 0 1 -1 2 -2", "winograd F(4,7) ...", "winograd of stride 2 F(4x4,4x4) ...", "sums in
  // f16"; "" for direct sums in f32.
  std::string Name() const;
};

}  // namespace plumb

#endif  // PLUMB_NUMERICS_H_
