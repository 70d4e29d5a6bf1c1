// SPDX-License-Identifier: Apache-2.0
#include "check/cause/input_match.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "check/core/metrics.h"

namespace plumb {
namespace {

using Values = std::vector<double>;

double LargestOf(const Values& x) {
  double largest = 0;
  for (double v : x) largest = std::max(largest, std::fabs(v));
  return largest;
}

double Distance(const Values& a, const Values& b) {
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::fabs(a[i] - b[i]);
    if (!(d <= distance) && a[i] != b[i]) distance = std::isnan(d) ? INFINITY : d;
  }
  return distance;
}

Values ValuesOf(const Tensor& tensor) {
  Values values(static_cast<size_t>(tensor.NumElements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.ValueAt(static_cast<int64_t>(i));
  return values;
}

// N x C x pixels of an image batch.
struct Extents {
  size_t batch, channels, pixels;
};

Values ChannelsReversed(const Values& x, const Extents& e) {
  Values y(x.size());
  for (size_t n = 0; n < e.batch; ++n) {
    for (size_t c = 0; c < e.channels; ++c) {
      const auto src = x.begin() + static_cast<ptrdiff_t>((n * e.channels + c) * e.pixels);
      std::copy(src, src + static_cast<ptrdiff_t>(e.pixels),
                y.begin() + static_cast<ptrdiff_t>((n * e.channels + e.channels - 1 - c) * e.pixels));
    }
  }
  return y;
}

// What NCHW memory means when it is written pixel by pixel (to_last), or the other way round.
Values Turned(const Values& x, const Extents& e, bool to_last) {
  Values y(x.size());
  for (size_t n = 0; n < e.batch; ++n) {
    for (size_t c = 0; c < e.channels; ++c) {
      for (size_t p = 0; p < e.pixels; ++p) {
        const size_t first = (n * e.channels + c) * e.pixels + p, last = (n * e.pixels + p) * e.channels + c;
        y[to_last ? last : first] = x[to_last ? first : last];
      }
    }
  }
  return y;
}

struct InputFit {
  double residual = INFINITY;
  std::string text;  // "a 0.00392, 0.00392, 0.00392, b 0, 0, 0"
};

// b = slope * a + offset per channel, least squares.
InputFit FitChannels(const Values& a, const Values& b, const Extents& e) {
  InputFit fit{0, ""};
  std::string slopes, offsets;
  for (size_t c = 0; c < e.channels; ++c) {
    double count = 0, sa = 0, sb = 0, saa = 0, sab = 0;
    const auto each = [&](auto&& f) {
      for (size_t n = 0; n < e.batch; ++n) {
        for (size_t p = 0; p < e.pixels; ++p) f((n * e.channels + c) * e.pixels + p);
      }
    };
    each([&](size_t i) { ++count, sa += a[i], sb += b[i]; });
    const double mean_a = sa / count, mean_b = sb / count;
    each([&](size_t i) { saa += (a[i] - mean_a) * (a[i] - mean_a), sab += (a[i] - mean_a) * (b[i] - mean_b); });
    if (!(saa > 0) || count < 4) return {};  // a constant channel fits anything
    const double slope = sab / saa, offset = mean_b - slope * mean_a;
    if (!std::isfinite(slope)) return {};
    each([&](size_t i) { fit.residual = std::max(fit.residual, std::fabs(slope * a[i] + offset - b[i])); });
    char text[64];
    std::snprintf(text, sizeof(text), "%s%.6g", c == 0 ? "" : ", ", slope);
    slopes += text;
    std::snprintf(text, sizeof(text), "%s%.6g", c == 0 ? "" : ", ",
                  std::fabs(offset) < 1e-9 * LargestOf(b) ? 0.0 : offset);
    offsets += text;
  }
  fit.text = fmt::format("a = {}; b = {}", slopes, offsets);
  return fit;
}

// The first arrangement of a that explains b, in words; "" when none does.
std::string Explain(const Values& a, const Values& b, const Shape& shape) {
  if (shape.rank() < 3 || a.empty()) return "";
  const Extents e{static_cast<size_t>(shape[0]), static_cast<size_t>(shape[1]),
                  static_cast<size_t>(shape.CountFrom(2))};
  if (e.channels > 64) return "";
  const double exact = LargestOf(b) * 1e-6, fitted = LargestOf(b) * 1e-4;
  struct Arrangement {
    const char* text;
    Values values;
  };
  std::vector<Arrangement> arrangements = {{"", a}};
  if (e.channels == 3) arrangements.push_back({"the channels are swapped (RGB for BGR)", ChannelsReversed(a, e)});
  arrangements.push_back({"NHWC memory was taken for NCHW", Turned(a, e, true)});
  arrangements.push_back({"NCHW memory was taken for NHWC", Turned(a, e, false)});
  if (e.channels == 3) {
    arrangements.push_back({"NHWC memory was taken for NCHW, and the channels are swapped (RGB for BGR)",
                            Turned(ChannelsReversed(a, e), e, true)});
  }
  for (const Arrangement& arranged : arrangements) {
    if (Distance(arranged.values, b) <= exact) return arranged.text;
  }
  for (const Arrangement& arranged : arrangements) {
    const InputFit fit = FitChannels(arranged.values, b, e);
    if (fit.residual > fitted) continue;
    const std::string scaled = "a * x + b per channel (another mean or scale), " + fit.text;
    return *arranged.text == '\0' ? scaled : fmt::format("{}, then {}", arranged.text, scaled);
  }
  return "";
}

}  // namespace

InputMatch MatchInputs(const std::string& input, const std::string& name_a, const Tensor& a, const std::string& name_b,
                       const Tensor& b) {
  InputMatch match;
  match.input = input;
  match.a = name_a;
  match.b = name_b;
  match.shape = a.shape();
  match.difference = CompareTensors(a, b);
  const Values x = ValuesOf(a), y = ValuesOf(b);
  const double distance = Distance(x, y);
  match.equal = IsFloat(a.dtype()) ? distance <= 0x1p-23 * LargestOf(y) : distance == 0;
  if (match.equal) return match;
  int64_t lost = 0, gained = 0;  // finite values, on the way from a to b
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    lost += std::isfinite(x[i]) && !std::isfinite(y[i]);
    gained += !std::isfinite(x[i]) && std::isfinite(y[i]);
  }
  if (lost + gained == 0) {
    match.explanation = Explain(x, y, a.shape());
  } else {
    match.explanation =
        fmt::format("{}{} NaN or infinite in {} only", std::max(lost, gained),
                    std::max(lost, gained) == 1 ? " value is" : " values are", lost >= gained ? name_b : name_a);
  }
  return match;
}

}  // namespace plumb
