#include "check/metrics.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/threads.h"

namespace plumb {
namespace {

// Sums of one piece; pieces are joined in order, so the result does not depend on timing.
struct Sums {
  double dot = 0, aa = 0, bb = 0, dd = 0;
  DiffMetrics m;
};

double UlpOf(double b) {
  const float f = static_cast<float>(std::fabs(b));
  if (!std::isfinite(f)) return 0;
  return static_cast<double>(std::nextafter(std::max(f, 0x1p-126f), INFINITY)) - static_cast<double>(std::max(f, 0x1p-126f));
}

void AddNonFinite(double a, double b, Sums* s, int64_t i) {
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
void Piece(const A* a, const B* b, int64_t begin, int64_t end, Sums* s) {
  for (int64_t i = begin; i < end; ++i) {
    const double x = static_cast<double>(a[i]);
    const double y = static_cast<double>(b[i]);
    const double d = x - y;
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

void Join(const Sums& from, Sums* to) {
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

template <class A, class B>
DiffMetrics Compare(const A* a, const B* b, int64_t count) {
  constexpr int64_t kPiece = 1 << 16;  // fixed, so that the sums do not depend on the thread count
  std::vector<Sums> pieces(static_cast<size_t>((count + kPiece - 1) / kPiece));
  ParallelFor(static_cast<int64_t>(pieces.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) Piece(a, b, p * kPiece, std::min(count, (p + 1) * kPiece), &pieces[static_cast<size_t>(p)]);
  });
  Sums total;
  for (const Sums& piece : pieces) Join(piece, &total);
  DiffMetrics m = total.m;
  m.count = count;
  const double norm = std::sqrt(total.aa) * std::sqrt(total.bb);
  m.cosine = norm > 0 ? std::min(1.0, total.dot / norm) : (total.aa == total.bb ? 1.0 : 0.0);
  m.snr_db = total.dd == 0 ? INFINITY : total.bb == 0 ? -INFINITY : 10 * std::log10(total.bb / total.dd);
  return m;
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

}  // namespace plumb
