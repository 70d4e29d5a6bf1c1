// SPDX-License-Identifier: Apache-2.0
// Every case of the ONNX backend tests on NAIVE and X86, at the suite's own tolerance. The cases that do not pass stand
// in test/data/onnx/backend_unsupported.txt, each with its reason; one of them that passes fails the run, so the list
// shrinks. That list is of Debian 12's onnx: with newer cases those of the other two lists may fail as well, and pass.
// PLUMB_ONNX_CASE=test_add runs the cases whose names begin like that and prints their outcomes; PLUMB_ONNX_LIST=FILE
// writes the list as it would have to be. PLUMB_ONNX_DATA and PLUMB_ONNX_UNSUPPORTED name other cases and their list:
// newest_cases.py runs those of the newest onnx so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "base/text.h"
#include "format/onnx/backend_case.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

constexpr const char* kGroups[] = {"node", "simple", "pytorch-converted", "pytorch-operator", "light"};

struct Expected {
  std::map<std::string, std::string> reasons;
  bool exactly = true;  // what is listed must not pass
};

void ReadList(const std::string& path, std::map<std::string, std::string>* reasons) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    EXPECT_NE(space, std::string::npos) << "'" << line << "' has no reason";
    (*reasons)[line.substr(0, space)] = line.substr(std::min(space, line.size() - 1) + 1);
  }
}

Expected ReadLists() {
  Expected expected;
  if (const char* path = std::getenv("PLUMB_ONNX_UNSUPPORTED")) {
    ReadList(path, &expected.reasons);
    return expected;
  }
  const std::string lists = PLUMB_TEST_DATA "/onnx/backend_unsupported";
  ReadList(lists + ".txt", &expected.reasons);
  const std::vector<std::string> cases = BackendCases("node");
  const auto is_newer = [](const std::string& folder) { return EndsWith(folder, "/test_affine_grid_2d"); };
  expected.exactly = std::none_of(cases.begin(), cases.end(), is_newer);
  if (expected.exactly) return expected;
  for (const char* more : {"_1_17.txt", "_newest.txt"}) ReadList(lists + more, &expected.reasons);
  return expected;
}

struct Counts {
  int passed = 0, same_dtypes = 0, failed = 0, not_supported = 0, bound = 0, folded = 0, fallback = 0;
};

void Print(const std::string& device, const std::map<std::string, Counts>& per_op, const Counts& total) {
  for (const auto& [op, counts] : per_op) {
    std::printf("  %-28s passed %3d  failed %3d  not supported %3d\n", op.c_str(), counts.passed, counts.failed,
                counts.not_supported);
  }
  std::printf(
      "%s: %d passed (%d in the suite's own dtypes, %d with inputs bound as constants, %d folded altogether, %d with "
      "layers on NAIVE), %d failed, %d "
      "not supported\n",
      device.c_str(), total.passed, total.same_dtypes, total.bound, total.folded, total.fallback, total.failed,
      total.not_supported);
}

void Add(const BackendOutcome& outcome, Counts* counts) {
  counts->passed += outcome.kind == BackendOutcome::kPassed;
  counts->failed += outcome.kind == BackendOutcome::kFailed;
  counts->not_supported += outcome.kind == BackendOutcome::kNotSupported;
  if (outcome.kind != BackendOutcome::kPassed) return;
  counts->same_dtypes += outcome.same_dtypes;
  counts->bound += outcome.bound_inputs > 0;
  counts->folded += outcome.bound_inputs > 0 && outcome.layers <= 1;
  counts->fallback += outcome.fallback;
}

// Runs all groups; a case fails the test when the list does not expect its outcome.
void RunAll(const std::string& device, bool round_trip) {
  if (BackendCases("node").empty()) GTEST_SKIP() << "install libonnx-testdata to run the ONNX backend tests";
  const Expected expected = ReadLists();
  const char* only = std::getenv("PLUMB_ONNX_CASE");
  const char* list_path = std::getenv("PLUMB_ONNX_LIST");
  std::ofstream list;
  if (list_path != nullptr) list.open(list_path);
  std::map<std::string, Counts> per_op;
  for (const char* group : kGroups) {
    Counts total;
    for (const std::string& folder : BackendCases(group)) {
      const std::string name = folder.substr(folder.rfind('/') + 1);
      if (only != nullptr && name.rfind(only, 0) != 0) continue;
      const bool light =
          std::string(group) == "light";  // whole networks of operators that the others have: no round trip
      const BackendOutcome outcome = RunBackendCase(folder, device, round_trip && !light);
      Add(outcome, &total);
      Add(outcome, &per_op[outcome.op_type]);
      const bool passed = outcome.kind == BackendOutcome::kPassed;
      const std::string id = std::string(group) + "/" + name;
      const char* how = outcome.fallback ? "passed, with layers on NAIVE" : "passed";
      if (only != nullptr) std::printf("%s: %s\n", id.c_str(), passed ? how : outcome.reason.c_str());
      if (!passed && list.is_open()) list << id << " " << outcome.reason << "\n";
      if (list_path != nullptr) continue;
      const bool listed = expected.reasons.count(id) != 0;
      EXPECT_TRUE(passed || listed) << id << " on " << device << ": " << outcome.reason;
      EXPECT_FALSE(passed && listed && expected.exactly) << id << " passes on " << device << "; take it off the list";
    }
    Print(device + ", " + group, per_op, total);
    per_op.clear();
  }
}

TEST(OnnxBackendTest, Naive) { RunAll("NAIVE", /*round_trip=*/true); }

TEST(OnnxBackendTest, X86) {
  if (!OpenDevice("X86").ok()) GTEST_SKIP() << "X86 is not built in";
  RunAll("X86", /*round_trip=*/true);
}

// The GPU devices, where they are: a ctest entry of their own.
TEST(OnnxBackendGpuTest, Opencl) {
  if (!OpenDevice("OPENCL").ok()) GTEST_SKIP() << "there is no OPENCL";
  RunAll("OPENCL", /*round_trip=*/true);
}

TEST(OnnxBackendGpuTest, Vulkan) {
  if (!OpenDevice("VULKAN").ok()) GTEST_SKIP() << "there is no VULKAN";
  RunAll("VULKAN", /*round_trip=*/true);
}

}  // namespace
}  // namespace plumb
