// SPDX-License-Identifier: Apache-2.0
// The operator test: one binary runs every case of every operator (util/op_case.h).
//   <Op>/OpTest.Reference/<case>             NAIVE against the expected values, against itself in f64, against its
//   bound <Op>/OpTest.MatchesNaive/<case>_<device> every other device of this machine against NAIVE, judged by its
//   bound <Op>/OpTest.SavesAndLoads/<case>         written as tnnproto and tnnmodel and read again, to the same bits
//   OpTable.*                                every row of op_list.def has cases
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "device/device.h"
#include "op/core/op.h"
#include "op/device_test.h"
#include "op/format_test.h"
#include "op/op_map.h"
#include "op/reference_test.h"
#include "op/support_table.h"
#include "plumb/plumb.h"
#include "util/op_case.h"

namespace plumb {

#define PLUMB_OP(name, file, min_inputs, max_inputs, outputs) std::vector<OpCase> file##_cases();
#include "op/core/op_list.def"
#undef PLUMB_OP

const std::vector<OpCase>& AllOpCases() {
  static const std::vector<OpCase>* all = [] {
    auto* cases = new std::vector<OpCase>;
    std::set<std::string> seen;
    const auto add = [&](const char* file, std::vector<OpCase> (*of_file)()) {
      if (!seen.insert(file).second) return;
      for (OpCase& c : of_file()) cases->push_back(std::move(c));
    };
#define PLUMB_OP(name, file, min_inputs, max_inputs, outputs) add(#file, file##_cases);
#include "op/core/op_list.def"
#undef PLUMB_OP
    return cases;
  }();
  return *all;
}

namespace {

class CaseTest : public testing::Test {
 public:
  CaseTest(const OpCase& op_case, std::function<void(const OpCase&)> body) : case_(op_case), body_(std::move(body)) {}
  void TestBody() override { body_(case_); }

 private:
  const OpCase& case_;
  std::function<void(const OpCase&)> body_;
};

void Register(const OpCase& c, const std::string& test, const std::string& suffix,
              std::function<void(const OpCase&)> body) {
  testing::RegisterTest((c.op + "/OpTest").c_str(), (test + "/" + c.name + suffix).c_str(), nullptr, nullptr, __FILE__,
                        __LINE__, [&c, body]() -> testing::Test* { return new CaseTest(c, body); });
}

TEST(OpTable, EveryOperatorHasCases) {
  std::set<std::string> with_cases;
  for (const OpCase& c : AllOpCases()) with_cases.insert(c.op);
  for (const OpDef& op : AllOps()) {
    EXPECT_EQ(with_cases.count(op.name), 1u) << "add a case for " << op.name << " to its file in test/op/";
  }
}

TEST(OpTable, CaseNamesAreUnique) {
  std::set<std::string> names;
  for (const OpCase& c : AllOpCases()) {
    EXPECT_NE(FindOp(c.op), nullptr) << "case " << c.name << " names the operator '" << c.op
                                     << "', which does not exist";
    EXPECT_TRUE(names.insert(c.op + "/" + c.name).second) << "two cases are called " << c.op << "/" << c.name;
  }
}

std::string Page(const std::string& name) {
  std::ifstream page(std::string(PLUMB_TEST_DATA) + "/../../doc/" + name);
  return {std::istreambuf_iterator<char>(page), {}};
}

TEST(OpTable, SupportPageEndsWithTheNamesOfOtherFormats) {
  const std::string text = Page("op_support.md"), names = ImportedNames();
  ASSERT_GT(text.size(), names.size());
  EXPECT_TRUE(text.substr(text.size() - names.size()) == names) << "run: op_test --support > doc/op_support.md";
}

// A page that nobody prints again would lead to files that are gone.
TEST(OpTable, MapIsThatOfTheLists) {
  const std::string root = std::string(PLUMB_TEST_DATA) + "/../../";
  EXPECT_TRUE(Page("op_map.md") == OpMap()) << "run: op_test --map > doc/op_map.md";
  for (const std::string& file : FilesOfOpMap()) EXPECT_TRUE(std::filesystem::exists(root + file)) << file;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--map") {
    std::fputs(plumb::OpMap().c_str(), stdout);
    return 0;
  }
  if (argc == 2 && std::string(argv[1]) == "--support") {
    std::fputs(plumb::SupportTable().c_str(), stdout);
    return 0;
  }
  for (const plumb::OpCase& c : plumb::AllOpCases()) {
    plumb::Register(c, "Reference", "", plumb::TestReference);
    plumb::Register(c, "SavesAndLoads", "", plumb::TestSavesAndLoads);
  }
  for (const plumb::DeviceInfo& device : plumb::ListDevices()) {
    if (!device.present || device.name == "NAIVE") continue;
    std::string suffix = "_" + device.name;
    std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const plumb::OpCase& c : plumb::AllOpCases()) {
      plumb::Register(c, "MatchesNaive", suffix,
                      [name = device.name](const plumb::OpCase& k) { plumb::TestOnDevice(k, name); });
    }
    for (const plumb::Precision precision : {plumb::Precision::kNormal, plumb::Precision::kLow}) {
      if (plumb::OpenDevice(device.name).value()->EffectivePrecision(precision) != precision) continue;
      const char* kind = precision == plumb::Precision::kLow ? "_low" : "_f16";
      for (const plumb::OpCase& c : plumb::AllOpCases()) {
        const auto is_f32 = [](const auto& input) { return input.dtype == plumb::DType::kF32; };
        if (std::none_of(c.inputs.begin(), c.inputs.end(), is_f32)) continue;
        plumb::Register(c, "MatchesNaive", suffix + kind, [name = device.name, precision](const plumb::OpCase& k) {
          plumb::TestOnDevice(k, name, precision);
        });
      }
    }
  }
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  plumb::PrintWorstCases();
  return failed;
}
