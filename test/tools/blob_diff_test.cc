// SPDX-License-Identifier: Apache-2.0
// blob_diff as users call it: exit codes, mixed formats, rules, dumps of two devices and of TNN.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "device/cpu/cpu_name.h"
#include "tools/command.h"

namespace plumb {
namespace {

const std::string kModel = PLUMB_EXAMPLES "/squeezenet/squeezenet.tnnproto";

class BlobDiff : public ::testing::Test {
 protected:
  ~BlobDiff() override { std::filesystem::remove_all(folder_); }
  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  CommandResult Diff(const std::string& arguments) const { return RunTool("blob_diff", arguments, ""); }
  CommandResult Texts(const std::string& a, const std::string& b, const std::string& options) const {
    WriteText(At("a.txt"), a);
    WriteText(At("b.txt"), b);
    return Diff(At("a.txt") + " " + At("b.txt") + " " + options);
  }
  const std::string folder_ = TestFolder("blob_diff");
};

TEST_F(BlobDiff, ExitCodes) {
  EXPECT_EQ(Texts("1\n2\n3\n", "1\n2\n3\n", "").exit_code, 0);
  EXPECT_EQ(Texts("1\n2\n3\n", "1\n2\n3.1\n", "").exit_code, 1);
  EXPECT_EQ(Texts("1\n2\n3\n", "1\n2\n3\n4\n", "").exit_code, 1);
  EXPECT_EQ(Texts("1\nx\n", "1\n2\n", "").exit_code, 2);
  EXPECT_EQ(Diff(At("a.txt") + " /nowhere").exit_code, 2);
  EXPECT_EQ(Diff(At("a.txt")).exit_code, 2);
  EXPECT_EQ(Texts("1\n", "1\n", "--rule best").exit_code, 2);
  EXPECT_EQ(Texts("1\n", "1\n", "--rtol -1").exit_code, 2);
  for (const char* shape : {"1,-3", "1.5", "1e300", "nan"}) {
    EXPECT_EQ(Texts("1\n", "1\n", std::string("--shape ") + shape).exit_code, 2) << shape;
  }
}

TEST_F(BlobDiff, TolerancesArePrintedAndUsed) {
  const CommandResult close = Texts("1.0005\n", "1\n", "");
  EXPECT_EQ(close.exit_code, 0) << close.out;
  EXPECT_NE(close.out.find("1e-05 of the blob's largest |b| + 0.001 |b|"), std::string::npos) << close.out;
  EXPECT_EQ(Texts("1.0005\n", "1\n", "--rtol 1e-4").exit_code, 1);
  EXPECT_EQ(Texts("1.0005\n", "1\n", "--rtol 1e-4 --atol 0.01").exit_code, 0);
  EXPECT_EQ(Texts("1.0005\n", "1\n", "--rule allclose").exit_code, 1);
  EXPECT_EQ(Texts("1.004\n", "1\n", "--rule tnn").exit_code, 0);
  EXPECT_EQ(Texts("2\n4\n6\n", "1\n2\n3\n", "--rule cosine").exit_code, 0);
}

TEST_F(BlobDiff, NumbersOfBothSides) {
  const CommandResult result = Texts("1\n-2\n6\n", "1\n-1\n3\n", "--json " + At("j") + " --csv " + At("c"));
  EXPECT_EQ(result.exit_code, 1);
  const auto json = nlohmann::json::parse(ReadText(At("j")));
  EXPECT_EQ(json["verdict"], "wrong");
  const auto& pair = json["pairs"][0];
  EXPECT_EQ(pair["sum_diff"], 2.0);
  EXPECT_EQ(pair["sum_abs_diff"], 4.0);
  EXPECT_EQ(pair["max_abs"], 3.0);
  EXPECT_EQ(pair["worst"]["index"], 2);
  EXPECT_EQ(pair["a"]["min"], -2.0);
  EXPECT_EQ(pair["b"]["mean"], 1.0);
  EXPECT_EQ(ReadText(At("c")).substr(0, 8), "verdict,");
}

TEST_F(BlobDiff, BlobsWithoutAPartnerAreCountedAndFiveOfThemNamed) {
  for (const char* side : {"a", "b"}) std::filesystem::create_directories(At(side));
  for (int i = 0; i < 8; ++i) WriteText(At("a/only" + std::to_string(i) + "-dims-1.raw"), std::string("\0\0\0\0", 4));
  for (const char* side : {"a", "b"}) WriteText(At(std::string(side) + "/both-dims-1.raw"), std::string("\0\0\0\0", 4));
  const CommandResult shown = Diff(At("a") + " " + At("b")), all = Diff(At("a") + " " + At("b") + " --all");
  EXPECT_NE(shown.out.find("not paired, only in A: 8\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("... 3 more (--all shows every one)"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("only7"), std::string::npos) << shown.out;
  EXPECT_NE(all.out.find("only7"), std::string::npos) << all.out;
}

TEST_F(BlobDiff, IntegersInAWiderType) {
  WriteText(At("a.raw"), std::string("\x00\x00\x00\x80", 4));
  WriteText(At("b.raw"), std::string("\x01\x00\x00\x00", 4));
  const CommandResult result = Diff(At("a.raw") + " " + At("b.raw") + " --dtype i32 --shape 1 --json " + At("j"));
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_EQ(nlohmann::json::parse(ReadText(At("j")))["pairs"][0]["max_abs"], 2147483649.0);
}

TEST_F(BlobDiff, DumpsOfTwoFormatsAndOfTnn) {
  const auto dump = [&](const std::string& name, const std::string& environment) {
    const CommandResult run = RunTool("model_run", "-m " + kModel + " -d NAIVE -ic 1 -wc 0",
                                      "DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + At(name) + " " + environment);
    ASSERT_EQ(run.exit_code, 0) << run.out;
  };
  dump("text", "DUMP_BLOB_LAYERS=0-20");
  dump("npy", "DUMP_BLOB_FORMAT=npy DUMP_BLOB_COMPRESS=zstd");
  const CommandResult both = Diff(At("text") + " " + At("npy"));
  EXPECT_EQ(both.exit_code, 0) << both.out;
  EXPECT_NE(both.out.find("21 aligned, 0 wrong"), std::string::npos) << both.out;
  EXPECT_EQ(Diff(At("text") + " " + At("npy") + " --strict").exit_code, 1);
  // Without its manifest the folder is one that TNN might have written, other indices included.
  std::filesystem::create_directories(At("tnn"));
  for (const auto& entry : std::filesystem::directory_iterator(At("text"))) {
    const std::string name = entry.path().filename().string();
    if (name[0] == '0') std::filesystem::rename(entry.path(), At("tnn/1") + name.substr(1));
  }
  const CommandResult tnn = Diff(At("tnn") + " " + At("npy"));
  EXPECT_EQ(tnn.exit_code, 0) << tnn.out;
  EXPECT_NE(tnn.out.find("21 aligned, 0 wrong"), std::string::npos) << tnn.out;
}

// The same place holds the same value on every device, inputs included (which a later kernel may overwrite).
TEST_F(BlobDiff, DumpsOfTwoDevices) {
  for (const std::string device : {"NAIVE", kCpuDevice}) {
    const CommandResult run =
        RunTool("model_run", "-m " + kModel + " -d " + device + " -ic 1",
                "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=npy DUMP_BLOB_DIR=" + At(device));
    if (run.exit_code == 3) GTEST_SKIP() << run.out;
    ASSERT_EQ(run.exit_code, 0) << run.out;
  }
  const CommandResult result = Diff(At("NAIVE") + " " + At(kCpuDevice) + " --atol 1e-4 --quiet");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_NE(result.out.find(" 0 only in B"), std::string::npos) << result.out;
}

// Unfused, every device writes the same files.
TEST_F(BlobDiff, UnfusedDumpsHaveTheSameFiles) {
  const auto dump = [&](const std::string& device) {
    return RunTool(
        "model_run", "-m " + kModel + " -d " + device + " -ic 1",
        "DUMP_BLOB_UNFUSE=1 DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=npy DUMP_BLOB_DIR=" + At(device));
  };
  ASSERT_EQ(dump("NAIVE").exit_code, 0);
  for (const std::string device : {"X86", "ARM", "OPENCL", "VULKAN"}) {
    const CommandResult run = dump(device);
    if (run.exit_code == 3) continue;
    ASSERT_EQ(run.exit_code, 0) << run.out;
    const CommandResult result = Diff(At("NAIVE") + " " + At(device) + " --atol 1e-4 --quiet --strict");
    EXPECT_EQ(result.exit_code, 0) << device << ": " << result.out;
  }
}

// Everything that follows from another input is no fault of a layer.
TEST_F(BlobDiff, OtherInputsAreSaidFirst) {
  const auto dump = [&](const std::string& name, const std::string& seed) {
    return RunTool("model_run", "-m " PLUMB_EXAMPLES "/digits/digits.tnnproto -d NAIVE --seed " + seed,
                   "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=npy DUMP_BLOB_DIR=" + At(name));
  };
  ASSERT_EQ(dump("one", "1").exit_code, 0);
  ASSERT_EQ(dump("again", "1").exit_code, 0);
  ASSERT_EQ(dump("two", "2").exit_code, 0);
  const CommandResult same = Diff(At("one") + " " + At("again"));
  EXPECT_EQ(same.exit_code, 0) << same.out;
  EXPECT_EQ(same.out.find("inputs differ"), std::string::npos) << same.out;
  const CommandResult other = Diff(At("one") + " " + At("two") + " --json " + At("j"));
  EXPECT_EQ(other.exit_code, 1) << other.out;
  EXPECT_EQ(other.out.rfind("The network inputs differ: 'input' by up to ", 0), 0u) << other.out;
  EXPECT_NE(other.out.find(": the two runs did not see the same data.\n"), std::string::npos) << other.out;
  EXPECT_EQ(nlohmann::json::parse(ReadText(At("j")))["inputs_differ"], std::vector<std::string>{"input"});
  const CommandResult quiet = Diff(At("one") + " " + At("two") + " --quiet");
  EXPECT_EQ(quiet.out.rfind("The network inputs differ: 'input'", 0), 0u) << quiet.out;
  // A folder of plain files beside a dump: what the dump's layers wrote is no input.
  std::filesystem::create_directories(At("plain"));
  for (const auto& entry : std::filesystem::directory_iterator(At("two"))) {
    const std::string name = entry.path().filename().string();
    if (name.find("-in-0-input-") != std::string::npos) std::filesystem::copy_file(entry.path(), At("plain/input.npy"));
  }
  const CommandResult plain = Diff(At("one") + " " + At("plain"));
  EXPECT_EQ(plain.out.rfind("The network inputs differ: 'input'", 0), 0u) << plain.out;
}

TEST_F(BlobDiff, NothingInCommonIsNotFine) {
  std::filesystem::create_directories(At("x"));
  std::filesystem::create_directories(At("y"));
  WriteText(At("x/00000-a-out-0-p-dims-1.txt"), "1\n");
  WriteText(At("y/00000-b-out-0-q-dims-1.txt"), "1\n");
  const CommandResult result = Diff(At("x") + " " + At("y"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("Nothing could be compared"), std::string::npos);
  std::filesystem::create_directories(At("z"));
  EXPECT_EQ(Diff(At("x") + " " + At("z")).exit_code, 2);
}

}  // namespace
}  // namespace plumb
