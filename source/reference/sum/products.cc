// SPDX-License-Identifier: Apache-2.0
#include "reference/sum/products.h"

#include <algorithm>
#include <numeric>

#include "reference/sum/tiles.h"

namespace plumb::reference {
namespace {

// Buffers of the bound's costly parts, one each per image that wants a tau.
struct SideArrays {
  std::vector<std::vector<double>> extra, turns, added, drift;
};

// Accumulators that take turns, of vector kernels: what 8 or 2 of them hold is not much larger.
constexpr int64_t kTurns[] = {4, 16};

bool OrdersDiffer(const SumGeometry& g) { return g.in_channels > g.groups && g.kernel_size() > 1; }

void RunPass(const SumKernels& kernels, const SumPass& pass) {
  const SumGeometry& g = *pass.geometry;
  const bool depthwise = g.in_channels == g.groups && g.out_channels <= 2 * g.groups;
  if (IsDense(pass)) {
    SumDense(kernels, pass);
  } else if (depthwise && (pass.sink == SumSink::kValues || pass.sink == SumSink::kVariance)) {
    SumDepthwise(kernels, pass);
  } else {
    SumByTiles(kernels, pass);
  }
}

// Sources of the images that `wants` says; null for the others.
template <class Wants>
std::vector<ConstReals> SourcesSumOfProducts(const std::vector<SumWork>& work, Wants wants) {
  std::vector<ConstReals> sources;
  for (const SumWork& w : work) sources.push_back(wants(w));
  return sources;
}

ConstReals InputIfBounded(const SumWork& w) { return w.image.tau != nullptr ? w.image.input : ConstReals(); }
ConstReals InputTauIfBounded(const SumWork& w) {
  return w.image.tau != nullptr && w.image.input_tau != nullptr ? ConstReals(w.image.input_tau) : ConstReals();
}

// sum (w tau_x)^2 + sum (tau_w x)^2, first order.
void AddInputUncertainty(const SumKernels& kernels, const std::vector<SumWork>& work, SumPass pass) {
  pass.sink = SumSink::kVariance;
  pass.square = true;
  pass.weight = pass.operands->weight;
  pass.sources = SourcesSumOfProducts(work, InputTauIfBounded);
  RunPass(kernels, pass);
  if (pass.operands->weight_tau == nullptr) return;
  pass.weight = pass.operands->weight_tau;
  pass.sources = SourcesSumOfProducts(work, InputIfBounded);
  RunPass(kernels, pass);
}

// (8 * 1.5 d)^2
void AddDrift(const std::vector<SumWork>& work, size_t size) {
  for (const SumWork& w : work) {
    for (size_t i = 0; w.drift != nullptr && i < size; ++i) w.added[i] += 144 * w.drift[i] * w.drift[i];
  }
}

// The sums of squares that accumulators hold count in the output channels where neighbouring terms cancel: there they
// are far larger. Elsewhere they are another draw of the same, and the largest of several would only widen the bound.
// Few pixels may be so by chance: then all channels are looked at together.
void AddTurns(const SumGeometry& g, const std::vector<double>& turns, double* extra) {
  constexpr double kCancelling = 8;
  constexpr int64_t kFew = 16;
  const int64_t size = g.out_channels * g.out_pixels(), length = g.out_pixels() < kFew ? size : g.out_pixels();
  for (int64_t at = 0; at < size; at += length) {
    const double* turn = turns.data() + at;
    double* plain = extra + at;
    const double sum = std::accumulate(plain, plain + length, 0.0);
    if (!(std::accumulate(turn, turn + length, 0.0) > kCancelling * sum)) continue;
    for (int64_t p = 0; p < length; ++p) plain[p] = std::max(plain[p], turn[p]);
  }
}

// Of sources that are the bounded images' inputs.
void SumInTurns(const SumKernels& kernels, SumPass pass, SideArrays* side) {
  const SumGeometry& g = *pass.geometry;
  std::vector<SumWork> work = *pass.work;
  for (SumWork& w : work) {
    if (w.extra != nullptr)
      w.extra = side->turns.emplace_back(static_cast<size_t>(g.out_channels * g.out_pixels())).data();
  }
  pass.work = &work;
  for (const int64_t lanes : kTurns) {
    pass.order = {false, lanes};
    RunPass(kernels, pass);
  }
  for (size_t i = 0; i < side->turns.size(); ++i) AddTurns(g, side->turns[i], side->extra[i].data());
}

}  // namespace

void SumOfProducts(const SumGeometry& geometry, const SumOperands& operands, const std::vector<SumImage>& images,
                   const SumBound& bound) {
  const SumKernels& kernels = BestSumKernels();
  std::vector<SumWork> work;
  SideArrays side;
  bool bounded = false;
  bool uncertain = operands.weight_tau != nullptr, later = false;
  for (const SumImage& image : images) {
    work.push_back({image});
    bounded = bounded || image.tau != nullptr;
    uncertain = uncertain || image.input_tau != nullptr;
    later = later || image.later != nullptr;
  }
  const bool bias_last = bounded && bound.level >= 1 && (operands.bias != nullptr || later);
  const bool both_orders = bounded && bound.level >= 1 && OrdersDiffer(geometry);
  const bool drift = bounded && bound.level >= 2;
  const size_t size = static_cast<size_t>(geometry.out_channels * geometry.out_pixels());
  for (SumWork& w : work) {
    if (w.image.tau == nullptr) continue;
    if (bias_last || both_orders || drift) w.extra = side.extra.emplace_back(size).data();
    if (drift || uncertain) w.added = side.added.emplace_back(size).data();
    if (drift) w.drift = side.drift.emplace_back(size).data();
  }
  SumPass pass;
  pass.geometry = &geometry;
  pass.operands = &operands;
  pass.work = &work;
  pass.bound = bound;
  pass.weight = operands.weight;
  if (bounded && uncertain) AddInputUncertainty(kernels, work, pass);
  if (bias_last || both_orders || drift) pass.sources = SourcesSumOfProducts(work, InputIfBounded);
  if (drift) {
    pass.sink = SumSink::kDrift;
    RunPass(kernels, pass);
    pass.begun = bias_last;
    if (pass.begun) RunPass(kernels, pass);
    pass.begun = false;
    AddDrift(work, size);
  }
  pass.sink = SumSink::kSquares;
  if (bias_last || drift) RunPass(kernels, pass);
  if (both_orders) {
    pass.order = {true, 1};
    RunPass(kernels, pass);
  }
  if (drift) SumInTurns(kernels, pass, &side);
  pass.sink = SumSink::kValues;
  pass.order = {};
  pass.sources = SourcesSumOfProducts(work, [](const SumWork& w) { return w.image.input; });
  RunPass(kernels, pass);
}

}  // namespace plumb::reference
