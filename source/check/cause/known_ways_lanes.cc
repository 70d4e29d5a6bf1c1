// SPDX-License-Identifier: Apache-2.0
// Proposals for means and norms over other lanes than the row has: whole vectors alone, or a row that is padded to
// whole vectors.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "check/cause/known_ways_util.h"
#include "op/norm.h"
#include "op/reduce.h"

namespace plumb {
namespace {

struct Lanes {
  int64_t read;          // from the first on
  double mean, squares;  // what the sums are divided by
  double zeros;          // whose distance from the mean is squared, too
  std::string computed;
};

// Of a row of n: what vectors of 4 to 64 lanes, or a row padded to a power of 2, may make of it.
std::vector<Lanes> OtherLanes(int64_t n) {
  std::set<int64_t> below, above;
  int64_t power = 1;
  while (power < n) power *= 2;
  if (power > n) above.insert(power);
  for (const int64_t width : {4, 8, 16, 32, 64}) {
    const int64_t rest = n % width;
    if (rest == 0) continue;
    above.insert(n - rest + width);
    if (n > rest) below.insert(n - rest);
  }
  std::vector<Lanes> lanes;
  const auto own = static_cast<double>(n);
  for (const int64_t m : below) {
    const auto few = static_cast<double>(m);
    lanes.push_back({m, few, few, 0, fmt::format("over the first {} of {} lanes", m, n)});
    lanes.push_back({m, own, own, 0, fmt::format("over the first {} of {} lanes, divided by {}", m, n, n)});
  }
  for (const int64_t m : above) {
    const auto many = static_cast<double>(m), rest = many - own;
    lanes.push_back({n, many, many, 0, fmt::format("divided by {} lanes, padding included", m)});
    lanes.push_back({n, own, own, rest, fmt::format("with {} padded lanes in its variance ({} in all)", m - n, m)});
    lanes.push_back({n, many, many, rest, fmt::format("over {} lanes, of which {} are padding", m, m - n)});
  }
  return lanes;
}

struct RowNorm {
  double epsilon;
  std::function<double(int64_t)> gamma, beta;  // of a lane
};

void NormOfLanes(const RowNorm& norm, const Lanes& lanes, int64_t n, const Tensor& input, Tensor* values, Tensor* tau) {
  for (int64_t row = 0; row < input.NumElements() / n; ++row) {
    const double* x = input.data<double>() + row * n;
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < lanes.read; ++i) mean += x[i] / lanes.mean;
    for (int64_t i = 0; i < lanes.read; ++i) squares += std::pow(x[i] - mean, 2);
    const double root = std::sqrt((squares + lanes.zeros * mean * mean) / lanes.squares + norm.epsilon);
    for (int64_t i = 0; i < n; ++i) {
      const double gamma = norm.gamma(i), beta = norm.beta(i), scaled = gamma * (x[i] - mean) / root;
      values->data<double>()[row * n + i] = scaled + beta;
      const double largest = std::fabs(scaled) + std::fabs(beta) + std::fabs(gamma * x[i] / root);
      if (tau != nullptr) tau->data<double>()[row * n + i] = 32 * 0x1p-24 * largest;
    }
  }
}

std::function<double(int64_t)> OfLane(const Tensor* values, double absent) {
  if (values == nullptr) return [absent](int64_t) { return absent; };
  return [known = *values](int64_t i) { return known.ValueAt(i % known.NumElements()); };
}

void NormOverOtherLanes(const ProposalContext& c, Proposals* proposals) {
  const auto& param = ParamOf<LayerNormParam>(c.layer);
  const Tensor *gamma = c.value(1), *beta = c.value(2);
  if ((c.layer.inputs.size() > 1 && gamma == nullptr) || (c.layer.inputs.size() > 2 && beta == nullptr)) return;
  const int64_t n = c.input.CountFrom(c.input.rank() - param.reduce_dims_size);
  const RowNorm norm{static_cast<double>(param.eps), OfLane(gamma, 1), OfLane(beta, 0)};
  for (const Lanes& lanes : OtherLanes(n)) {
    proposals->push_back(OfItsInput(
        c, lanes.computed, fmt::format("{}", n), "lanes",
        [=](const Tensor& input, Tensor* values, Tensor* tau) { NormOfLanes(norm, lanes, n, input, values, tau); }));
  }
}

// Of the last axes alone, which lie side by side.
void MeanOverOtherLanes(const ProposalContext& c, Proposals* proposals) {
  const auto reduced = ReducedDims(ParamOf<ReduceParam>(c.layer), c.input.rank());
  if (!reduced.ok()) return;
  int first = c.input.rank();
  while (first > 0 && (*reduced)[static_cast<size_t>(first) - 1]) --first;
  const int64_t n = c.input.CountFrom(first), rows = c.input.NumElements() / std::max<int64_t>(1, n);
  if (n < 2 || c.blobs.at(c.layer.outputs[0]).shape.NumElements() != rows) return;
  for (const Lanes& lanes : OtherLanes(n)) {
    if (lanes.zeros > 0) continue;  // zeros add nothing
    const auto mean = [=](const Tensor& input, Tensor* values, Tensor* tau) {
      for (int64_t row = 0; row < rows; ++row) {
        const double* x = input.data<double>() + row * n;
        double sum = 0, size = 0;
        for (int64_t i = 0; i < lanes.read; ++i) sum += x[i], size += std::fabs(x[i]);
        values->data<double>()[row] = sum / lanes.mean;
        if (tau != nullptr) tau->data<double>()[row] = 32 * 0x1p-24 * size / lanes.mean;
      }
    };
    proposals->push_back(OfItsInput(c, lanes.computed, fmt::format("{}", n), "lanes", mean));
  }
}

}  // namespace

void ProposeForLanes(const ProposalContext& context, Proposals* proposals) {
  if (context.layer.kind == OpKind::kLayerNorm) NormOverOtherLanes(context, proposals);
  if (context.layer.kind == OpKind::kReduceMean) MeanOverOtherLanes(context, proposals);
}

}  // namespace plumb
