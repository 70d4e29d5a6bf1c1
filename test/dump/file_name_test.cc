// SPDX-License-Identifier: Apache-2.0
// Names of dumped files: TNN's form, no collisions, no length that a disk refuses.
#include "dump/file_name.h"

#include <gtest/gtest.h>

#include <set>

namespace plumb {
namespace {

TEST(FileName, IsTnnsForm) {
  EXPECT_EQ(
      BlobFileName(1, "layer", false, 0, "blob", {1, 3, 224, 224}) + BlobFileEnding(DumpOptions::Format::kText, false),
      "00001-layer-in-0-blob-dims-1-3-224-224.txt");
  EXPECT_EQ(BlobFileName(12, "a/b", true, 3, "x:0", {}), "00012-a_b-out-3-x_0-dims");
  EXPECT_EQ(BlobFileEnding(DumpOptions::Format::kNpy, true), ".npy.zst");
}

TEST(FileName, AnyLengthAndAnyBytes) {
  std::string every_byte;
  for (int i = 1; i < 256; ++i) every_byte += static_cast<char>(i);
  for (const std::string& name : {std::string(100000, 'x'), every_byte, std::string(), std::string("..")}) {
    const std::string file = BlobFileName(99999999, name, true, 99999, name, Shape(std::vector<int64_t>(60, 1)));
    EXPECT_LE(file.size() + std::string(".txt.zst.part").size(), 255u);
    for (char c : file) EXPECT_TRUE(c > ' ' && c < 127 && std::string("<>:\"/\\|?*").find(c) == std::string::npos) << c;
  }
}

TEST(FileName, NeverCollide) {
  std::set<std::string> names;
  const std::vector<std::string> texts = {
      "a/b",      "a_b", "A_B",     "a:b", "a b", "a\tb", std::string(300, 'y'), std::string(301, 'y'),
      "x-in-0-y", "x",   "y-in-0-x"};
  size_t count = 0;
  for (int index = 0; index < 2; ++index) {
    for (bool output : {false, true}) {
      for (size_t slot = 0; slot < texts.size(); ++slot) {  // a layer has one name and as many blobs as it likes
        std::string name =
            BlobFileName(index, texts[static_cast<size_t>(index)], output, static_cast<int>(slot), texts[slot], {1});
        for (char& c : name) c = static_cast<char>(std::tolower(c));
        names.insert(name);
        ++count;
      }
    }
  }
  EXPECT_EQ(names.size(), count);
  // What had to be changed or cut keeps apart by its checksum even where slots are equal.
  EXPECT_NE(BlobFileName(0, "l", true, 0, "a b", {1}), BlobFileName(0, "l", true, 0, "a\tb", {1}));
  EXPECT_NE(BlobFileName(0, "l", true, 0, texts[6], {1}), BlobFileName(0, "l", true, 0, texts[7], {1}));
}

TEST(FileName, OfTnnIsUnderstood) {
  const auto name = ParseTnnFileName("00000-conv1-out-0-conv1_out-dims-1-2-1-2.txt");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->layer_index, 0);
  EXPECT_EQ(name->layer, "conv1");
  EXPECT_TRUE(name->output);
  EXPECT_EQ(name->blob, "conv1_out");
  EXPECT_EQ(name->shape, (Shape{1, 2, 1, 2}));
  const auto odd = ParseTnnFileName("00123-my-in-layer-in-12-a-dims-b-dims.txt");
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->layer, "my-in-layer");
  EXPECT_EQ(odd->slot, 12);
  EXPECT_EQ(odd->blob, "a-dims-b");
  EXPECT_EQ(odd->shape.rank(), 0);
  for (const char* bad :
       {"manifest.json", "conv-out-0-x-dims-1.txt", "00000-conv-out-x-dims-1.txt", "00000-c-out-0-x.txt",
        "00000-c-out-0-x-dims-1a.txt", "00000-c-out-0-x-dims-99999999999999999999.txt", ".txt", ""}) {
    EXPECT_FALSE(ParseTnnFileName(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace plumb
