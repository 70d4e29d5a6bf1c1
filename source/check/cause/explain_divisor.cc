// SPDX-License-Identifier: Apache-2.0
// A cause: a divisor of few bits. Reciprocals and roots that hardware reads from a table are right to 11 to 14 bits, in
// no way that could be replayed: every row of a softmax or a norm is then off by a factor of its own, every element of
// a quotient by a relative error of its own, neither of which has a direction.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "check/cause/explainers.h"
#include "check/cause/fused.h"
#include "op/norm.h"
#include "op/softmax.h"

namespace plumb {
namespace {

constexpr double kMost = 0x1p-9, kLeast = 0x1p-20;  // of such an error
constexpr size_t kFewest = 4;                       // rows that tell one from a common factor

// Of each output element the row that shares its divisor, and what is added behind the division.
struct Divided {
  std::vector<int64_t> row;
  std::vector<double> added;
  size_t rows = 0;
  bool elementwise() const { return rows == row.size(); }
};

// Rows along the axes [first, first + count) of the shape.
void RowsAlong(const Shape& shape, int first, int count, Divided* d) {
  const int64_t inner = shape.CountFrom(first + count), size = shape.CountFrom(first) / std::max<int64_t>(1, inner);
  for (int64_t i = 0; i < shape.NumElements(); ++i) d->row.push_back(i / (size * inner) * inner + i % inner);
  d->rows = static_cast<size_t>(shape.NumElements() / std::max<int64_t>(1, size));
}

// The rows of a quotient: of elements that have the same divisor.
void RowsOfQuotient(const Shape& divisor, const Shape& out, Divided* d) {
  for (int64_t i = 0; i < out.NumElements(); ++i) {
    int64_t at = 0;
    for (int axis = 0; axis < divisor.rank(); ++axis) {
      const int of = axis + out.rank() - divisor.rank();
      const int64_t place = i / out.CountFrom(of + 1) % out[of];
      at += (divisor[axis] == 1 ? 0 : place) * divisor.CountFrom(axis + 1);
    }
    d->row.push_back(at);
  }
  d->rows = static_cast<size_t>(divisor.NumElements());
}

// beta of a norm, element by element; zeros without one.
void AddBeta(const Tensor* beta, const NormShape& s, Divided* d) {
  for (size_t i = 0; i < d->row.size() && beta != nullptr; ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t gamma = at / s.n % s.groups * s.per_row + at % s.n / s.inner;
    d->added[i] = beta->NumElements() == s.gammas() ? beta->ValueAt(gamma) : 0;
  }
}

Divided DividedOf(const StepRecord& record, const BlobTable& blobs) {
  Divided d;
  const Layer& layer = record.group.first();
  const Shape& out = record.device[0].shape();
  const std::string whole = record.group.members.size() > 1 ? NameOfGroup(record.group) : "";
  const bool norm =
      layer.kind == OpKind::kLayerNorm || layer.kind == OpKind::kGroupNorm || layer.kind == OpKind::kInstBatchNormCxx;
  if (whole == "LayerNorm" || whole == "RMSNorm" || whole == "Softmax") {
    RowsAlong(out, out.rank() - 1, 1, &d);
  } else if (record.group.members.size() > 1) {
    return d;
  } else if (layer.kind == OpKind::kSoftmax) {
    const auto axis = NormalizeAxis(ParamOf<SoftmaxParam>(layer).axis, out.rank());
    if (axis.ok()) RowsAlong(out, *axis, 1, &d);
  } else if (norm) {
    const auto s = ResolveNorm(layer, out);
    if (!s.ok()) return d;
    for (int64_t i = 0; i < out.NumElements(); ++i) d.row.push_back(i / s->n);
    d.rows = static_cast<size_t>(s->rows), d.added.assign(d.row.size(), 0);
    const bool blob = layer.kind != OpKind::kInstBatchNormCxx && layer.inputs.size() > 2;
    AddBeta(blob ? &blobs.at(layer.inputs[2]).value : layer.Resource("bias"), *s, &d);
  } else if (layer.kind == OpKind::kDiv && layer.inputs.size() == 2) {
    RowsOfQuotient(blobs.at(layer.inputs[1]).shape, out, &d);
  } else if (layer.kind == OpKind::kReciprocal || layer.kind == OpKind::kRsqrt || layer.kind == OpKind::kSqrt) {
    for (int64_t i = 0; i < out.NumElements(); ++i) d.row.push_back(i);
    d.rows = d.row.size();
  }
  d.added.resize(d.row.size(), 0);
  const Layer& last = record.group.last();
  for (const std::string& input : last.inputs) {  // beta of a norm in single operators
    const Tensor& beta = blobs.at(input).value;
    if (whole.empty() || last.kind != OpKind::kAdd || beta.empty() || out.rank() == 0) continue;
    const int64_t size = out[out.rank() - 1];
    if (beta.NumElements() != size) continue;
    for (size_t i = 0; i < d.added.size(); ++i) d.added[i] = beta.ValueAt(static_cast<int64_t>(i) % size);
  }
  return d;
}

// By how much each row is off, relatively: least squares. Rows of zeros: 0.
std::vector<double> FactorsOf(const Divided& d, const Tensor& x, const Tensor& y) {
  std::vector<double> xy(d.rows, 0), yy(d.rows, 0);
  for (size_t i = 0; i < d.row.size(); ++i) {
    const auto row = static_cast<size_t>(d.row[i]), at = i;
    const double a = x.ValueAt(static_cast<int64_t>(at)) - d.added[i],
                 b = y.ValueAt(static_cast<int64_t>(at)) - d.added[i];
    if (!std::isfinite(a) || !std::isfinite(b)) return {};
    xy[row] += a * b, yy[row] += b * b;
  }
  for (size_t r = 0; r < d.rows; ++r) xy[r] = yy[r] > 0 ? xy[r] / yy[r] - 1 : 0;
  return xy;
}

// The largest of errors that are small and have no direction; 0: they are none.
double Largest(const std::vector<double>& errors) {
  constexpr double kCommon = 0.7;  // of their size: what they have in common is a factor, no noise
  double sum = 0, squares = 0, most = 0;
  for (const double e : errors) sum += e, squares += e * e, most = std::max(most, std::fabs(e));
  const auto n = static_cast<double>(errors.size());
  const bool directed = std::fabs(sum / n) > kCommon * std::sqrt(squares / n);
  const bool lone = n > 16 && squares / n < 0.01 * most * most;  // a fault of few elements
  return errors.size() < kFewest || directed || lone || most > kMost || most < kLeast ? 0 : most;
}

bool IsRounded(const Tensor& x) {
  bool half = true, brain = true;
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    const auto v = static_cast<float>(x.ValueAt(i));
    half = half && HalfToFloat(FloatToHalf(v)) == v;
    brain = brain && BFloat16ToFloat(FloatToBFloat16(v)) == v;
  }
  return half || brain;
}

}  // namespace

std::optional<Answer> ExplainAsShortDivisor(const Question& q) {
  constexpr int64_t kMaxElements = 1 << 22;
  const StepRecord& record = q.record;
  if (record.device.size() != 1 || record.device[0].dtype() != DType::kF32) return std::nullopt;
  const Tensor &x = record.device[0], &y = record.replay.values[0];
  if (x.NumElements() > kMaxElements || y.dtype() != DType::kF64 || IsRounded(x)) return std::nullopt;
  const Divided d = DividedOf(record, *q.scene.blobs);
  if (static_cast<int64_t>(d.row.size()) != x.NumElements() || d.rows < kFewest) return std::nullopt;
  const std::vector<double> factors = FactorsOf(d, x, y);
  const double most = factors.empty() ? 0 : Largest(factors);
  if (most == 0) return std::nullopt;
  ReplayResult replay = record.replay;
  const auto values = y.Clone();
  const auto tau = record.replay.tau[0].Clone();
  if (!values.ok() || !tau.ok()) return std::nullopt;
  replay.values[0] = *values, replay.tau[0] = *tau;
  for (size_t i = 0; i < d.row.size(); ++i) {
    double& v = replay.values[0].data<double>()[i];
    if (d.elementwise()) {
      double& t = replay.tau[0].data<double>()[i];
      t = std::hypot(t, 4 * most * std::fabs(v));
    } else {
      v = (v - d.added[i]) * (1 + factors[static_cast<size_t>(d.row[i])]) + d.added[i];
    }
  }
  LayerReport tried;
  if (!q.judge.JudgeOutputs(record, replay, 0, &tried).ok() || tried.verdict != Verdict::kAligned) return std::nullopt;
  const int bits = static_cast<int>(std::floor(-std::log2(most)));
  return Answer(
      fmt::format("divided by a number of {} bits (a short reciprocal or root, or a sum in few bits): {} off by "
                  "a factor of its own, up to 1 +- 2^-{}",
                  bits, d.elementwise() ? "every value is" : "every row is", bits));
}

}  // namespace plumb
