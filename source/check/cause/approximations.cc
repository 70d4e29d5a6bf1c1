// SPDX-License-Identifier: Apache-2.0
#include "check/cause/approximations.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"

namespace plumb {
namespace {

using Function = std::function<double(double)>;

// Some elements: the worst ones, and others everywhere.
struct ApproximationSample {
  std::vector<double> x, device, y;
  double own = 0;  // sum of (device - y)^2

  // The sum of squares that another function leaves; infinite where that is no less than `enough`.
  double Left(const Function& f, double enough) const {
    double left = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double off = device[i] - f(x[i]);
      left += off * off;
      if (!(left < enough)) return INFINITY;
    }
    return left;
  }
};

ApproximationSample SampleOf(double (*function)(double), const Tensor& x, const Tensor& device) {
  constexpr size_t kWorst = 1024, kSpread = 1024;
  const int64_t count = x.NumElements();
  std::vector<double> off(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    off[static_cast<size_t>(i)] = std::fabs(device.ValueAt(i) - function(x.ValueAt(i)));
  std::vector<int64_t> order(off.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t worst = std::min(kWorst, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(worst), order.end(),
                    [&](int64_t a, int64_t b) { return off[static_cast<size_t>(a)] > off[static_cast<size_t>(b)]; });
  order.resize(worst);
  const int64_t step = std::max<int64_t>(1, count / static_cast<int64_t>(kSpread));
  for (int64_t i = 0; i < count; i += step) order.push_back(i);
  ApproximationSample sample;
  for (const int64_t i : order) {
    const double at = x.ValueAt(i), value = device.ValueAt(i), y = function(at);
    if (!std::isfinite(at) || !std::isfinite(value) || !std::isfinite(y)) continue;
    sample.x.push_back(at), sample.device.push_back(value), sample.y.push_back(y);
    sample.own += (value - y) * (value - y);
  }
  return sample;
}

class ApproximationFinder {
 public:
  ApproximationFinder(std::string name, double (*function)(double), ApproximationSample sample)
      : name_(std::move(name)), f_(function), sample_(std::move(sample)) {}

  std::vector<Approximation> Find() {
    if (IsLinear(sample_.y) || IsLinear(sample_.x)) return {};  // off by a factor or an offset, or left out
    CutOffs();
    Tables();
    Polynomials();
    return std::move(found_);
  }

 private:
  static constexpr double kExact = 1e-4;  // of the squared difference may be left

  bool Add(const std::string& words, const Function& y) {
    constexpr double kLeft = 0.25;  // half of the rms
    if (!(sample_.Left(y, kLeft * sample_.own) < INFINITY)) return false;
    found_.push_back({words, y});
    return true;
  }

  // The value far out, or x itself where the function goes on like that.
  double Beyond(double x) const {
    constexpr double kFar = 200;
    const double far = f_(std::copysign(kFar, x));
    return std::fabs(far) > kFar / 2 ? (std::fabs(far - std::copysign(kFar, x)) < 1 ? x : f_(x)) : far;
  }

  // Whether the device's values are a v + b.
  bool IsLinear(const std::vector<double>& v) const {
    const auto n = static_cast<double>(v.size());
    double sv = 0, sd = 0, vv = 0, vd = 0;
    for (size_t i = 0; i < v.size(); ++i)
      sv += v[i], sd += sample_.device[i], vv += v[i] * v[i], vd += v[i] * sample_.device[i];
    const double spread = vv - sv * sv / n, a = spread > 0 ? (vd - sv * sd / n) / spread : 1, b = (sd - a * sv) / n;
    double left = 0;
    for (size_t i = 0; i < v.size(); ++i) left += std::pow(sample_.device[i] - a * v[i] - b, 2);
    return left < kExact * sample_.own;
  }

  void CutOffs() {
    for (const double limit : {1.0, 1.5, 2.0, 2.5,  3.0,  3.5,  4.0,  4.5,  5.0,  5.5,  6.0,  7.0,
                               7.5, 8.0, 9.0, 10.0, 12.0, 15.0, 16.0, 20.0, 32.0, 50.0, 64.0, 80.0}) {
      const std::string at = Number(limit, 4);
      (void)Add(fmt::format("{} held from |x| = {} on", name_, at),
                [f = f_, limit](double x) { return f(std::clamp(x, -limit, limit)); });
      (void)Add(fmt::format("{} cut off to its limits from |x| = {} on", name_, at),
                [f = f_, limit, low = Beyond(-limit), high = Beyond(limit)](double x) {
                  if (std::fabs(x) < limit) return f(x);
                  const double far = x < 0 ? low : high;
                  return far == std::copysign(limit, x) ? x : far;
                });
      (void)Add(fmt::format("{} that is 0 below x = -{}", name_, at),
                [f = f_, limit](double x) { return x < -limit ? 0 : f(x); });
    }
  }

  // Entries at low + k (high - low) / cells; the nearest one, the one below, or the straight line between two.
  void Tables() {
    for (const double limit : {4.0, 5.0, 6.0, 8.0, 10.0, 16.0}) {
      for (const bool negative : {false, true}) {
        const double low = -limit, high = negative ? 0 : limit;
        for (const int entries : {16, 32, 64, 128, 256, 512, 1024, 2048, 4096}) {
          for (const int cells : {entries, entries - 1}) Table(low, high, cells, cells + 1 == entries);
        }
      }
    }
  }

  void Table(double low, double high, int cells, bool ends) {
    const double step = (high - low) / cells;
    const auto f = f_;
    const auto place = [=](double x) { return std::clamp((x - low) / step, 0.0, static_cast<double>(cells)); };
    const auto entry = [=](double k) { return f(low + k * step); };
    const std::string words = fmt::format("{} from a table of {} entries between {} and {}", name_,
                                          ends ? cells + 1 : cells, Number(low, 4), Number(high, 4));
    (void)Add(words + ", with straight lines between them", [=](double x) {
      const double at = place(x), below = std::min(std::floor(at), static_cast<double>(cells - 1));
      return entry(below) + (at - below) * (entry(below + 1) - entry(below));
    });
    (void)Add(words, [=](double x) { return entry(std::nearbyint(place(x))); });
    (void)Add(words + ", the one below", [=](double x) { return entry(std::floor(place(x))); });
  }

  // Least squares in Chebyshev polynomials over what lies within the limit; beyond it the function's own limits. Far
  // more values than coefficients, so that one that fits is no luck.
  void Polynomials() {
    for (const double limit : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 16.0}) {
      for (int degree = 2; degree <= 9; ++degree) {
        const std::vector<double> fit = Fit(limit, degree);
        if (fit.empty()) continue;
        const auto y = [fit, limit, f = f_](double x) { return std::fabs(x) > limit ? f(x) : Value(fit, x / limit); };
        if (Exact(y) &&
            Add(fmt::format("a polynomial of degree {} for {} up to |x| = {}", degree, name_, Number(limit, 4)), y))
          return;
      }
    }
  }

  // Whether it leaves next to nothing of the difference.
  bool Exact(const Function& y) const { return sample_.Left(y, kExact * sample_.own) < INFINITY; }

  static double Value(const std::vector<double>& fit, double t) {
    double sum = 0, before = 1, now = t;
    for (size_t i = 0; i < fit.size(); ++i) {
      sum += fit[i] * before;
      const double next = 2 * t * now - before;
      before = now, now = next;
    }
    return sum;
  }

  std::vector<double> Fit(double limit, int degree) const {
    const auto n = static_cast<size_t>(degree) + 1;
    std::vector<double> a(n * (n + 1), 0);  // normal equations
    size_t count = 0;
    for (size_t i = 0; i < sample_.x.size(); ++i) {
      if (std::fabs(sample_.x[i]) > limit) continue;
      std::vector<double> basis(n, 1);
      const double t = sample_.x[i] / limit;
      for (size_t k = 1; k < n; ++k) basis[k] = k == 1 ? t : 2 * t * basis[k - 1] - basis[k - 2];
      for (size_t r = 0; r < n; ++r) {
        for (size_t c = 0; c < n; ++c) a[r * (n + 1) + c] += basis[r] * basis[c];
        a[r * (n + 1) + n] += basis[r] * sample_.device[i];
      }
      ++count;
    }
    return count < 8 * n ? std::vector<double>() : Solved(std::move(a), n);
  }

  static std::vector<double> Solved(std::vector<double> a, size_t n) {
    for (size_t p = 0; p < n; ++p) {
      size_t best = p;
      for (size_t r = p + 1; r < n; ++r) {
        if (std::fabs(a[r * (n + 1) + p]) > std::fabs(a[best * (n + 1) + p])) best = r;
      }
      for (size_t c = 0; c <= n; ++c) std::swap(a[p * (n + 1) + c], a[best * (n + 1) + c]);
      const double pivot = a[p * (n + 1) + p];
      if (!(std::fabs(pivot) > 1e-12)) return {};
      for (size_t r = 0; r < n; ++r) {
        const double times = r == p ? 0 : a[r * (n + 1) + p] / pivot;
        for (size_t c = p; c <= n; ++c) a[r * (n + 1) + c] -= times * a[p * (n + 1) + c];
      }
    }
    std::vector<double> x(n);
    for (size_t r = 0; r < n; ++r) x[r] = a[r * (n + 1) + n] / a[r * (n + 1) + r];
    return x;
  }

  const std::string name_;
  double (*f_)(double);
  const ApproximationSample sample_;
  std::vector<Approximation> found_;
};

}  // namespace

std::vector<Approximation> FindApproximations(const std::string& name, double (*function)(double), const Tensor& x,
                                              const Tensor& device) {
  ApproximationSample sample = SampleOf(function, x, device);
  if (sample.x.size() < 2 || sample.own == 0) return {};
  return ApproximationFinder(name, function, std::move(sample)).Find();
}

}  // namespace plumb
