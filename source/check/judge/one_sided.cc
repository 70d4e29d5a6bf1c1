// SPDX-License-Identifier: Apache-2.0
#include "check/judge/one_sided.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/threads.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr double kCertain = 0.25;    // of the distance of two storable values: tau beyond it says nothing of a value
constexpr double kExact = 1e-9;      // the reference's own rounding
constexpr double kTieOnGrid = 1e-4;  // a grid's step is fitted to its values
constexpr double kCertainTie = 0.01;
constexpr double kFarOffGrid = 0x1p31;  // units; floats are below 2^24, values on a grid below 256
constexpr double kWrongZ = 6;
constexpr double kWrongBias = 0.02;                           // units of the storage, on average
constexpr double kPure = 0.01;                                // of the values may lie on the other side of a cut
constexpr int64_t kMinSlips = 36;                             // fewer have no z of 6
constexpr int64_t kEnough = 1 << 16, kEnoughOfChannel = 256;  // values: of larger blobs evenly spread ones
constexpr size_t kMaxSlips = 1 << 16;                         // looked at one by one
constexpr int64_t kGrainOfSides = 1 << 14;

double PowerOfTwoBelow(double size) {
  uint64_t bits;
  std::memcpy(&bits, &size, sizeof(bits));
  bits &= uint64_t{0x7FF} << 52;
  std::memcpy(&size, &bits, sizeof(size));
  return size;
}

// One value in units of its storage.
struct Placed {
  bool known = false;
  bool negative = false;
  double off = 0;     // the stored value less the reference, in the reference's direction
  double margin = 0;  // what the arithmetic explains
  int slip = 0;       // one unit further from zero (1) or nearer to it (-1) than the nearest storable value
  bool tie = false;   // of a slip: both are as near, and it is not the even one
  double below = 0;   // the storable value next to the reference towards zero: which cell it lies in
};

Placed Place(const Lattice& l, double x, double y, double tau) {
  Placed p;
  const double size = std::fabs(y);
  if (!std::isfinite(x) || !(size > 0) || !(size < INFINITY)) return p;
  double unit = l.step;
  if (unit == 0) {
    if (size < l.min_normal || size >= l.overflow) return p;
    unit = 2 * l.unit_roundoff * PowerOfTwoBelow(size);
  } else if (x > l.high - unit / 2 || x < l.low + unit / 2) {
    return p;
  }
  const double per_unit = 1 / unit, at = size * per_unit;
  p.margin = std::max(0.0, tau - l.rounds_once * size) * per_unit;
  if (!(p.margin <= kCertain) || at > kFarOffGrid) return p;
  p.margin += kExact;
  p.known = true;
  p.negative = y < 0;
  const auto floor = static_cast<double>(static_cast<int64_t>(at));  // std::floor is a call
  const double part = at - floor;
  p.off = (p.negative ? -x : x) * per_unit - at;
  p.below = (p.negative ? -1 : 1) * (l.step > 0 ? floor : floor * unit);
  const double slack = l.step > 0 ? kTieOnGrid : 0;
  if (std::fabs(p.off) > 0.5 + std::max(p.margin, slack)) {
    p.slip = p.off > 0 ? 1 : -1;
  } else if (std::fabs(part - 0.5) <= slack && p.margin < kCertainTie &&
             (slack > 0 || static_cast<double>(static_cast<float>(y)) == y)) {
    const bool odd = std::fmod(std::nearbyint(at + p.off), 2) != 0;
    p.tie = odd && std::fabs(std::fabs(p.off) - 0.5) <= 2 * slack + kExact;
    if (p.tie) p.slip = p.off > 0 ? 1 : -1;
  }
  return p;
}

// What one channel contributes; [1] of negative values.
struct Tally {
  int64_t count[2] = {}, further[2] = {}, nearer[2] = {};  // slips
  int64_t ties = 0;                                        // of these
  int64_t over[2] = {}, under[2] = {};                     // values beyond the reference, and short of it
  int64_t far = 0;                                         // by more than a unit: not by storing
  void Add(const Placed& p) {
    if (!p.known) return;
    const int s = p.negative ? 1 : 0;
    ++count[s];
    over[s] += p.off > p.margin;
    under[s] += p.off < -p.margin;
    further[s] += p.slip > 0;
    nearer[s] += p.slip < 0;
    ties += p.tie;
    far += std::fabs(p.off) > 1.01 + p.margin;
  }
  void Add(const Tally& t) {
    for (int s = 0; s < 2; ++s) {
      count[s] += t.count[s], further[s] += t.further[s], nearer[s] += t.nearer[s];
      over[s] += t.over[s], under[s] += t.under[s];
    }
    ties += t.ties, far += t.far;
  }
  int64_t all() const { return count[0] + count[1]; }
  int64_t slips() const { return further[0] + further[1] + nearer[0] + nearer[1]; }
  int64_t outwards() const { return further[0] + further[1] - nearer[0] - nearer[1]; }
  int64_t upwards() const { return further[0] + nearer[1] - nearer[0] - further[1]; }
  // Whether it prefers a side of zero's two rather than up or down.
  bool radial() const { return std::abs(outwards()) >= std::abs(upwards()); }
  int64_t net() const { return radial() ? outwards() : upwards(); }
  double bias() const { return all() == 0 ? 0 : static_cast<double>(net()) / static_cast<double>(all()); }
};

// What stores in this way are called; "": none that is known.
std::string WayOf(const Tally& t) {
  const int64_t few = static_cast<int64_t>(kPure * static_cast<double>(t.all()));
  const bool outwards = t.net() > 0;
  const bool only_ties = static_cast<double>(t.slips() - t.ties) <= kPure * static_cast<double>(t.slips());
  // Where nothing lies between two storable values but ties, a cut and a rule for ties are the same: outwards the
  // latter is the usual one.
  const bool as_cut = !(only_ties && outwards);
  // Values on the side that a cut leaves empty.
  const int64_t radially = outwards ? t.under[0] + t.under[1] : t.over[0] + t.over[1];
  const int64_t vertically = outwards ? t.under[0] + t.over[1] : t.over[0] + t.under[1];
  const char* either = t.count[1] > few ? ""
                       : outwards       ? " (or up: no value is negative)"
                                        : " (or by floor: no value is negative)";
  if (as_cut && t.radial() && radially <= few) {
    return outwards ? fmt::format("stored away from zero{}: every value goes to the next one outwards", either)
                    : fmt::format("stored by truncation{}: every value is cut off towards zero", either);
  }
  if (as_cut && !t.radial() && vertically <= few)
    return outwards ? "stored by ceiling: every value goes up" : "stored by floor: every value goes down";
  if (!only_ties) return "";
  if (t.radial()) {
    return outwards ? fmt::format("half away from zero{}: ties are not stored as the even value", either)
                    : "half towards zero: ties are not stored as the even value";
  }
  return outwards ? "half up: ties are not stored as the even value"
                  : "half down: ties are not stored as the even value";
}

bool IsTies(const std::string& way) { return way.rfind("half", 0) == 0; }

// IEEE 754's roundTiesToAway, which ncnn's bf16 has: named, and no fault.
bool IsRuleOfIeee(const std::string& way) { return way.rfind("half away", 0) == 0; }

double RootMeanSquare(const Tensor& values) {
  if (values.empty() || !IsFloat(values.dtype())) return 0;
  double squares = 0;
  for (int64_t i = 0; i < values.NumElements(); ++i) squares += values.ValueAt(i) * values.ValueAt(i);
  return std::sqrt(squares / static_cast<double>(values.NumElements()));
}

class Sides {
 public:
  explicit Sides(const OneSidedInput& input) : input_(input) {
    const Shape& shape = input.reference.shape();
    channels_ = shape.rank() >= 2 ? shape[1] : 1;
    plane_ = shape.rank() >= 2 ? shape.CountFrom(2) : shape.NumElements();
    batch_ = shape.rank() >= 2 ? shape[0] : 1;
    const int64_t enough = std::max(kEnoughOfChannel, kEnough / std::max<int64_t>(1, channels_));
    apart_ = std::max<int64_t>(1, batch_ * plane_ / enough) | 1;  // odd: rows and columns alike
  }

  void Judge(OutputReport* report) const {
    std::vector<Tally> parts(static_cast<size_t>(channels_));
    ParallelFor(channels_, std::max<int64_t>(1, kGrainOfSides / std::max<int64_t>(1, batch_ * plane_)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t c = begin; c < end; ++c)
                    EachOf(c, [&](const Placed& p) {
                      parts[static_cast<size_t>(c)].Add(p);
                      return true;
                    });
                });
    Tally all;
    for (const Tally& part : parts) all.Add(part);
    report->bias = all.bias();
    report->bias_z = ZOf(all, 0, channels_);
    if (Stands(all, report->bias_z)) return Say("", all, report->bias_z, report);
    for (int64_t c = 0; channels_ > 1 && c < channels_; ++c) {
      const Tally& part = parts[static_cast<size_t>(c)];
      if (std::abs(part.net()) < kMinSlips) continue;
      const double z = ZOf(part, c, c + 1);
      if (Stands(part, z)) return Say(fmt::format("channel {}: ", c), part, z, report);
    }
  }

 private:
  template <class Take>
  void EachOf(int64_t channel, const Take& take) const {
    const float* x = input_.device.data<float>();
    const double *y = input_.reference.data<double>(), *tau = input_.tau.data<double>();
    for (int64_t n = 0; n < batch_; ++n) {
      const int64_t first = (n * channels_ + channel) * plane_;
      for (int64_t i = first; i < first + plane_; i += apart_) {
        if (!take(Place(input_.lattice, static_cast<double>(x[i]), y[i], tau[i]))) return;
      }
    }
  }

  // Of slips to one side less those to the other, those of one cell counted once: a field that is constant, or nearly
  // so, repeats one error.
  double ZOf(const Tally& tally, int64_t begin, int64_t end) const {
    const int64_t slips = tally.slips();
    if (slips < kMinSlips)
      return slips == 0 ? 0 : static_cast<double>(tally.net()) / std::sqrt(static_cast<double>(slips));
    std::vector<std::pair<double, int>> votes;  // by cell
    for (int64_t c = begin; c < end && votes.size() < kMaxSlips; ++c) {
      EachOf(c, [&](const Placed& p) {
        if (p.slip != 0) votes.emplace_back(p.below, tally.radial() || !p.negative ? p.slip : -p.slip);
        return votes.size() < kMaxSlips;
      });
    }
    std::sort(votes.begin(), votes.end());
    int64_t net = 0, cells = 0;
    for (size_t i = 0; i < votes.size();) {
      int64_t sum = 0;
      const double cell = votes[i].first;
      for (; i < votes.size() && votes[i].first == cell; ++i) sum += votes[i].second;
      ++cells;
      net += (sum > 0) - (sum < 0);
    }
    return static_cast<double>(net) / std::sqrt(static_cast<double>(cells));
  }

  bool Stands(const Tally& tally, double z) const {
    if (std::fabs(z) <= kWrongZ || std::fabs(tally.bias()) <= kWrongBias) return false;
    if (static_cast<double>(tally.far) > kPure * static_cast<double>(tally.all())) return false;
    // What is no way of storing is another sum (of other weights, say), which may lean to one side in a channel.
    const std::string way = WayOf(tally);
    return !way.empty() && (input_.lattice.rounds_once == 0 || !IsTies(way));
  }

  void Say(const std::string& where, const Tally& tally, double z, OutputReport* report) const {
    const std::string way = WayOf(tally);
    report->one_sided = where + (way.empty() ? "rounded to one side" : way);
    const std::string reason = fmt::format("{}; on average {:+.2f} units of {} beside rounding to nearest, z {:.0f}",
                                           report->one_sided, tally.bias(), input_.lattice.name, z);
    report->reason =
        report->verdict == Verdict::kWrong && !report->reason.empty() ? report->reason + "; " + reason : reason;
    report->verdict = std::max(report->verdict, IsRuleOfIeee(way) ? Verdict::kGrey : Verdict::kWrong);
  }

  const OneSidedInput& input_;
  int64_t channels_, plane_, batch_, apart_;
};

}  // namespace

Lattice LatticeOf(DType storage) {
  Lattice lattice;
  lattice.name = DTypeName(storage);
  if (storage == DType::kF16) {
    lattice.unit_roundoff = 0x1p-11, lattice.min_normal = 0x1p-14, lattice.overflow = 65504;
  } else {
    lattice.unit_roundoff = storage == DType::kBF16 ? 0x1p-8 : 0x1p-24;
    lattice.min_normal = 0x1p-126, lattice.overflow = 0x1.FEp127;
  }
  return lattice;
}

void JudgeSides(const OneSidedInput& input, OutputReport* report) { Sides(input).Judge(report); }

// Rounding to nearest has no drift: the reference's own run in f64 is what it gives.
void NoteOneSided(RunReport* report) {
  int layers = 0;
  const std::string* how = nullptr;
  for (const LayerReport& layer : report->layers) {
    for (const OutputReport& output : layer.outputs) {
      if (output.one_sided.empty() || output.verdict != Verdict::kWrong) continue;
      ++layers;
      if (how == nullptr) how = &output.one_sided;
    }
  }
  if (layers == 0) return;
  std::string note = fmt::format("rounding to one side: {} outputs of layers, the first {}", layers, *how);
  for (const OutputSummary& output : report->outputs) {
    const double own = RootMeanSquare(output.reference), device = RootMeanSquare(output.device);
    if (!(own > 0) || !std::isfinite(device / own)) continue;
    const double percent = 100 * (device / own - 1);
    note += fmt::format("; the rms of network output '{}' is {:.1f} % {} than with rounding to nearest",
                        Printable(output.name), std::fabs(percent), percent < 0 ? "smaller" : "larger");
  }
  report->notes.push_back(std::move(note));
}

}  // namespace plumb
