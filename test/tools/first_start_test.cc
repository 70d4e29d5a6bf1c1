// SPDX-License-Identifier: Apache-2.0
// The first start of OPENCL on a machine: compiling is shown on a terminal, and a HOME that cannot be written is no
// missing driver. Through the real command line.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tools/command.h"

namespace plumb {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool HasOpencl() { return Has(RunTool("device_info", "").out, "OPENCL  present"); }

TEST(FirstStart, CompilingIsShownOnATerminalOnly) {
  if (!HasOpencl()) GTEST_SKIP() << "there is no OpenCL driver";
  const std::string folder = TestFolder("first_start"), model = folder + "/relu.tnnproto";
  WriteText(model,
            "\"1 2 1 4206624772 ,\"\n\"x 4 1 4 9 11 0 ,\"\n\" x y ,\"\n\"y ,\"\n\" 1 ,\"\n\"ReLU relu 1 1 x y ,\"\n");
  const std::string run = "-m " + model + " -d OPENCL";
  const auto plain = RunTool("model_run", run, "PLUMB_CACHE_DIR=" + folder + "/a");
  EXPECT_EQ(plain.exit_code, 0) << plain.out;
  EXPECT_FALSE(Has(plain.out, "compiles kernels")) << plain.out;
  const auto terminal = [&] {  // script gives the command a terminal
    WriteText(folder + "/run.sh", "PLUMB_CACHE_DIR=" + folder + "/b " PLUMB_BIN_DIR "/model_run " + run + "\n");
    const std::string script =
        "script -qec 'sh " + folder + "/run.sh' " + folder + "/typescript </dev/null >/dev/null 2>&1";
    EXPECT_EQ(std::system(script.c_str()), 0);
    return ReadText(folder + "/typescript");
  };
  const auto first = terminal();
  EXPECT_TRUE(
      Has(first, "OPENCL compiles kernels, once per machine (cached in " + folder + "/b): unary.cl, 0 done, 0 s"))
      << first;
  EXPECT_FALSE(Has(terminal(), "compiles kernels")) << "out of the cache";
}

TEST(FirstStart, AnUnusableHomeIsSaidAsSuch) {
  if (!HasOpencl()) GTEST_SKIP() << "there is no OpenCL driver";
  const std::string home = "HOME=/dev/null XDG_CACHE_HOME= POCL_CACHE_DIR= PLUMB_CACHE_DIR=";
  EXPECT_TRUE(Has(RunTool("device_info", "", home + TestFolder("usable")).out, "OPENCL  present"))
      << "PoCL gets our folder";
  const auto lost = RunTool("device_info", "", home + "/dev/null");
  EXPECT_TRUE(Has(lost.out, "HOME is '/dev/null', where nothing can be written; PoCL needs a folder")) << lost.out;
  EXPECT_FALSE(Has(lost.out, "install pocl")) << lost.out;
}

}  // namespace
}  // namespace plumb
