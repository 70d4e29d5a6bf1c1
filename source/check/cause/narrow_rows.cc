// SPDX-License-Identifier: Apache-2.0
#include "check/cause/narrow_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/half.h"
#include "check/cause/accumulator.h"
#include "op/norm.h"
#include "op/softmax.h"

namespace plumb {
namespace {

constexpr int64_t kRows = 24, kElements = 1 << 15;  // of the sample
constexpr size_t kFewestNarrow = 4, kMany = 8;      // rows: a lone one is explained by chance
constexpr double kCollapsedRow = 0.25,
                 kOfFew = 0.0625;  // of the difference: what another order leaves is about all of it

struct Row {
  std::vector<float> x, gamma, beta;  // of every element; a softmax has neither of the last two
  std::vector<int64_t> at;            // in the output
  double eps = 0;
};

struct RowWay {
  SumWay sum;
  bool one_pass = false;     // E[x^2] - mean^2
  bool only_second = false;  // the mean in f32
};

std::vector<int64_t> SomeOf(int64_t rows, int64_t size) {
  const int64_t count = std::min({rows, kRows, kElements / std::max<int64_t>(1, size)});
  std::vector<int64_t> some;
  for (int64_t i = 0; i < count; ++i) some.push_back(i * rows / count);
  return some;
}

std::vector<Row> SoftmaxRows(const Layer& layer, const Tensor& x) {
  std::vector<Row> rows;
  const auto axis = NormalizeAxis(ParamOf<SoftmaxParam>(layer).axis, x.shape().rank());
  if (!axis.ok() || x.NumElements() == 0) return rows;
  const int64_t size = x.shape()[*axis], inner = x.shape().CountFrom(*axis + 1);
  for (const int64_t r : SomeOf(x.NumElements() / size, size)) {
    Row row;
    for (int64_t i = 0; i < size; ++i) {
      row.at.push_back(r / inner * size * inner + i * inner + r % inner);
      row.x.push_back(static_cast<float>(x.ValueAt(row.at.back())));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Row> NormRows(const ReplayedStep& step, const Layer& layer, const Tensor& x) {
  std::vector<Row> rows;
  const auto shape = ResolveNorm(layer, x.shape());
  if (!shape.ok() || x.NumElements() == 0) return rows;
  const NormShape& s = *shape;
  const auto coefficients = [&](size_t slot, const char* resource) -> const Tensor* {
    if (layer.kind == OpKind::kInstBatchNormCxx) return layer.Resource(resource);
    if (layer.inputs.size() <= slot) return nullptr;
    return &step.blobs.at(layer.inputs[slot]).value;
  };
  const Tensor *gamma = coefficients(1, "scale"), *beta = coefficients(2, "bias");
  for (const Tensor* each : {gamma, beta}) {
    if (each != nullptr && each->NumElements() != s.gammas()) return rows;  // made by another layer
  }
  for (const int64_t r : SomeOf(s.rows, s.n)) {
    Row row;
    row.eps = s.eps;
    for (int64_t i = 0; i < s.n; ++i) {
      const int64_t k = r % s.groups * s.per_row + i / s.inner;
      row.at.push_back(r * s.n + i);
      row.x.push_back(static_cast<float>(x.ValueAt(row.at.back())));
      row.gamma.push_back(gamma == nullptr ? 1 : static_cast<float>(gamma->ValueAt(k)));
      row.beta.push_back(beta == nullptr ? 0 : static_cast<float>(beta->ValueAt(k)));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

SampleSum Terms(std::vector<float> x, double divisor = 1) {
  SampleSum sum;
  sum.w.assign(x.size(), 1);
  sum.x = std::move(x);
  sum.divisor = divisor;
  return sum;
}

std::vector<double> Softmax(const Row& row, const RowWay& way) {
  const float largest = *std::max_element(row.x.begin(), row.x.end());
  std::vector<float> terms;
  terms.reserve(row.x.size());
  for (const float x : row.x) terms.push_back(std::exp(x - largest));
  const SampleSum sum = Terms(terms);
  const auto total = static_cast<double>(Accumulate(sum, way.sum));
  std::vector<double> y;
  for (const float term : sum.x) y.push_back(static_cast<double>(term) / total);
  return y;
}

std::vector<double> Norm(const Row& row, const RowWay& way) {
  const auto n = static_cast<double>(row.x.size());
  double mean = 0;
  for (const float x : row.x) mean += static_cast<double>(x) / n;
  if (!way.only_second) mean = static_cast<double>(Accumulate(Terms(row.x, n), way.sum));
  std::vector<float> squares;
  squares.reserve(row.x.size());
  for (const float x : row.x) {
    const double from = way.one_pass ? 0 : mean;
    squares.push_back(static_cast<float>((static_cast<double>(x) - from) * (static_cast<double>(x) - from)));
  }
  double variance = static_cast<double>(Accumulate(Terms(std::move(squares), n), way.sum));
  if (way.one_pass) variance = std::max(0.0, variance - mean * mean);
  const double inverse = 1 / std::sqrt(variance + row.eps);
  std::vector<double> y;
  for (size_t i = 0; i < row.x.size(); ++i) {
    y.push_back((static_cast<double>(row.x[i]) - mean) * inverse * static_cast<double>(row.gamma[i]) +
                static_cast<double>(row.beta[i]));
  }
  return y;
}

std::vector<RowWay> RowWays(const Row& row) {
  std::vector<RowWay> ways;
  for (const bool one_pass : {false, true}) {
    for (const bool only_second : {false, true}) {
      if ((one_pass || only_second) && row.gamma.empty()) continue;
      for (const SumWay& sum : WaysOf(Terms(row.x))) {
        if (!sum.bias_first) ways.push_back({sum, one_pass, only_second});  // there is no bias
      }
    }
  }
  return ways;
}

std::string InWords(const RowWay& way, const Row& row) {
  const std::string what = row.gamma.empty() ? "the sums of its rows "
                           : way.only_second ? "the variances of its rows "
                                             : "the means and variances of its rows ";
  return fmt::format("with {}{}{}", what, Describe(way.sum, Terms(row.x)),
                     way.one_pass ? ", the variance as the mean of squares less the square of the mean" : "");
}

// Squares of what the way leaves of the difference; those of f16 or bf16 results where the device's all are.
double LeftBy(const RowWay& way, const std::vector<Row>& rows, const Tensor& device, bool rounded, double enough) {
  double left = 0;
  for (size_t r = 0; r < rows.size() && left < enough; ++r) {
    const std::vector<double> y = rows[r].gamma.empty() ? Softmax(rows[r], way) : Norm(rows[r], way);
    for (size_t i = 0; i < y.size(); ++i) {
      const double is = rounded ? static_cast<double>(RoundedBy(way.sum, static_cast<float>(y[i]))) : y[i];
      const double off = device.ValueAt(rows[r].at[i]) - is;
      left += off * off;
    }
  }
  return left;
}

}  // namespace

std::string NameNarrowRows(const ReplayedStep& step) {
  if (step.group.members.size() != 1 || step.device.size() != 1 || step.device[0].dtype() != DType::kF32) return "";
  const Layer& layer = step.group.first();
  const bool norm =
      layer.kind == OpKind::kLayerNorm || layer.kind == OpKind::kGroupNorm || layer.kind == OpKind::kInstBatchNormCxx;
  if (!norm && layer.kind != OpKind::kSoftmax) return "";
  const Tensor &device = step.device[0], &says = step.replay.values[0];
  const std::vector<Row> rows = norm ? NormRows(step, layer, step.inputs[0]) : SoftmaxRows(layer, step.inputs[0]);
  if (rows.size() < kFewestNarrow) return "";
  double own = 0;
  bool half = true, brain = true;
  for (const Row& row : rows) {
    for (const int64_t at : row.at) {
      const double x = device.ValueAt(at), y = says.ValueAt(at);
      own += (x - y) * (x - y);
      const auto value = static_cast<float>(x);
      half = half && HalfToFloat(FloatToHalf(value)) == value;
      brain = brain && BFloat16ToFloat(FloatToBFloat16(value)) == value;
    }
  }
  const double collapsed = rows.size() >= kMany ? kCollapsedRow : kOfFew;
  double least = collapsed * collapsed * own;
  std::string best;
  for (const RowWay& way : RowWays(rows[0])) {
    const double left = LeftBy(way, rows, device, way.sum.half ? half : brain, least);
    if (!(left < least)) continue;
    least = left;
    best = InWords(way, rows[0]);
  }
  return best;
}

}  // namespace plumb
