// SPDX-License-Identifier: Apache-2.0
#include "reference/sum/store.h"

#include <algorithm>
#include <cmath>

namespace plumb::reference {
namespace {

template <class T>
void Scatter(const double* row, const SumTarget* targets, int num_targets, T* to) {
  for (int t = 0; t < num_targets; ++t) {
    const double* from = row + targets[t].begin;
    T* dst = to + targets[t].out_begin;
    if (targets[t].out_step == 1) {
      for (int64_t i = 0; i < targets[t].count; ++i) dst[i] = static_cast<T>(from[i]);
    } else {
      for (int64_t i = 0; i < targets[t].count; ++i) dst[i * targets[t].out_step] = static_cast<T>(from[i]);
    }
  }
}

// The outputs of the image beside: these before their activation, and what they differ by. `direct`: one run of them.
void StoreBeside(const SumPass& pass, const SumRow& row, const SumTarget* targets, int num_targets, bool direct,
                 double* beside) {
  double collected[kTile];
  double* value = direct ? beside + targets[0].out_begin : collected;
  if (!direct) Collect(beside, targets, num_targets, value);
  for (int64_t i = 0; i < row.count; ++i) value[i] += row.sum[i];
  if (pass.operands->activate != nullptr) pass.operands->activate(row.count, value, nullptr);
  if (!direct) Scatter(value, targets, num_targets, beside);
}

void StoreValues(const SumKernels& kernels, const SumPass& pass, const SumWork& work, const SumRow& row,
                 const SumTarget* targets, int num_targets) {
  double value[kTile], tau[kTile], extra[kTile], added[kTile];
  const int64_t base = row.out_channel * pass.geometry->out_pixels();
  FinishArgs finish;
  finish.sum = row.sum;
  finish.squares = work.image.tau != nullptr ? row.squares : nullptr;
  finish.unit = static_cast<double>(SampleBlock(row.terms));
  finish.abs_x = row.abs_x;
  finish.abs_w = row.abs_w;
  finish.terms = static_cast<double>(row.terms);
  finish.u = pass.bound.u;
  finish.u_out = pass.bound.u_out;
  finish.min_normal = pass.bound.min_normal;
  finish.count = row.count;
  // The usual case, one contiguous run of doubles, is written where it belongs; others go through `value` and `tau`.
  const bool direct = num_targets == 1 && targets[0].out_step == 1 && work.image.output.is_double;
  double* const output = static_cast<double*>(work.image.output.data) + (direct ? base + targets[0].out_begin : 0);
  finish.value = direct ? output : value;
  finish.tau = direct && work.image.tau != nullptr ? work.image.tau + base + targets[0].out_begin : tau;
  if (work.extra != nullptr) Collect(work.extra + base, targets, num_targets, extra);
  if (work.added != nullptr) Collect(work.added + base, targets, num_targets, added);
  finish.extra = work.extra != nullptr ? extra : nullptr;
  finish.added = work.added != nullptr ? added : nullptr;
  if (work.image.beside != nullptr) StoreBeside(pass, row, targets, num_targets, direct, work.image.beside + base);
  kernels.finish(finish);
  double* const wanted_tau = work.image.tau != nullptr ? finish.tau : nullptr;
  if (pass.operands->activate != nullptr) pass.operands->activate(row.count, finish.value, wanted_tau);
  if (direct) return;
  if (work.image.output.is_double) {
    Scatter(value, targets, num_targets, static_cast<double*>(work.image.output.data) + base);
  } else {
    Scatter(value, targets, num_targets, static_cast<float*>(work.image.output.data) + base);
  }
  if (wanted_tau != nullptr) Scatter(tau, targets, num_targets, work.image.tau + base);
}

void StoreSquares(const SumPass& pass, const SumWork& work, const SumRow& row, const SumTarget* targets,
                  int num_targets) {
  double out[kTile], later[kTile] = {}, constant[kTile] = {};
  const int64_t base = row.out_channel * pass.geometry->out_pixels();
  const double bias = pass.operands->bias != nullptr ? static_cast<double>(pass.operands->bias[row.out_channel]) : 0;
  const double unit = static_cast<double>(SampleBlock(row.terms)), terms = static_cast<double>(row.terms);
  Collect(work.extra + base, targets, num_targets, out);
  if (work.image.later != nullptr) Collect(work.image.later + base, targets, num_targets, later);
  if (work.image.later_constant != nullptr) Collect(work.image.later_constant + base, targets, num_targets, constant);
  for (int64_t i = 0; i < row.count; ++i) {
    const double last = unit * row.squares[i], value = row.sum[i] + bias;
    out[i] = std::max(out[i], last + (bias != 0 ? value * value : 0));
    for (const double first : {bias, bias + later[i], bias + constant[i], bias + later[i] - constant[i]}) {
      if (first != 0) out[i] = std::max(out[i], last + first * (2 * unit * row.weighted[i] + terms * first));
    }
  }
  Scatter(out, targets, num_targets, work.extra + base);
}

}  // namespace

void StoreRow(const SumKernels& kernels, const SumPass& pass, const SumWork& work, const SumRow& row,
              const SumTarget* targets, int num_targets) {
  double out[kTile];
  const int64_t base = row.out_channel * pass.geometry->out_pixels();
  switch (pass.sink) {
    case SumSink::kValues: StoreValues(kernels, pass, work, row, targets, num_targets); return;
    case SumSink::kSquares: StoreSquares(pass, work, row, targets, num_targets); return;
    case SumSink::kDrift: {
      Collect(work.drift + base, targets, num_targets, out);
      for (int64_t i = 0; i < row.count; ++i) {
        if (row.drift[i] > out[i] && std::isfinite(row.drift[i])) out[i] = row.drift[i];  // else fp32 overflowed
      }
      Scatter(out, targets, num_targets, work.drift + base);
      return;
    }
    case SumSink::kVariance: {
      Collect(work.added + base, targets, num_targets, out);
      for (int64_t i = 0; i < row.count; ++i)
        out[i] += std::isfinite(row.sum[i]) ? row.sum[i] : 0;  // the input holds infinities: no rounding to bound
      Scatter(out, targets, num_targets, work.added + base);
      return;
    }
  }
}

}  // namespace plumb::reference
