// Numerics: how a step computes, as far as its rounding errors depend on that: by which algorithm, in what it adds up,
// and in what it holds the operands of its products. Kernels declare it, and the checker judges a step by the bound of
// exactly that (doc/check.md, "The rule").
#ifndef PLUMB_NUMERICS_H_
#define PLUMB_NUMERICS_H_

#include <string>
#include <utility>
#include <vector>

#include "plumb/dtype.h"

namespace plumb {

struct Numerics {
  enum Algorithm {
    kDirect,    // sums of products as the operator is defined
    kWinograd,  // Lavin and Gray, arXiv:1509.09308
  };
  Algorithm algorithm = kDirect;
  // Of kWinograd: F(tile x tile, 3x3) with tile + 1 finite interpolation points; infinity is the last one. 0: any form
  // in use, of a runtime of which nobody knows.
  int tile = 0;
  std::vector<double> points;
  DType accumulator = DType::kF32;  // f32, or f16 or bf16: every sum is rounded so
  DType storage = DType::kF32;      // f32, or f16 or bf16: products round their operands (blobs and weights) so first

  static Numerics Winograd(int tile, std::vector<double> points) {
    return {kWinograd, tile, std::move(points), DType::kF32, DType::kF32};
  }
  // "winograd F(4x4,3x3) points 0 1 -1 2 -2", "sums in f16"; "" for direct sums in f32.
  std::string Name() const;
};

}  // namespace plumb

#endif  // PLUMB_NUMERICS_H_
