// SPDX-License-Identifier: Apache-2.0
// The command lines that TNN's pages print (doc/en/development/model_check_en.md, doc/en/user/test_en.md and the usage
// texts of model_check, TNNTest and converter.py), as they are printed there, on a small network.
#include <gtest/gtest.h>

#include <filesystem>

#include "tools/command.h"

namespace plumb {
namespace {

struct Printed {
  const char* tool;
  const char* words;  // @: the tnnproto, %: the tnnmodel, $: a folder
  const char* says = "";
};
const Printed kPrinted[] = {
    {"model_check", "-p @ -m % -d X86"},
    {"model_check", "-p @ -m % -d NAIVE -i $/in.txt"},
    {"model_check", "-p @ -m % -d X86 -i $/picture.bmp -n 0.0, 0.0, 0.0 -s 1.0, 1.0, 1.0"},
    {"model_check", "-p @ -m % -d X86 -i $/picture.bmp -n 0.0,0.0,0.0 -s 1.0,1.0,1.0"},
    {"model_check", "-p @ -m % -d X86 -o"},
    {"model_check", "-p @ -m % -d X86 -do $/pairs"},
    {"model_check", "-p @ -m % -d X86 -du $/pairs"},
    {"model_check", "-p @ -m % -d X86 -i $/in.txt -f $/ref.txt", "outputs against"},
    {"model_check", "-p @ -m % -d X86 -i $/in.txt -e -f $/ref.txt", "outputs against"},
    {"model_check", "-p @ -m % -d X86 -i $/in.txt -e -f $/ref.txt -b", "batch 1"},
    {"model_check", "-p @ -m % -d X86 -sp LOW", "X86 ran HIGH in place of LOW"},
    {"model_check", "-p @ -m % -d OPENCL -i $/in.txt -a $/layers/", "-d OPENCL is not run"},
    {"model_run", "-mp @ -dt X86 -op $/result.txt"},
    {"model_run", "-mp @ -pr HIGH -is \"x:1,3,2,4;\" -dt X86 -wc 0 -ic 1 -op $/result.txt"},
    {"model_run", "-mp @ -nt Default -dt NAIVE -it \"x:0;\" -dl 0"},
    {"model_run", "-mp @ -dt X86 -pr AUTO -wc 1 -ic 2 -th 1 -et", "-et does nothing"},
    {"model_run", "-mp @ -dt X86 -ub 0", "-ub does nothing"},
    {"model_convert", "-m @ -optimize -o $/converted", "-optimize does nothing"},
    {"model_convert", "-m @ -optimize 1 -o $/converted", "-optimize does nothing"},
};

// x [1,3,2,4], ReLU; its weights (none), an input, an image of its size, its output and its one layer's.
struct TnnFiles {
  explicit TnnFiles(const std::string& test) : folder(TestFolder(test)), proto(folder + "/n.tnnproto") {
    WriteText(proto,
              "\"1 1 1 4206624772 ,\"\n\"x 4 1 3 2 4 0 ,\"\n\" x y ,\"\n\"y ,\"\n\" 1 ,\"\n\"ReLU r 1 1 x y ,\"\n");
    EXPECT_EQ(RunTool("model_convert", proto + " -o " + folder + "/n").exit_code, 0);
    std::string input = "1\nx 4 1 3 2 4 0\n", output = "1\ny 4 1 3 2 4 0\n";
    for (int i = 0; i < 24; ++i) {
      input += std::to_string(i - 12) + "\n";
      output += std::to_string(i < 12 ? 0 : i - 12) + "\n";
    }
    WriteText(folder + "/in.txt", input);
    WriteText(folder + "/ref.txt", output);
    std::filesystem::create_directories(folder + "/layers");
    WriteText(folder + "/layers/y.txt", output);
    WritePicture();
  }
  std::string folder, proto;

 private:
  // 4 by 2 pixels, 24 bits each.
  void WritePicture() const {
    std::string bytes = "BM";
    const auto number = [&](uint32_t value, int size) {
      for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
    };
    for (const uint32_t field : {54u + 24u, 0u, 54u, 40u, 4u, 2u}) number(field, 4);
    number(1, 2);
    number(24, 2);
    for (const uint32_t field : {0u, 24u, 0u, 0u, 0u, 0u}) number(field, 4);
    for (int i = 0; i < 24; ++i) bytes += static_cast<char>(i * 10);
    WriteText(folder + "/picture.bmp", bytes);
  }
};

TEST(TnnWords, WhatItsPagesPrintRuns) {
  const TnnFiles files("tnn_words");
  for (const Printed& printed : kPrinted) {
    std::string words = printed.words;
    for (const auto& [mark, value] :
         {std::pair('@', files.proto), {'%', files.folder + "/n.tnnmodel"}, {'$', files.folder}}) {
      for (size_t at; (at = words.find(mark)) != std::string::npos;) words.replace(at, 1, value);
    }
    const CommandResult run =
        RunCommand("cd " + files.folder + " && " PLUMB_BIN_DIR "/" + printed.tool + " " + words + " 2>&1 </dev/null");
    // A network of input values alone has nothing to be sure of: its verdict is no matter here.
    EXPECT_EQ(run.exit_code, 0) << printed.tool << " " << words << "\n" << run.out;
    EXPECT_NE(run.out.find(printed.says), std::string::npos) << printed.tool << " " << words << "\n" << run.out;
  }
  EXPECT_TRUE(std::filesystem::exists(files.folder + "/cpu_y.txt")) << "-o writes here";
  EXPECT_TRUE(std::filesystem::exists(files.folder + "/device_y.txt"));
}

TEST(TnnWords, ListsMayHaveSpacesBehindCommas) {
  const TnnFiles files("tnn_lists");
  for (const char* devices : {"-d \"X86, NAIVE\"", "-d X86, NAIVE", "-d X86 , NAIVE", "-d \"X86 ,NAIVE\""}) {
    const CommandResult run = RunTool("model_check", files.proto + " -q " + devices);
    EXPECT_EQ(run.exit_code, 0) << devices << "\n" << run.out;
    EXPECT_NE(run.out.find("X86, NAIVE aligned"), std::string::npos) << devices << "\n" << run.out;
  }
}

// 4 of 10 files are no proof.
TEST(TnnWords, HalfOfTheLayerFilesAreNeeded) {
  const std::string folder = TestFolder("tnn_half"), model = folder + "/n.tnnproto";
  WriteText(model,
            "\"1 5 1 4206624772 ,\"\n\"x 4 1 1 1 2 0 ,\"\n\" x a b c d y ,\"\n\"y ,\"\n\" 5 ,\"\n\"ReLU r0 1 1 x a "
            ",\"\n\"ReLU r1 1 1 a b ,\"\n\"ReLU r2 1 1 b c ,\"\n\"ReLU r3 1 1 c d ,\"\n\"ReLU r4 1 1 d y ,\"\n");
  WriteText(folder + "/in.txt", "1\nx 4 1 1 1 2 0\n1\n2\n");
  for (const char* blob : {"a", "b"})
    WriteText(folder + "/f_" + blob + ".txt", std::string("1\n") + blob + " 4 1 1 1 2 0\n1\n2\n");
  const std::string call = model + " -i " + folder + "/in.txt -a " + folder + "/f_";
  const CommandResult few = RunTool("model_check", call);
  EXPECT_EQ(few.exit_code, 1) << few.out;
  EXPECT_NE(few.out.find("NOT TESTED"), std::string::npos) << few.out;
  EXPECT_NE(few.out.find("2 of 5 blobs compared"), std::string::npos) << few.out;
  WriteText(folder + "/f_c.txt", "1\nc 4 1 1 1 2 0\n1\n2\n");
  const CommandResult most = RunTool("model_check", call);
  EXPECT_EQ(most.exit_code, 0) << most.out;
  EXPECT_NE(most.out.find("3 of 5 blobs compared aligned"), std::string::npos) << most.out;
}

}  // namespace
}  // namespace plumb
