// SPDX-License-Identifier: Apache-2.0
// The order of versions, and the search for the one that brings a wrong verdict.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "plumb/tool/bisect_wheels.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "1.2.post1+cpu": release 1.2, post 1. Parts of more digits than a number holds are cut.
struct VersionKey {
  std::vector<long> release;  // without zeros at its end
  bool is_pre_release = false;
  std::string pre_release;  // "rc1"
  long post = 0;

  explicit VersionKey(const std::string& version) {
    constexpr size_t kMostDigits = 9;
    const std::string text = version.substr(0, version.find('+'));
    size_t at = 0;
    while (at < text.size() && IsDigit(text[at])) {
      size_t end = at;
      while (end < text.size() && IsDigit(text[end])) ++end;
      release.push_back(std::stol(text.substr(at, std::min(end - at, kMostDigits))));
      at = end < text.size() && text[end] == '.' ? end + 1 : end;
    }
    while (!release.empty() && release.back() == 0) release.pop_back();
    const std::string rest = text.substr(at);
    if (rest.rfind("post", 0) == 0) {
      const std::string number = rest.substr(4, kMostDigits);
      post = !number.empty() && IsDigit(number[0]) ? std::stol(number) + 1 : 1;
    } else {
      is_pre_release = !rest.empty();
      pre_release = rest;
    }
  }
};

bool IsVersion(const std::string& text) {
  constexpr const char* kCharacters = "0123456789abcdefghijklmnopqrstuvwxyz.+!-_";
  return !text.empty() && IsDigit(text[0]) && text.find_first_not_of(kCharacters) == std::string::npos;
}

bool IsPackage(const std::string& text) {
  constexpr const char* kCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
  return !text.empty() && std::isalnum(static_cast<unsigned char>(text[0])) != 0 &&
         text.find_first_not_of(kCharacters) == std::string::npos;
}

class VersionSearch {
 public:
  explicit VersionSearch(const VersionOptions& options)
      : options_(options), tried_(options.versions.size()), verdicts_(options.versions.size()) {
    report_.versions = options.versions.size();
  }

  Result<VersionReport> Go() {
    const size_t count = options_.versions.size();
    PLUMB_ASSIGN_OR_RETURN(size_t older, FirstThatRuns(0, 1));
    PLUMB_ASSIGN_OR_RETURN(size_t newer, FirstThatRuns(count - 1, -1));
    if (older >= newer)
      return Status::InvalidArgument(fmt::format("only version {} can be run", options_.versions[older]));
    if (*verdicts_[older] == *verdicts_[newer]) return std::move(report_);
    for (size_t middle; (middle = Middle(older, newer)) != older;) {
      PLUMB_RETURN_IF_ERROR(Run(middle));
      if (verdicts_[middle]) (*verdicts_[middle] == *verdicts_[older] ? older : newer) = middle;
    }
    report_.before = options_.versions[older];
    report_.with = options_.versions[newer];
    report_.heals = *verdicts_[older];
    for (size_t i = older + 1; i < newer; ++i) report_.skipped.push_back(options_.versions[i]);
    return std::move(report_);
  }

 private:
  Status Run(size_t at) {
    VersionRun done;
    done.version = options_.versions[at];
    auto run = options_.run(done.version);
    if (!run.ok() && run.status().code() != StatusCode::kInvalidArgument)
      return run.status().AddContext("version " + done.version);
    tried_[at] = true;
    if (run.ok()) {
      verdicts_[at] = run->wrong;
      done.run = *std::move(run);
    } else {
      done.skipped = run.status().message();
    }
    if (options_.done) options_.done(done);
    report_.runs.push_back(std::move(done));
    return Status::Ok();
  }

  Result<size_t> FirstThatRuns(size_t at, int step) {
    constexpr int kMostSkipped = 4;  // at one end: a command that always fails installs no whole history
    for (int skipped = 0; skipped < kMostSkipped && at < options_.versions.size(); ++skipped) {
      if (!tried_[at]) PLUMB_RETURN_IF_ERROR(Run(at));
      if (verdicts_[at]) return at;
      at += static_cast<size_t>(step);  // below 0: beyond the end
    }
    const VersionRun& last = report_.runs.back();
    return Status::InvalidArgument(fmt::format("none of the {} {} versions can be run; {}: {}",
                                               std::min(options_.versions.size(), static_cast<size_t>(kMostSkipped)),
                                               step > 0 ? "oldest" : "newest", last.version, last.skipped));
  }

  // The one that was not tried nearest to the middle between the two; `older` where there is none.
  size_t Middle(size_t older, size_t newer) const {
    const auto distance = [&](size_t at) {
      return 2 * at > older + newer ? 2 * at - older - newer : older + newer - 2 * at;
    };
    size_t best = older;
    for (size_t at = older + 1; at < newer; ++at) {
      if (!tried_[at] && (best == older || distance(at) < distance(best))) best = at;
    }
    return best;
  }

  const VersionOptions& options_;
  VersionReport report_;
  std::vector<bool> tried_;
  std::vector<std::optional<bool>> verdicts_;  // whether it is wrong
};

std::string JoinedVersions(const std::vector<std::string>& versions) {
  std::string text;
  for (const std::string& one : versions) text += (text.empty() ? "" : ", ") + one;
  return text;
}

const VersionRun& RunOf(const VersionReport& report, const std::string& version) {
  return *std::find_if(report.runs.begin(), report.runs.end(),
                       [&](const VersionRun& run) { return run.version == version; });
}

std::string VersionFinding(const VersionReport& report, const std::string& package) {
  const auto said = [&](const std::string& version) {
    return fmt::format("{} with {}", RunOf(report, version).run.verdict, version);
  };
  if (report.found()) {
    std::string text = fmt::format("{} {} {} it: {}, {}", package, report.with, report.heals ? "heals" : "brings",
                                   said(report.before), said(report.with));
    if (!report.skipped.empty())
      text += fmt::format("; {} between them cannot be run, and may be the first", JoinedVersions(report.skipped));
    return text;
  }
  std::vector<std::string> ran;
  for (const VersionRun& one : report.runs) {
    if (one.skipped.empty()) ran.push_back(one.version);
  }
  return fmt::format("neither brings nor heals it: {}, {}; those between were not run", said(ran.front()),
                     said(ran.back()));
}

}  // namespace

int CompareVersions(const std::string& a, const std::string& b) {
  const VersionKey left(a), right(b);
  if (left.release != right.release) return left.release < right.release ? -1 : 1;
  if (left.is_pre_release != right.is_pre_release) return left.is_pre_release ? -1 : 1;
  if (left.post != right.post) return left.post < right.post ? -1 : 1;
  return left.pre_release.compare(right.pre_release);
}

Result<WheelRange> ParseWheelRange(const std::string& text) {
  const size_t equals = text.find("=="), dots = text.find("..");
  WheelRange range;
  if (equals != std::string::npos && dots != std::string::npos && dots > equals) {
    range = {text.substr(0, equals), text.substr(equals + 2, dots - equals - 2), text.substr(dots + 2)};
  }
  if (!IsPackage(range.package) || !IsVersion(range.first) || !IsVersion(range.last))
    return Status::InvalidArgument(fmt::format("expected PACKAGE==OLDEST..NEWEST, found '{}'", text));
  if (CompareVersions(range.first, range.last) >= 0)
    return Status::InvalidArgument(
        fmt::format("{} is not newer than {}: name the older version first", range.last, range.first));
  return range;
}

Result<std::vector<std::string>> VersionsBetween(const std::vector<std::string>& all, const WheelRange& range) {
  std::vector<std::string> between;
  for (const std::string& one : all) {
    const bool inside = CompareVersions(range.first, one) <= 0 && CompareVersions(one, range.last) <= 0;
    if (inside && !VersionKey(one).is_pre_release) between.push_back(one);
  }
  const auto older = [](const std::string& a, const std::string& b) { return CompareVersions(a, b) < 0; };
  std::sort(between.begin(), between.end(), older);
  if (between.size() >= 2) return between;
  std::vector<std::string> sorted = all;
  std::sort(sorted.begin(), sorted.end(), older);
  return Status::InvalidArgument(
      fmt::format("{} has {} of {} to {} for this Python, and two are needed; it has {}", range.package,
                  between.empty() ? "no version" : "one version, " + between[0] + ",", range.first, range.last,
                  sorted.size() > 1 ? sorted.front() + " to " + sorted.back() : JoinedVersions(sorted)));
}

Result<VersionReport> BisectVersions(const VersionOptions& options) {
  if (options.versions.size() < 2)
    return Status::InvalidArgument(fmt::format("two versions are needed, found {}", options.versions.size()));
  return VersionSearch(options).Go();
}

std::string FormatVersionText(const VersionReport& report, const std::string& package, size_t width) {
  std::vector<VersionRun> runs = report.runs;
  std::sort(runs.begin(), runs.end(),
            [](const VersionRun& a, const VersionRun& b) { return CompareVersions(a.version, b.version) < 0; });
  TextTable table({{"version", 0, false, true}, {"verdict"}});
  for (const VersionRun& one : runs)
    table.Add({{one.version}, {one.skipped.empty() ? one.run.verdict : "skipped: " + one.skipped}});
  const std::string finding = fmt::format("{}; {} of {} versions were run", VersionFinding(report, package),
                                          report.runs.size(), report.versions);
  std::string text = table.Format(width) + "\n" + Wrapped(PrintableLine(finding), width, 4) + "\n";
  if (!report.again.empty()) text += "Again: " + PrintableLine(report.again) + "\n";
  return text;
}

std::string FormatVersionLines(const VersionReport& report, const std::string& package) {
  using VersionJson = nlohmann::ordered_json;
  std::string text;
  const auto add = [&](const VersionJson& json) {
    text += json.dump(-1, ' ', false, VersionJson::error_handler_t::replace) + "\n";
  };
  for (const VersionRun& one : report.runs) {
    if (!one.skipped.empty()) {
      add({{"version", one.version}, {"skipped", one.skipped}});
      continue;
    }
    add({{"version", one.version},
         {"wrong", one.run.wrong},
         {"verdict", one.run.verdict},
         {"bits", one.run.bits},
         {"seconds", one.run.seconds}});
  }
  add({{"package", package},
       {"found", report.found()},
       {"before", report.before},
       {"with", report.with},
       {"heals", report.heals},
       {"skipped_between", report.skipped},
       {"versions", report.versions},
       {"runs", report.runs.size()},
       {"again", report.again}});
  return text;
}

}  // namespace plumb
