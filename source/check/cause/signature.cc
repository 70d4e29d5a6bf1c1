// SPDX-License-Identifier: Apache-2.0
#include "check/cause/signature.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/half.h"
#include "base/text.h"
#include "check/cause/signature_order.h"
#include "check/core/axis_words.h"

namespace plumb {
namespace {

constexpr int64_t kMaxElements = 1 << 22;  // some 100 MB of float64 at a time
constexpr double kNothing = 1e-3;          // of the largest error: what differs by less does not differ
constexpr double kExplained = 0.02;        // of the largest error may be left of one that a factor or offset explains

std::string Constant(const WrongOutput& p) {
  const double first = p.x.front();
  if (std::any_of(p.x.begin(), p.x.end(), [&](double v) { return v != first; })) return "";
  if (first == 0) return "every value is zero";
  const auto [low, high] = std::minmax_element(p.y.begin(), p.y.end());
  return *low != *high ? "every value is " + Number(first, 7) : "";
}

// Whether all that differ are zero, which is more likely not written than computed.
std::string Zeros(const WrongOutput& p) {
  for (size_t i = 0; i < p.x.size(); ++i) {
    if (p.differs[i] && p.x[i] != 0) return "";
  }
  return p.differing == 1 ? ": it is 0" : ": they are 0";
}

// All that differ lie beyond one value and have that value: saturated, or an activation that the graph does not have.
std::string Limited(const WrongOutput& p) {
  const auto [low, high] = std::minmax_element(p.x.begin(), p.x.end());
  int64_t above = 0, below = 0;
  for (size_t i = 0; i < p.x.size(); ++i) {
    if (!p.differs[i]) continue;
    const bool over = p.x[i] == *high && p.y[i] > *high, under = p.x[i] == *low && p.y[i] < *low;
    if (!over && !under) return "";
    above += over, below += under;
  }
  const auto tells = [](int64_t count, double limit) {
    return count == 0 || count > 2 || limit == std::nearbyint(limit);
  };
  if (above + below == 0 || *low == *high || !tells(above, *high) || !tells(below, *low)) return "";
  const std::string over = fmt::format("{} above {} are {}", above, Number(*high, 7), Number(*high, 7));
  const std::string under = fmt::format("{} below {} are {}", below, Number(*low, 7), Number(*low, 7));
  return fmt::format("limited: of {} values {}{}{}", p.x.size(), above > 0 ? over : "",
                     above > 0 && below > 0 ? ", " : "", below > 0 ? under : "");
}

std::string Border(const WrongOutput& p) {
  if (p.shape.rank() != 4 || p.shape[2] < 5 || p.shape[3] < 5) return "";
  const int64_t height = p.shape[2], width = p.shape[3];
  bool inside = false;
  for (size_t i = 0; i < p.x.size(); ++i) {
    const int64_t w = static_cast<int64_t>(i) % width, h = static_cast<int64_t>(i) / width % height;
    const bool border = std::min({w, h, width - 1 - w, height - 1 - h}) < 2;
    inside = inside || (!border && p.differs[i]);
  }
  const int64_t line = std::min(height, width);
  return !inside && p.differing >= line ? "only the border differs: pads" : "";
}

// x = a y + b over the elements that `at` gives; how far the worst is from that.
struct SignatureFit {
  double xy = 0, yy = 0, x = 0, y = 0, count = 0;
  void Add(double device, double reference) {
    xy += device * reference, yy += reference * reference, x += device, y += reference, ++count;
  }
  double factor() const { return yy > 0 ? xy / yy : 1; }
  // Of x = slope y + rest, both free.
  double slope() const {
    const double spread = yy - y * y / count;
    return spread > 1e-9 * yy ? (xy - x * y / count) / spread : 1;
  }
  double rest() const { return (x - slope() * y) / count; }
  double offset() const { return (x - y) / count; }
};

std::string Factor(const WrongOutput& p) {
  SignatureFit fit;
  for (size_t i = 0; i < p.x.size(); ++i) fit.Add(p.x[i], p.y[i]);
  double rest = 0;
  for (size_t i = 0; i < p.x.size(); ++i) rest = std::max(rest, std::fabs(p.x[i] - fit.factor() * p.y[i]));
  if (p.x.size() < 4 || rest > kExplained * p.error) return "";
  return "every value is off by the factor " + Number(fit.factor(), 7);
}

std::string Offset(const WrongOutput& p) {
  SignatureFit fit;
  for (size_t i = 0; i < p.x.size(); ++i) fit.Add(p.x[i], p.y[i]);
  double rest = 0;
  for (size_t i = 0; i < p.x.size(); ++i) rest = std::max(rest, std::fabs(p.x[i] - p.y[i] - fit.offset()));
  if (p.x.size() < 4 || rest > kExplained * p.error) return "";
  return "every value is off by " + Number(fit.offset(), 7);
}

// A factor, an offset or both of its own for each channel: bias, scale, zero point, folded batch normalisation.
std::string PerChannel(const WrongOutput& p) {
  if (p.shape.rank() < 2 || p.shape[1] < 2) return "";
  const auto channels = static_cast<size_t>(p.shape[1]), pixels = static_cast<size_t>(p.shape.CountFrom(2));
  if (p.x.size() < 4 * channels) return "";
  std::vector<SignatureFit> fits(channels);
  const auto of = [&](size_t i) -> SignatureFit& { return fits[i / pixels % channels]; };
  for (size_t i = 0; i < p.x.size(); ++i) of(i).Add(p.x[i], p.y[i]);
  double of_factors = 0, of_offsets = 0, of_both = 0;
  for (size_t i = 0; i < p.x.size(); ++i) {
    of_factors = std::max(of_factors, std::fabs(p.x[i] - of(i).factor() * p.y[i]));
    of_offsets = std::max(of_offsets, std::fabs(p.x[i] - p.y[i] - of(i).offset()));
    of_both = std::max(of_both, std::fabs(p.x[i] - of(i).slope() * p.y[i] - of(i).rest()));
  }
  const bool factors = of_factors <= kExplained * p.error;
  if (!factors && of_offsets > kExplained * p.error) {
    return of_both <= kExplained * p.error ? "each channel is off by its own factor and offset" : "";
  }
  double low = INFINITY, high = -INFINITY;
  for (const SignatureFit& fit : fits) {
    low = std::min(low, factors ? fit.factor() : fit.offset());
    high = std::max(high, factors ? fit.factor() : fit.offset());
  }
  return fmt::format("each channel is off by {}{} to {}", factors ? "its own factor, " : "its own offset, ",
                     Number(low, 7), Number(high, 7));
}

// Only what is left over of blocks of 4, 8 or 16 channels, rows or columns, or at the end of the memory.
std::string Tail(const WrongOutput& p) {
  static const char* const kAxes[] = {"channels", "rows", "columns"};
  for (int axis = 1; axis < std::min(p.shape.rank(), 4); ++axis) {
    const int64_t size = p.shape[axis], inner = p.shape.CountFrom(axis + 1);
    int64_t first = size;
    for (size_t i = 0; i < p.x.size() && first > 0; ++i) {
      if (p.differs[i]) first = std::min(first, static_cast<int64_t>(i) / inner % size);
    }
    for (const int64_t block : {4, 8, 16}) {
      const int64_t rest = size % block, all = static_cast<int64_t>(p.x.size()) / size * rest;
      if (size > block && rest != 0 && first >= size - rest && 2 * p.differing >= all) {
        return fmt::format("only the last {} of {} {} differ: the rest of blocks of {}", size % block, size,
                           kAxes[axis - 1], block);
      }
    }
  }
  return "";
}

// Only every 2nd, 4th, 8th or 16th value in memory, or channel: one lane of a vector.
std::string Lane(const WrongOutput& p) {
  const int64_t pixels = p.shape.rank() >= 2 ? p.shape.CountFrom(2) : 1;
  for (const int64_t step : {16, 8, 4, 2}) {
    for (const bool by_channel : {true, false}) {
      if ((by_channel && (p.shape.rank() < 3 || p.shape[1] < 2 * step)) || static_cast<int64_t>(p.x.size()) < 4 * step)
        continue;
      std::vector<bool> lanes(static_cast<size_t>(step));
      for (size_t i = 0; i < p.x.size(); ++i) {
        const int64_t at = by_channel ? static_cast<int64_t>(i) / pixels % p.shape[1] : static_cast<int64_t>(i);
        if (p.differs[i]) lanes[static_cast<size_t>(at % step)] = true;
      }
      if (std::count(lanes.begin(), lanes.end(), true) != 1) continue;
      const auto lane = std::find(lanes.begin(), lanes.end(), true) - lanes.begin();
      if (p.differing < 3) return "";
      return fmt::format("only {} whose number is {} modulo {} differ", by_channel ? "channels" : "values", lane, step);
    }
  }
  return "";
}

std::string Share(const WrongOutput& p) {
  return fmt::format("{} of {} values differ{}", p.differing, p.x.size(), p.differing == 1 ? "s" : "");
}

// So few that no pattern can be told.
std::string Few(const WrongOutput& p) {
  if (p.differing > 3 || 16 * p.differing > static_cast<int64_t>(p.x.size())) return "";
  std::string places;
  for (size_t i = 0; i < p.x.size(); ++i) {
    if (!p.differs[i]) continue;
    std::vector<int64_t> at(static_cast<size_t>(p.shape.rank()));
    for (int axis = 0; axis < p.shape.rank(); ++axis)
      at[static_cast<size_t>(axis)] = static_cast<int64_t>(i) / p.shape.CountFrom(axis + 1) % p.shape[axis];
    places += (places.empty() ? ", at " : ", ") + Shape(at).ToString();
  }
  return Share(p) + places + Zeros(p);
}

// A box that they fill for the most part: a batch element, a channel, a tile.
std::string Place(const WrongOutput& p) {
  std::vector<int64_t> first(p.shape.dims()), last(p.shape.dims().size(), -1);
  for (size_t i = 0; i < p.x.size(); ++i) {
    for (int axis = 0; axis < p.shape.rank() && p.differs[i]; ++axis) {
      const int64_t at = static_cast<int64_t>(i) / p.shape.CountFrom(axis + 1) % p.shape[axis];
      first[static_cast<size_t>(axis)] = std::min(first[static_cast<size_t>(axis)], at);
      last[static_cast<size_t>(axis)] = std::max(last[static_cast<size_t>(axis)], at);
    }
  }
  std::vector<std::string> words;
  int64_t volume = 1;
  bool one = true;
  for (int axis = 0; axis < p.shape.rank(); ++axis) {
    const int64_t from = first[static_cast<size_t>(axis)], to = last[static_cast<size_t>(axis)];
    volume *= to - from + 1;
    if (to - from + 1 == p.shape[axis]) continue;
    words.push_back(PlaceWords(axis, p.shape.rank(), from, to));
    one = one && from == to;
  }
  const auto all = static_cast<int64_t>(p.x.size());
  // In a small box a quarter is enough: behind a ReLU half of its values are right by being 0.
  const int64_t filled = 8 * volume <= all ? 4 : 2;
  if (words.empty() || p.differing == 0 || filled * p.differing < volume || 2 * volume > all) return "";
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return fmt::format("only {} differ{}{}", text, one && words.size() == 1 ? "s" : "", Zeros(p));
}

// What nothing else is said of.
std::string Some(const WrongOutput& p) {
  return 2 * p.differing < static_cast<int64_t>(p.x.size()) ? Share(p) + Zeros(p) : "";
}

// The bits of the longest significand, its leading 1 included.
int MostBits(const std::vector<double>& values) {
  int most = 0;
  for (const double value : values) {
    int exponent;
    const double significand = std::frexp(static_cast<double>(static_cast<float>(value)), &exponent);
    auto whole = static_cast<int64_t>(std::ldexp(std::fabs(significand), 24));
    int bits = 24;
    while (whole != 0 && whole % 2 == 0) whole /= 2, --bits;
    if (whole != 0) most = std::max(most, bits);
  }
  return most;
}

std::string Narrow(const WrongOutput& p) {
  const auto all = [](const std::vector<double>& values, auto rounded) {
    return std::all_of(values.begin(), values.end(),
                       [&](double v) { return static_cast<double>(rounded(static_cast<float>(v))) == v; });
  };
  const auto half = [](float v) { return HalfToFloat(FloatToHalf(v)); };
  const auto brain = [](float v) { return BFloat16ToFloat(FloatToBFloat16(v)); };
  if (all(p.x, brain) && !all(p.y, brain)) return "every value is a bf16";  // most of these are f16, too
  if (all(p.x, half) && !all(p.y, half)) return "every value is an f16";
  const int bits = MostBits(p.x);
  constexpr int kTelling = 20;  // of f32's 24: four zeros at every end are no chance
  if (p.x.size() < 16 || bits > kTelling || MostBits(p.y) <= bits) return "";
  return fmt::format("every value has {} bits of precision", bits);
}

// Values beyond f16's range are its largest value or infinite, and all others are right to an f16's precision.
std::string Overflow(const Tensor& device, const Tensor& reference) {
  int64_t beyond = 0;
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    const double x = device.ValueAt(i), y = reference.ValueAt(i);
    if (std::fabs(y) > 65504) {
      if (std::fabs(x) != 65504 && !std::isinf(x)) return "";
      beyond += std::isfinite(static_cast<float>(y));
    } else if (!(std::fabs(x - y) <= 0x1p-9 * std::fabs(y) + 0x1p-13)) {
      return "";
    }
  }
  return beyond > 0 ? std::to_string(beyond) + " values beyond f16's range are 65504 or infinite" : "";
}

}  // namespace

std::string DescribeDifference(const Tensor& device, const Tensor& reference, const Tensor* tau) {
  if (device.NumElements() == 0 || device.NumElements() > kMaxElements) return "";
  const bool integers = !IsFloat(device.dtype());
  const std::string overflow = integers ? "" : Overflow(device, reference);
  if (!overflow.empty()) return overflow;
  WrongOutput pair{device.shape(), {}, {}, 0, 0, {}, 0};
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    pair.x.push_back(device.ValueAt(i));
    pair.y.push_back(reference.ValueAt(i));
    if (!std::isfinite(pair.x.back()) || !std::isfinite(pair.y.back())) return "";
    pair.largest = std::max(pair.largest, std::fabs(pair.y.back()));
    pair.error = std::max(pair.error, std::fabs(pair.x.back() - pair.y.back()));
  }
  for (size_t i = 0; i < pair.x.size(); ++i) {
    const double allowed = tau == nullptr ? kNothing * pair.error : tau->ValueAt(static_cast<int64_t>(i));
    pair.differs.push_back(std::fabs(pair.x[i] - pair.y[i]) > allowed);
    pair.differing += pair.differs.back();
  }
  const bool moved = pair.error > 10 * kSameValue * pair.largest;  // less may be anything
  for (const auto look : {DescribeAxes, DescribeChannels, DescribeShift}) {
    const std::string text = moved ? look(pair) : "";
    if (!text.empty()) return text;
  }
  using Look = std::string (*)(const WrongOutput&);
  static const auto* of_floats = new std::vector<Look>{
      Constant, Limited, Few, Tail, Border, Place, Factor, Offset, PerChannel, Narrow, DescribeReordered, Lane, Some};
  // A factor would be one of the zero point, too.
  static const auto* of_integers =
      new std::vector<Look>{Constant, Limited, Few, Tail, Place, Border, Offset, DescribeReordered, Lane};
  for (const Look look : integers ? *of_integers : *of_floats) {
    const std::string text = look(pair);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace plumb
