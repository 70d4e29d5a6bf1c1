// SPDX-License-Identifier: Apache-2.0
// PLUMB_LOG: what was decided on the way is said on standard error when it is asked for, and only then. Through the
// real command line.
#include <gtest/gtest.h>

#include "tools/command.h"

namespace plumb {
namespace {

const std::string kDigits = PLUMB_EXAMPLES "/digits/digits.tnnproto";

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool HasDevice(const std::string& name) {
  for (const std::string gap : {" ", "  ", "   ", "    ", "     "}) {
    if (Has(RunTool("device_info", "").out, name + gap + "present")) return true;
  }
  return false;
}

TEST(Log, IsSilentUnlessItIsAskedFor) {
  for (const char* level : {"", "PLUMB_LOG=", "PLUMB_LOG=info", "PLUMB_LOG=off"}) {
    const auto run = RunTool("model_check", "-m " + kDigits + " -d NAIVE -q", level);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_FALSE(Has(run.out, "plumb")) << level << ": " << run.out;
  }
  const auto wrong = RunTool("model_check", "-m " + kDigits + " -d NAIVE -q", "PLUMB_LOG=debgu");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(Has(wrong.out, "PLUMB_LOG: expected debug, info, warn or off, found 'debgu'; did you mean 'debug'?"))
      << wrong.out;
}

TEST(Log, DebugShowsDevicesAndWhyAKernelWasTaken) {
  const auto naive = RunTool("model_check", "-m " + kDigits + " -d NAIVE,ARM", "PLUMB_LOG=debug");
  EXPECT_TRUE(Has(naive.out, "plumb debug: device NAIVE 0: ")) << naive.out;
  EXPECT_TRUE(Has(naive.out, "plumb debug: NAIVE layer 4 'relu2' (")) << naive.out;
  EXPECT_FALSE(Has(naive.out, "PLUMB_LOG")) << "it decides nothing, so no command repeats it: " << naive.out;
  if (!HasDevice("X86")) GTEST_SKIP() << "there is no X86 device";
  const auto x86 = RunTool("model_check", "-m " + kDigits + " -d X86", "PLUMB_LOG=debug");
  const size_t at = x86.out.find("plumb debug: X86 layer 4 'relu2' (Convolution+BatchNormCxx+ReLU): x86/");
  ASSERT_NE(at, std::string::npos) << x86.out;
  EXPECT_TRUE(Has(x86.out.substr(at, x86.out.find('\n', at) - at), "; refused ")) << x86.out;
}

TEST(Log, DebugShowsTheProgramCache) {
  if (!HasDevice("OPENCL")) GTEST_SKIP() << "there is no OpenCL driver";
  const std::string folder = TestFolder("log_cache");
  const std::string environment = "PLUMB_LOG=debug PLUMB_CACHE_DIR=" + folder;
  const std::string run = "-m " + kDigits + " -d OPENCL -q";
  const auto first = RunTool("model_check", run, environment), second = RunTool("model_check", run, environment);
  EXPECT_TRUE(Has(first.out, "plumb debug: OPENCL adapter 0: ")) << first.out;
  EXPECT_TRUE(Has(first.out, "plumb debug: program cache " + folder + "/opencl-")) << first.out;
  for (const char* part : {".bin: miss: ", ".bin: written, ", "OPENCL compiles "}) {
    EXPECT_TRUE(Has(first.out, part)) << part << first.out;
    EXPECT_FALSE(Has(second.out, part)) << part << second.out;
  }
  EXPECT_TRUE(Has(second.out, ".bin: hit, ")) << second.out;
}

TEST(Log, DebugShowsThePairingOfASubject) {
  const std::string folder = TestFolder("log_subject");
  const auto dumped = RunTool("model_run", "-m " + kDigits + " -d NAIVE -q",
                              "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=npy DUMP_BLOB_DIR=" + folder);
  ASSERT_EQ(dumped.exit_code, 0) << dumped.out;
  const auto run = RunTool("model_check", "-m " + kDigits + " -q --subject " + folder, "PLUMB_LOG=debug");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "plumb debug: subject: blob 'prob' is its tensor 'prob' (" + folder)) << run.out;
  EXPECT_TRUE(Has(run.out, "plumb debug: subject: layout NCHW")) << run.out;
}

}  // namespace
}  // namespace plumb
