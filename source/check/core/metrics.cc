// SPDX-License-Identifier: Apache-2.0
// Tensors are compared in pieces of fixed size, on all threads; pieces are joined in order, so that no sum depends on
// the thread count. Within a piece floats go by blocks through a vector loop that sums and finds the block's largest
// errors; a block is looked at again only for the position of a new largest error, and when it holds NaN or infinities.
#include "check/core/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/threads.h"
#include "check/core/simd_f64.h"

namespace plumb {
namespace {

constexpr int64_t kMetricsPiece = 1 << 14;  // three pieces of f64 stay in L2
constexpr int64_t kBlock = 512;
constexpr double kMinNormal = 0x1p-126;

// Sums of one piece.
struct PieceSums {
  double dot = 0, aa = 0, bb = 0, dd = 0;
  DiffMetrics m;
};

// The vector loop's running sums, and the peaks of the latest block.
struct LaneSums {
  double dot[lanes::kLanes] = {}, aa[lanes::kLanes] = {}, bb[lanes::kLanes] = {}, dd[lanes::kLanes] = {};
};
struct Peaks {
  double max_abs = 0, max_rel = 0, max_ulp = 0;
};

// Distance in units in the last place of b in f32 is |a - b| * 2^(23 - exponent of b): a multiplication.
template <class B, int kWidth>
PLUMB_LANES_INLINE lanes::Lanes<kWidth> UlpsPerUnit(lanes::Lanes<kWidth> magnitude) {
  using R = lanes::Register<kWidth>;
  using V = typename R::Type;
  using Bits = typename R::Bits;
  if constexpr (!std::is_same_v<B, float>) {
    magnitude = lanes::Min(lanes::Rounded(magnitude), lanes::Lanes<kWidth>::All(std::numeric_limits<float>::max()));
  }
  magnitude = lanes::Max(magnitude, lanes::Lanes<kWidth>::All(kMinNormal));
  for (V& v : magnitude.v) {
    const Bits exponent = reinterpret_cast<Bits>(v) & (uint64_t{0x7FF} << 52);
    v = reinterpret_cast<V>((uint64_t{2 * 1023 + 23} << 52) - exponent);
  }
  return magnitude;
}

// REQUIRES: count is a multiple of eight.
template <int kWidth, class A, class B>
PLUMB_LANES_INLINE void SumBlock(const A* a, const B* b, int64_t count, LaneSums* sums, Peaks* peaks) {
  using L = lanes::Lanes<kWidth>;
  L dot = L::Load(sums->dot), aa = L::Load(sums->aa), bb = L::Load(sums->bb), dd = L::Load(sums->dd);
  L max_abs = L::All(0), max_rel = L::All(0), max_ulp = L::All(0);
  for (int64_t i = 0; i < count; i += lanes::kLanes) {
    const L x = L::Load(a + i), y = L::Load(b + i);
    const L d = x - y;
    if constexpr (std::is_same_v<A, float> && std::is_same_v<B, float>) {
      dot = AddExact(dot, x, y);
      aa = AddExact(aa, x, x);
      bb = AddExact(bb, y, y);
    } else {
      dot = dot + x * y;
      aa = aa + x * x;
      bb = bb + y * y;
    }
    dd = dd + d * d;
    const L distance = Abs(d), magnitude = Abs(y);
    max_abs = Max(distance, max_abs);
    max_ulp = Max(distance * UlpsPerUnit<B>(magnitude), max_ulp);
    max_rel = Max(WhereNotZero(magnitude, distance / magnitude), max_rel);
  }
  dot.Store(sums->dot);
  aa.Store(sums->aa);
  bb.Store(sums->bb);
  dd.Store(sums->dd);
  double lane[lanes::kLanes];
  max_abs.Store(lane);
  peaks->max_abs = lanes::MaxOf(lane);
  max_ulp.Store(lane);
  peaks->max_ulp = lanes::MaxOf(lane);
  max_rel.Store(lane);
  peaks->max_rel = lanes::MaxOf(lane);
}

#define PLUMB_METRICS_SET(set, attribute, width)                                            \
  namespace set {                                                                           \
  template <class A, class B>                                                               \
  attribute void Sum(const A* a, const B* b, int64_t count, LaneSums* sums, Peaks* peaks) { \
    SumBlock<width>(a, b, count, sums, peaks);                                              \
  }                                                                                         \
  }
PLUMB_FOR_EACH_ISA(PLUMB_METRICS_SET)

double UlpOf(double b) {
  const float f = std::max(static_cast<float>(std::min(std::fabs(b), 0x1.fffffep127)), 0x1p-126f);
  return std::ldexp(1.0, std::ilogb(f) - 23);
}

void AddNonFinite(double a, double b, PieceSums* s, int64_t i) {
  s->m.nan_a += std::isnan(a);
  s->m.inf_a += std::isinf(a);
  s->m.nan_b += std::isnan(b);
  s->m.inf_b += std::isinf(b);
  const bool same = (std::isnan(a) && std::isnan(b)) || a == b;
  if (same) return;
  if (s->m.max_abs < INFINITY) {
    s->m.max_abs = s->m.max_rel = INFINITY;
    s->m.worst = i;
    s->m.worst_a = a;
    s->m.worst_b = b;
  }
  s->dd = INFINITY;
}

template <class A, class B>
double Difference(A a, B b) {
  return static_cast<double>(a) - static_cast<double>(b);
}
double Difference(int64_t a, int64_t b) {
  return static_cast<double>(static_cast<__int128>(a) - static_cast<__int128>(b));
}

// Elements [begin, end), one by one.
template <class A, class B>
void AddElements(const A* a, const B* b, int64_t begin, int64_t end, PieceSums* s) {
  for (int64_t i = begin; i < end; ++i) {
    const double x = static_cast<double>(a[i]);
    const double y = static_cast<double>(b[i]);
    const double d = Difference(a[i], b[i]);
    if (!std::isfinite(d)) {
      AddNonFinite(x, y, s, i);
      continue;
    }
    s->dot += x * y;
    s->aa += x * x;
    s->bb += y * y;
    s->dd += d * d;
    const double distance = std::fabs(d);
    if (distance > s->m.max_abs) {
      s->m.max_abs = distance;
      s->m.worst = i;
      s->m.worst_a = x;
      s->m.worst_b = y;
    }
    if (distance > 0) {
      const double magnitude = std::fabs(y);
      if (magnitude > 0) s->m.max_rel = std::max(s->m.max_rel, distance / magnitude);
      s->m.max_ulp = std::max(s->m.max_ulp, distance / UlpOf(y));
    }
  }
}

// The maxima of a block of finite values.
template <class A, class B>
void TakePeaks(const A* a, const B* b, int64_t begin, int64_t end, const Peaks& peaks, DiffMetrics* m) {
  if (peaks.max_abs > m->max_abs) {
    m->max_abs = peaks.max_abs;
    for (m->worst = begin;
         std::fabs(static_cast<double>(a[m->worst]) - static_cast<double>(b[m->worst])) != peaks.max_abs;)
      ++m->worst;
    m->worst_a = static_cast<double>(a[m->worst]);
    m->worst_b = static_cast<double>(b[m->worst]);
  }
  m->max_rel = std::max(m->max_rel, peaks.max_rel);
  m->max_ulp = std::max(m->max_ulp, peaks.max_ulp);
}

void AddPiece(const int64_t* a, const int64_t* b, int64_t begin, int64_t end, PieceSums* s) {
  AddElements(a, b, begin, end, s);
}

template <class A, class B>
void AddPiece(const A* a, const B* b, int64_t begin, int64_t end, PieceSums* s) {
  const auto sum = PLUMB_BEST_ISA(Sum<A, B>);
  LaneSums sums;
  for (int64_t i = begin; i < end; i += kBlock) {
    const int64_t stop = std::min(i + kBlock, end);
    const int64_t vectors = (stop - i) / lanes::kLanes * lanes::kLanes;
    const LaneSums before = sums;
    Peaks peaks;
    sum(a + i, b + i, vectors, &sums, &peaks);
    if (std::isfinite(lanes::SumOf(sums.dd))) {
      TakePeaks(a, b, i, i + vectors, peaks, &s->m);
      AddElements(a, b, i + vectors, stop, s);
    } else {
      sums = before;
      AddElements(a, b, i, stop, s);
    }
  }
  s->dot += lanes::SumOf(sums.dot);
  s->aa += lanes::SumOf(sums.aa);
  s->bb += lanes::SumOf(sums.bb);
  s->dd += lanes::SumOf(sums.dd);
}

void Join(const PieceSums& from, PieceSums* to) {
  to->dot += from.dot;
  to->aa += from.aa;
  to->bb += from.bb;
  to->dd += from.dd;
  if (from.m.max_abs > to->m.max_abs) {
    to->m.max_abs = from.m.max_abs;
    to->m.worst = from.m.worst;
    to->m.worst_a = from.m.worst_a;
    to->m.worst_b = from.m.worst_b;
  }
  to->m.max_rel = std::max(to->m.max_rel, from.m.max_rel);
  to->m.max_ulp = std::max(to->m.max_ulp, from.m.max_ulp);
  to->m.nan_a += from.m.nan_a;
  to->m.inf_a += from.m.inf_a;
  to->m.nan_b += from.m.nan_b;
  to->m.inf_b += from.m.inf_b;
}

DiffMetrics Finish(const PieceSums* pieces, size_t num_pieces, int64_t count) {
  PieceSums total;
  for (size_t p = 0; p < num_pieces; ++p) Join(pieces[p], &total);
  DiffMetrics m = total.m;
  m.count = count;
  const double norm = std::sqrt(total.aa) * std::sqrt(total.bb);
  m.cosine = norm > 0 ? std::min(1.0, total.dot / norm) : (total.aa == total.bb ? 1.0 : 0.0);
  m.snr_db = total.dd == 0 ? INFINITY : total.bb == 0 ? -INFINITY : 10 * std::log10(total.bb / total.dd);
  return m;
}

// Calls one(piece, begin, end) for each piece of [0, count).
template <class F>
void ForEachPiece(int64_t count, F one) {
  ParallelFor((count + kMetricsPiece - 1) / kMetricsPiece, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p)
      one(static_cast<size_t>(p), p * kMetricsPiece, std::min(count, (p + 1) * kMetricsPiece));
  });
}

size_t NumPieces(int64_t count) { return static_cast<size_t>((count + kMetricsPiece - 1) / kMetricsPiece); }

template <class A, class B>
DiffMetrics Compare(const A* a, const B* b, int64_t count) {
  std::vector<PieceSums> pieces(NumPieces(count));
  ForEachPiece(count, [&](size_t p, int64_t begin, int64_t end) { AddPiece(a, b, begin, end, &pieces[p]); });
  return Finish(pieces.data(), pieces.size(), count);
}

}  // namespace

DiffMetrics CompareTensors(const Tensor& a, const Tensor& b) {
  const int64_t count = a.NumElements();
  if (a.dtype() == DType::kF32 && b.dtype() == DType::kF32) return Compare(a.data<float>(), b.data<float>(), count);
  if (a.dtype() == DType::kF32 && b.dtype() == DType::kF64) return Compare(a.data<float>(), b.data<double>(), count);
  if (a.dtype() == DType::kF64 && b.dtype() == DType::kF64) return Compare(a.data<double>(), b.data<double>(), count);
  if (a.dtype() == DType::kI64 && b.dtype() == DType::kI64) return Compare(a.data<int64_t>(), b.data<int64_t>(), count);
  const auto wide_a = a.ConvertedTo(DType::kF64);
  const auto wide_b = b.ConvertedTo(DType::kF64);
  if (!wide_a.ok() || !wide_b.ok()) return {};
  return Compare(wide_a->data<double>(), wide_b->data<double>(), count);
}

double LargestMagnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const double magnitude = std::fabs(tensor.ValueAt(i));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

double RelativeDifference(const DiffMetrics& difference, const Tensor& b) {
  return difference.max_abs == 0 ? 0 : difference.max_abs / LargestMagnitude(b);
}

namespace {

double FiniteDifference(int64_t a, int64_t b) { return Difference(a, b); }
double FiniteDifference(double a, double b) { return std::isfinite(a) && std::isfinite(b) ? a - b : 0; }

template <class T>
DifferenceSums AddDifferences(const T* a, const T* b, int64_t count) {
  constexpr int64_t kSums = 8;  // so that one addition need not wait for the one before
  double sum[kSums] = {}, sum_abs[kSums] = {};
  for (int64_t i = 0; i < count; ++i) {
    const double difference = FiniteDifference(a[i], b[i]);
    sum[i % kSums] += difference;
    sum_abs[i % kSums] += std::fabs(difference);
  }
  return {std::accumulate(sum, sum + kSums, 0.0), std::accumulate(sum_abs, sum_abs + kSums, 0.0)};
}

}  // namespace

DifferenceSums SumDifferences(const Tensor& a, const Tensor& b) {
  const int64_t count = a.NumElements();
  if (a.dtype() == DType::kF32) return AddDifferences(a.data<float>(), b.data<float>(), count);
  if (a.dtype() == DType::kF64) return AddDifferences(a.data<double>(), b.data<double>(), count);
  return AddDifferences(a.data<int64_t>(), b.data<int64_t>(), count);
}

Differences CompareThree(const Tensor& device, const Tensor& replay, const Tensor& own) {
  if (device.dtype() != DType::kF32 || replay.dtype() != DType::kF64 || own.dtype() != DType::kF64) {
    return {CompareTensors(device, replay), CompareTensors(replay, own), CompareTensors(device, own)};
  }
  const int64_t count = device.NumElements();
  std::vector<PieceSums> introduced(NumPieces(count)), inherited(NumPieces(count)), total(NumPieces(count));
  ForEachPiece(count, [&](size_t p, int64_t begin, int64_t end) {
    AddPiece(device.data<float>(), replay.data<double>(), begin, end, &introduced[p]);
    AddPiece(replay.data<double>(), own.data<double>(), begin, end, &inherited[p]);
    AddPiece(device.data<float>(), own.data<double>(), begin, end, &total[p]);
  });
  return {Finish(introduced.data(), introduced.size(), count), Finish(inherited.data(), inherited.size(), count),
          Finish(total.data(), total.size(), count)};
}

}  // namespace plumb
