// SPDX-License-Identifier: Apache-2.0
// What many samples gave, counted, ranked and in lines for people.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "plumb/tool/many.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

// E. B. Wilson, Journal of the American Statistical Association 22 (1927): the interval of a share, here of 95 %.
void AddInterval(ManyReport* report) {
  if (report->ran == 0) return;
  constexpr double kZ = 1.959963984540054;
  const auto n = static_cast<double>(report->ran);
  const double share = static_cast<double>(report->agreed) / n, z2 = kZ * kZ;
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  report->low = std::max(0.0, middle - half), report->high = std::min(1.0, middle + half);
}

std::string ShortNumber(double value) { return std::isfinite(value) ? fmt::format("{:.3g}", value) : "infinite"; }

std::string Counts(const ManyReport& report, const std::string& sides) {
  const auto scores = [](const SampleResult& sample) { return sample.top1_device >= 0; };
  std::string text = fmt::format("samples {} {}: ", report.ran, sides);
  if (report.ran == 0) {
    text += "none could be compared";
  } else if (std::any_of(report.samples.begin(), report.samples.end(), scores)) {
    text += fmt::format("the answer is the same for {} ({:.1f} %, 95 % interval {:.1f} to {:.1f} %)", report.agreed,
                        100.0 * static_cast<double>(report.agreed) / static_cast<double>(report.ran), 100 * report.low,
                        100 * report.high);
  } else {
    text += fmt::format("outputs differ by {} of their largest value at most", ShortNumber(report.samples[0].relative));
  }
  return text + (report.kept > 0 ? fmt::format("; {} were done before", report.kept) : "");
}

std::vector<TextCell> RowOf(const SampleResult& sample) {
  const std::string top = sample.top1_device < 0 ? ""
                          : sample.changed       ? fmt::format("#{} -> #{}", sample.top1_reference, sample.top1_device)
                                                 : fmt::format("#{}", sample.top1_device);
  return {{sample.name},
          {sample.output},
          {top},
          {sample.changed ? ShortNumber(sample.margin) : "-"},
          {sample.changed ? ShortNumber(sample.moved) : "-"},
          {ShortNumber(sample.relative)}};
}

}  // namespace

bool IsWorse(const SampleResult& a, const SampleResult& b) {
  if (a.error.empty() != b.error.empty()) return a.error.empty();
  if (a.changed != b.changed) return a.changed;
  return a.relative > b.relative;
}

ManyReport RankSamples(std::vector<SampleResult> samples) {
  ManyReport report;
  for (const SampleResult& sample : samples) {
    report.failed += !sample.error.empty();
    report.ran += sample.error.empty();
    report.agreed += sample.error.empty() && !sample.changed;
  }
  report.samples = std::move(samples);
  std::stable_sort(report.samples.begin(), report.samples.end(), IsWorse);
  AddInterval(&report);
  return report;
}

std::string SidesOf(const ManyOptions& options) {
  const std::string reference = options.golden.given() ? "the golden" : "the reference";
  if (options.subject.given()) return fmt::format("of the subject and of {}", reference);
  return options.golden.given() ? fmt::format("run on {} and of the golden", options.device)
                                : fmt::format("run on {} and on the reference", options.device);
}

std::string FormatMany(const ManyReport& report, const std::string& sides, int most, size_t width) {
  std::string text = Wrapped(Counts(report, sides), width, 8) + "\n";
  TextTable table({{"sample", 0, false, true},
                   {"output", 1, false, true},
                   {"top-1", 0},
                   {"margin", 2, true},
                   {"moved", 2, true},
                   {"relative", 0, true}});
  const int64_t rows = std::min<int64_t>(most, report.ran);
  for (int64_t i = 0; i < rows; ++i) table.Add(RowOf(report.samples[static_cast<size_t>(i)]));
  if (rows > 0) text += table.Format(width);
  if (rows > 0 && report.ran > rows) text += fmt::format("...    {} more that differ less\n", report.ran - rows);
  for (const SampleResult& sample : report.samples) {
    if (!sample.error.empty())
      text +=
          Wrapped(PrintableLine(fmt::format("'{}' could not be run: {}", sample.name, sample.error)), width, 4) + "\n";
  }
  return text;
}

}  // namespace plumb
