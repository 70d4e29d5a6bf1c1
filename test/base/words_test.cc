// SPDX-License-Identifier: Apache-2.0
// What was meant by a misspelt word; the list of environment variables and what it is compared with.
#include "plumb/tool/printing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/cpu.h"
#include "plumb/tool/environment.h"

namespace plumb {
namespace {

TEST(Words, DistanceCountsEditsAndSwapsInAnyCase) {
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("precison", "precision"), 1);
  EXPECT_EQ(EditDistance("x68", "X86"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("same", "SAME"), 0);
}

TEST(Words, TheNearestIsSaidAndNothingFarFetched) {
  const std::vector<std::string> devices = {"NAIVE", "X86", "ARM", "OPENCL", "VULKAN"};
  EXPECT_EQ(NearestWord("VULCAN", devices), "VULKAN");
  EXPECT_EQ(NearestWord("opengl", devices), "OPENCL");
  EXPECT_EQ(NearestWord("x68", devices), "X86");
  EXPECT_EQ(NearestWord("vul", devices), "VULKAN");
  EXPECT_EQ(NearestWord("CUDA", devices), "");
  EXPECT_EQ(NearestWord("Q", devices), "");
  EXPECT_EQ(DidYouMean("CUDA", devices), "");
  EXPECT_EQ(UnknownWord("--rule", "cosin", {"default", "tnn", "cosine"}),
            "--rule: expected default, tnn or cosine, found 'cosin'; did you mean 'cosine'?");
}

TEST(Words, IsaNamesAreSuggestedToo) {
  EXPECT_NE(SetMaxIsa("SSE4").message().find("did you mean 'SSE41'?"), std::string::npos);
}

// Sets one variable while it lives.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name) { ::setenv(name, "1", 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Environment, MisspeltNamesAreRefusedAndOthersAreNot) {
  const std::pair<const char*, const char*> wrong[] = {{"PLUMB_CACHEDIR", "PLUMB_CACHE_DIR"},
                                                       {"PLUMB_MAX_ISA", "PLUMB_MAX_CPU_ISA"},
                                                       {"plumb", nullptr},
                                                       {"PLUMB_PYHTON", "PLUMB_PYTHON"},
                                                       {"DUMP_OUPUT_BLOB", "DUMP_OUTPUT_BLOB"},
                                                       {"DUMP_BLOB_FOLDER", "DUMP_BLOB_"},
                                                       {"SAVE_IO_TENSOR", "SAVE_IO_TENSORS"},
                                                       {"DUMP_CORE", nullptr},
                                                       {"DUMP_OUTPUT", nullptr},
                                                       {"PLUMB_BIN_DIR", nullptr},
                                                       {"PLUMB_ROOT", nullptr},
                                                       {"PLUMB_LOGS", "PLUMB_LOG"},
                                                       {"PLUMB_TEST_PYTHON", nullptr}};
  for (const auto& [name, meant] : wrong) {
    const Variable set(name);
    const Status status = CheckEnvironment();
    EXPECT_EQ(status.ok(), meant == nullptr) << name << ": " << status.message();
    if (meant == nullptr) continue;
    EXPECT_NE(status.message().find(std::string("unknown environment variable ") + name), std::string::npos);
    EXPECT_NE(status.message().find(std::string("did you mean ") + meant), std::string::npos) << status.message();
  }
}

std::string Text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> Names() {
  std::set<std::string> names;
  for (const EnvironmentVariable& variable : EnvironmentVariables()) names.insert(variable.name);
  return names;
}

TEST(Environment, ThePageHasExactlyTheList) {
  std::set<std::string> rows, expected;
  std::istringstream page(Text(PLUMB_SOURCE "/doc/environment.md"));
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("| `", 0) == 0) rows.insert(line);
  }
  for (const EnvironmentVariable& v : EnvironmentVariables()) {
    expected.insert(std::string("| `") + v.name + "` | " + v.values + " | " + v.meaning + " |");
  }
  EXPECT_EQ(rows, expected);
}

// What the code reads and the other pages name is in the list.
TEST(Environment, WhatIsReadIsInTheList) {
  const std::regex reader(R"re([^A-Z]"((?:PLUMB|DUMP|SAVE)_[A-Z_]{3,})")re");
  std::set<std::string> read;
  for (const char* folder : {"source", "tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(PLUMB_SOURCE "/") + folder)) {
      if (entry.path().extension() != ".cc" || entry.path().filename() == "environment.cc") continue;  // the list's
      const std::string text = Text(entry.path());
      for (std::sregex_iterator it(text.begin(), text.end(), reader), end; it != end; ++it) read.insert((*it)[1]);
    }
  }
  EXPECT_GE(read.size(), 8u);
  const std::set<std::string> names = Names();
  for (const std::string& name : read) EXPECT_EQ(names.count(name), 1u) << name;
  const std::string page = Text(PLUMB_SOURCE "/doc/dump.md");
  for (const std::string& name : names) {
    if (name.rfind("PLUMB_", 0) == 0) continue;
    EXPECT_NE(page.find("| `" + name + "` |"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace plumb
