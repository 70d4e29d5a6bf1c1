// SPDX-License-Identifier: Apache-2.0
// The order of versions, and the search for the first one that is wrong, by runs that are counted.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "plumb/tool/bisect_wheels.h"

namespace plumb {
namespace {

using Versions = std::vector<std::string>;

// A package with versions 1.0 ... 1.<count-1>, wrong where `wrong` says so; `broken` ones cannot be run.
struct Package {
  int count;
  std::function<bool(int at)> wrong;
  std::set<int> broken;
  int runs = 0;

  static std::string Name(int at) { return "1." + std::to_string(at); }
  Result<VersionReport> Searched() {
    VersionOptions options;
    std::map<std::string, int> places;
    for (int i = 0; i < count; ++i) {
      options.versions.push_back(Name(i));
      places[Name(i)] = i;
    }
    options.run = [&, places](const std::string& version) -> Result<BisectRun> {
      ++runs;
      const int at = places.at(version);
      if (broken.count(at) > 0) return Status::InvalidArgument("no wheel");
      BisectRun run;
      run.wrong = wrong(at);
      run.verdict = run.wrong ? "wrong at 'conv1' (Convolution)" : "aligned";
      return run;
    };
    return BisectVersions(options);
  }
};

TEST(VersionSearch, TakesTheLogarithmAndTwoRuns) {
  for (const int count : {2, 3, 16, 33}) {
    for (int first = 1; first < count; ++first) {
      Package package{count, [&](int at) { return at >= first; }, {}};
      const VersionReport report = package.Searched().value();
      ASSERT_TRUE(report.found());
      EXPECT_EQ(report.before, Package::Name(first - 1)) << count;
      EXPECT_EQ(report.with, Package::Name(first)) << count;
      EXPECT_FALSE(report.heals);
      EXPECT_TRUE(report.skipped.empty());
      EXPECT_LE(package.runs, 2 + static_cast<int>(std::ceil(std::log2(count)))) << count;
    }
  }
}

TEST(VersionSearch, FindsWhatHeals) {
  Package package{9, [](int at) { return at < 6; }, {}};
  const VersionReport report = package.Searched().value();
  EXPECT_TRUE(report.heals);
  EXPECT_EQ(report.with, "1.6");
  EXPECT_NE(FormatVersionText(report, "runtime", 200)
                .find("runtime 1.6 heals it: wrong at 'conv1' (Convolution) with 1.5, aligned with 1.6"),
            std::string::npos)
      << FormatVersionText(report, "runtime", 200);
}

TEST(VersionSearch, WhatCannotBeRunGivesWayToItsNeighbours) {
  // At the ends, in the middle, and beside the version that brings it.
  Package package{17, [](int at) { return at >= 11; }, {0, 1, 16, 7, 8, 9, 10}};
  const VersionReport report = package.Searched().value();
  EXPECT_EQ(report.before, "1.6");
  EXPECT_EQ(report.with, "1.11");
  EXPECT_EQ(report.skipped, (Versions{"1.7", "1.8", "1.9", "1.10"}));
  const std::string text = FormatVersionText(report, "runtime", 200);
  EXPECT_NE(text.find("1.7, 1.8, 1.9, 1.10 between them cannot be run, and may be the first"), std::string::npos)
      << text;
  EXPECT_NE(text.find("skipped: no wheel"), std::string::npos) << text;
  EXPECT_LT(text.find("\n1.6 "), text.find("\n1.11 ")) << "in the order of the versions\n" << text;
}

TEST(VersionSearch, EveryPatternOfSkipsEndsAtAChange) {
  constexpr int kCount = 7;
  for (int mask = 0; mask < 1 << (kCount - 2); ++mask) {
    for (int first = 1; first < kCount; ++first) {
      Package package{kCount, [&](int at) { return at >= first; }, {}};
      for (int i = 0; i < kCount - 2; ++i) {
        if ((mask >> i & 1) != 0) package.broken.insert(i + 1);
      }
      const VersionReport report = package.Searched().value();
      const int before = std::stoi(report.before.substr(2)), with = std::stoi(report.with.substr(2));
      EXPECT_LT(before, first);
      EXPECT_GE(with, first);
      EXPECT_EQ(report.skipped.size(), static_cast<size_t>(with - before - 1));
      for (int i = before + 1; i < with; ++i) EXPECT_EQ(package.broken.count(i), 1u) << "one that can be run is left";
    }
  }
}

TEST(VersionSearch, AgreeingEndsAreTwoRuns) {
  Package package{12, [](int) { return true; }, {}};
  const VersionReport report = package.Searched().value();
  EXPECT_FALSE(report.found());
  EXPECT_EQ(package.runs, 2);
  EXPECT_NE(FormatVersionText(report, "runtime", 300).find("neither brings nor heals it"), std::string::npos);
}

TEST(VersionSearch, WhereNothingRunsItGivesUpSoon) {
  Package package{40, [](int) { return true; }, {}};
  for (int i = 0; i < 40; ++i) package.broken.insert(i);
  const auto report = package.Searched();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().message().find("none of the 4 oldest versions can be run; 1.3: no wheel"),
            std::string::npos)
      << report.status().message();
  EXPECT_EQ(package.runs, 4);
  package.broken.erase(2);
  EXPECT_FALSE(package.Searched().ok()) << "the newest four cannot be run";
  Package one{3, [](int) { return true; }, {0, 2}};
  EXPECT_EQ(one.Searched().status().message(), "only version 1.1 can be run");
}

TEST(VersionSearch, OtherErrorsEndIt) {
  VersionOptions options;
  options.versions = {"1", "2"};
  options.run = [](const std::string&) -> Result<BisectRun> { return Status::NotSupported("no venv"); };
  const auto report = BisectVersions(options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().message(), "version 1: no venv");
  options.versions = {"1"};
  EXPECT_FALSE(BisectVersions(options).ok());
}

TEST(VersionOrder, IsThatOfPackages) {
  const Versions sorted = {"0.9", "1.0a1", "1.0rc1", "1.0", "1.0.post1", "1.0.post2", "1.2", "1.9.9", "1.10", "2"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = 0; j < sorted.size(); ++j) {
      const int order = CompareVersions(sorted[i], sorted[j]);
      EXPECT_EQ(order < 0, i < j) << sorted[i] << " " << sorted[j];
      EXPECT_EQ(order > 0, i > j) << sorted[i] << " " << sorted[j];
    }
  }
  EXPECT_LT(CompareVersions("1.0.dev3", "1.0"), 0);
  EXPECT_EQ(CompareVersions("1.2", "1.2.0"), 0);
  EXPECT_EQ(CompareVersions("1.2+cpu", "1.2"), 0);
  EXPECT_LT(CompareVersions("20260101", "99999999999999999999"), 0);  // longer than a number
}

TEST(VersionOrder, ARangeTakesWhatIsReleasedInIt) {
  const WheelRange range = ParseWheelRange("onnxruntime==1.17.0..1.20.1").value();
  EXPECT_EQ(range.package, "onnxruntime");
  const Versions all = {"1.20.2", "1.20.1", "1.20.0rc1", "1.19.0", "1.17.3.post1", "1.17.0", "1.16.9"};
  EXPECT_EQ(VersionsBetween(all, range).value(), (Versions{"1.17.0", "1.17.3.post1", "1.19.0", "1.20.1"}));
  const auto none = VersionsBetween({"0.1", "0.2"}, range);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("has no version of 1.17.0 to 1.20.1 for this Python"), std::string::npos)
      << none.status().message();
}

TEST(VersionOrder, AnotherFormIsOneSentence) {
  for (const char* text : {"", "onnxruntime", "onnxruntime==1.2", "==1..2", "a==..2", "a==1..", "a b==1..2",
                           "--evil==1..2", "a==1;x..2", "a..2==1"}) {
    const auto range = ParseWheelRange(text);
    ASSERT_FALSE(range.ok()) << text;
    EXPECT_NE(range.status().message().find("expected PACKAGE==OLDEST..NEWEST"), std::string::npos) << text;
  }
  const auto turned = ParseWheelRange("a==1.10..1.9");
  ASSERT_FALSE(turned.ok());
  EXPECT_EQ(turned.status().message(), "1.9 is not newer than 1.10: name the older version first");
  EXPECT_FALSE(ParseWheelRange("a==1.0..1").ok()) << "the same version";
}

}  // namespace
}  // namespace plumb
