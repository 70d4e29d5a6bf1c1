// SPDX-License-Identifier: Apache-2.0
// Tensors are taken in pieces of fixed size on all threads, so that a fingerprint does not depend on the thread count.
#include "check/core/inspect.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/threads.h"
#include "check/core/simd_f64.h"

namespace plumb {
namespace {

constexpr int64_t kInspectPiece = 1 << 14;  // elements
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;

// Multiply-mix over 8-byte words in four lanes.
uint64_t HashBytes(const unsigned char* bytes, size_t size) {
  uint64_t lanes[4] = {1, 2, 3, 4};
  size_t i = 0;
  for (; i + 32 <= size; i += 32) {
    uint64_t words[4];
    std::memcpy(words, bytes + i, 32);
    for (int lane = 0; lane < 4; ++lane) lanes[lane] = (lanes[lane] ^ words[lane]) * kMultiplier;
  }
  for (; i < size; ++i) lanes[0] = (lanes[0] ^ bytes[i]) * kMultiplier;
  return lanes[0] ^ (lanes[1] << 1) ^ (lanes[2] << 2) ^ (lanes[3] << 3) ^ (lanes[0] >> 29);
}

// dst = src; false when a value is NaN or infinite. REQUIRES: count is a multiple of eight.
template <int kWidth>
PLUMB_LANES_INLINE bool WidenLanes(const float* src, int64_t count, double* dst) {
  using L = lanes::Lanes<kWidth>;
  const L zero = L::All(0);
  L check = zero;  // x * 0 is NaN when x is not finite
  for (int64_t i = 0; i < count; i += lanes::kLanes) {
    const L x = L::Load(src + i);
    x.Store(dst + i);
    check = check + x * zero;
  }
  double lane[lanes::kLanes];
  check.Store(lane);
  return lanes::SumOf(lane) == 0;
}

#define PLUMB_INSPECT_SET(set, attribute, width)                                                                    \
  namespace set {                                                                                                   \
  attribute bool Widen(const float* src, int64_t count, double* dst) { return WidenLanes<width>(src, count, dst); } \
  }
PLUMB_FOR_EACH_ISA(PLUMB_INSPECT_SET)

bool WidenRun(const float* src, int64_t count, double* dst) {
  const int64_t vectors = count / lanes::kLanes * lanes::kLanes;
  bool finite = PLUMB_BEST_ISA(Widen)(src, vectors, dst);
  for (int64_t i = vectors; i < count; ++i) {
    dst[i] = static_cast<double>(src[i]);
    finite = finite && dst[i] * 0 == 0;
  }
  return finite;
}

struct Piece {
  uint64_t hash = 0;
  bool finite = true;
};

// Calls one(piece number, first element, end) for every piece, and joins what it returns.
template <class F>
Piece Sweep(int64_t count, F one) {
  std::vector<Piece> pieces(static_cast<size_t>((count + kInspectPiece - 1) / kInspectPiece));
  ParallelFor(static_cast<int64_t>(pieces.size()), 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p)
      pieces[static_cast<size_t>(p)] = one(p * kInspectPiece, std::min(count, (p + 1) * kInspectPiece));
  });
  Piece whole;
  for (const Piece& piece : pieces) {
    whole.hash = (whole.hash ^ piece.hash) * kMultiplier + 1;
    whole.finite = whole.finite && piece.finite;
  }
  return whole;
}

uint64_t HashRun(const Tensor& tensor, int64_t begin, int64_t end) {
  const size_t size = DTypeSize(tensor.dtype());
  return HashBytes(static_cast<const unsigned char*>(tensor.raw()) + static_cast<size_t>(begin) * size,
                   static_cast<size_t>(end - begin) * size);
}

}  // namespace

uint64_t Fingerprint(const Tensor& tensor) {
  return Sweep(tensor.NumElements(),
               [&](int64_t begin, int64_t end) {
                 return Piece{HashRun(tensor, begin, end), true};
               })
      .hash;
}

Result<Inspected> Inspect(const Tensor& tensor) {
  Inspected result;
  result.wide = tensor;
  if (tensor.dtype() != DType::kF32) {
    result.fingerprint = Fingerprint(tensor);
    return result;
  }
  PLUMB_ASSIGN_OR_RETURN(result.wide, Tensor::Create(DType::kF64, tensor.shape()));
  const float* src = tensor.data<float>();
  double* dst = result.wide.data<double>();
  const Piece whole = Sweep(tensor.NumElements(), [&](int64_t begin, int64_t end) {
    Piece piece;
    piece.hash = HashRun(tensor, begin, end);
    piece.finite = WidenRun(src + begin, end - begin, dst + begin);
    return piece;
  });
  result.finite = whole.finite;
  result.fingerprint = whole.hash;
  return result;
}

Result<Tensor> Widened(const Tensor& tensor) {
  return tensor.dtype() == DType::kF32 ? tensor.ConvertedTo(DType::kF64) : Result<Tensor>(tensor);
}

}  // namespace plumb
