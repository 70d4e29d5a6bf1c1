// SPDX-License-Identifier: Apache-2.0
// Every format through the front: round trips, and files that are cut off or damaged.
#include "plumb/tensor_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "tensor/test_tensors.h"
#include "tensor/zip.h"
#include "tensor/zstd.h"

namespace plumb {
namespace {

std::string Slurp(const std::string& path) { return std::string(ReadFile(path).value().text()); }

TensorHints Raw(DType dtype, Shape shape) {
  TensorHints hints;
  hints.dtype = dtype;
  hints.shape = std::move(shape);
  return hints;
}

TEST(TensorFile, AnArchiveIsListedFromItsFile) {
  const TempFolder folder;
  const Tensor large = AwkwardTensor(DType::kF32, {600000}), small = AwkwardTensor(DType::kF32, {7});
  ASSERT_TRUE(WriteTensors(folder / "x.npz", {{"a", small}, {"b", large}, {"c", small}}).ok());
  const auto source = OpenSource(folder / "x.npz");
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(source->memory(), nullptr);
  const std::string bytes = Slurp(folder / "x.npz");
  const auto in_file = ListZip(*source, "x.npz", 1 << 30), in_memory = ListZip(bytes, "x.npz", 1 << 30);
  ASSERT_TRUE(in_file.ok() && in_memory.ok()) << in_file.status().ToString();
  ASSERT_EQ(in_file->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const ZipMember &one = (*in_file)[i], &other = (*in_memory)[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.crc, other.crc);
    EXPECT_EQ(source->Piece(one.begin, one.stored_size)->text(), other.stored);
  }
  std::filesystem::resize_file(folder / "x.npz", 5000);  // mapped, the end of the archive was SIGBUS then
  const Status cut = ListZip(*source, "x.npz", 1 << 30).status();
  EXPECT_EQ(cut.code(), StatusCode::kIoError) << cut.ToString();
}

TEST(TensorFile, EveryFormatAndDTypeReadsBack) {
  const TempFolder folder;
  for (const DType dtype : kAllDTypes) {
    for (const Shape& shape : {Shape{2, 3, 1, 4}, Shape{}, Shape{0, 3}, Shape{17}}) {
      const Tensor tensor = AwkwardTensor(dtype, shape);
      for (const std::string suffix : {".npy", ".npz", ".raw", ".txt"}) {
        const bool in_text = dtype != DType::kF64 && dtype != DType::kU8 && dtype != DType::kI16 &&
                             dtype != DType::kU16 && dtype != DType::kBool;
        if (suffix == ".txt" && !in_text) continue;
        const Status written = WriteTensors(folder / ("x" + suffix), {{"blob", tensor}});
        ASSERT_TRUE(written.ok()) << written.ToString();
        const auto read = ReadTensors(folder / ("x" + suffix), Raw(dtype, shape));
        ASSERT_TRUE(read.ok()) << read.status().ToString();
        ASSERT_EQ(read->size(), 1u);
        EXPECT_TRUE(SameBits(read->front().tensor, tensor)) << suffix << " " << DTypeName(dtype) << shape.ToString();
        EXPECT_EQ(read->front().name, suffix == ".npz" || suffix == ".txt" ? "blob" : "");
      }
    }
  }
}

TEST(TensorFile, SeveralTensorsKeepOrderAndNames) {
  const TempFolder folder;
  const std::vector<NamedTensor> tensors = {{"b:0", AwkwardTensor(DType::kF32, {2, 2})},
                                            {"123", AwkwardTensor(DType::kI32, {3})},
                                            {"a/b%", AwkwardTensor(DType::kI64, {1, 1})}};
  for (const char* name : {"x.txt", "x.npz"}) {
    ASSERT_TRUE(WriteTensors(folder / name, tensors).ok());
    const auto read = ReadTensors(folder / name);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    ASSERT_EQ(read->size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ((*read)[i].name, tensors[i].name);
      EXPECT_TRUE(SameBits((*read)[i].tensor, tensors[i].tensor));
    }
  }
  EXPECT_FALSE(WriteTensors(folder / "x.npy", tensors).ok());
  EXPECT_FALSE(WriteTensors(folder / "x.txt", {{"a b", tensors[0].tensor}}).ok());
  EXPECT_FALSE(WriteTensors(folder / "x.txt", {{"a", AwkwardTensor(DType::kF64, {1})}}).ok());
  EXPECT_FALSE(WriteTensors(folder / "x.npz", {tensors[0], tensors[0]}).ok());
  EXPECT_FALSE(WriteTensors(folder / "x.png", tensors).ok());
}

TEST(TensorFile, TnnTextIsToldFromPlainValues) {
  const auto read = [](const std::string& text) { return ParseTensors(text, "x.txt"); };
  EXPECT_EQ(read("1\ndata 2 1 3 0\n1\n2\nnan\n")->front().name, "data");
  EXPECT_EQ(read("1\n123 2 1 3 3\n1\n2\n3\n")->front().tensor.dtype(), DType::kI32);  // a name that is a number
  EXPECT_EQ(read("1 data 0 0 7")->front().tensor.shape(), Shape{});                   // white space is white space
  EXPECT_EQ(read("1\n2\n3\n")->front().tensor.shape(), Shape{3});
  EXPECT_EQ(read("1 2 3\n4 5 6\n")->front().tensor.shape(), Shape{6});
  EXPECT_EQ(read("7")->front().tensor.shape(), Shape{1});
  EXPECT_EQ(read("0\n")->size(), 0u);
}

// All heads, then all values: what TNNTest and model_run write.
TEST(TensorFile, TnnTestsOutputIsRead) {
  const std::string heads = "2\nprob mat_type: 32 dims: 2 1 3\nid s mat_type: 33 dims: 1 2\n";
  const auto read = ParseTensors(heads + "0.5\n-1.25\n3\n7\n-8\n", "out.txt");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].name, "prob");
  EXPECT_EQ((*read)[0].tensor.shape(), Shape({1, 3}));
  EXPECT_EQ((*read)[0].tensor.ValueAt(1), -1.25);
  EXPECT_EQ((*read)[1].name, "id s");
  EXPECT_EQ((*read)[1].tensor.dtype(), DType::kI32);
  EXPECT_EQ((*read)[1].tensor.ValueAt(1), -8);
  for (const char* broken :
       {"1\np mat_type: 31 dims: 1 1\n1\n", "1\np mat_type: 32 dims: 1 1000000\n1\n",
        "1\np mat_type: 32 dims: 1 2\n1\n", "2\np mat_type: 32 dims: 1 1\np mat_type: 32 dims: 1 1\n1\n2\n",
        "1\np mat_type: 32\n1\n"}) {
    EXPECT_FALSE(ParseTensors(broken, "out.txt").ok()) << broken;
  }
}

TEST(TensorFile, TnnTextErrorsNameLineAndTensor) {
  const auto error = [](const std::string& text) { return ParseTensors(text, "x.txt").status().message(); };
  EXPECT_EQ(error("1\ndata 2 1 3 0\n10\n20\n"),
            "text file 'x.txt', line 5: the text ends after 2 of 3 values, in tensor 'data'");
  EXPECT_EQ(error("1\ndata 1 2 0\n1\nx\n"),
            "text file 'x.txt', line 4: value 1 is 'x', expected a number of dtype f32, in tensor 'data'");
  EXPECT_EQ(error("1\ndata 1 1 0\n1\n2\n"), "text file 'x.txt', line 4: expected the end of the file, found '2'");
  EXPECT_NE(error("1\ndata 1 1 7\n1\n").find("line 2: expected the dtype"), std::string::npos);
  EXPECT_NE(error("1\ndata 3 99999 99999 99999 0\n1\n").find("room for at most"), std::string::npos);
  EXPECT_NE(error("2\na 1 1 0\n1\na 1 1 0\n1\n").find("second tensor"), std::string::npos);
}

TEST(TensorFile, ZstdAroundAnyFormat) {
  const TempFolder folder;
  const Tensor tensor = AwkwardTensor(DType::kF32, {1000});
  ASSERT_TRUE(WriteTensors(folder / "x.npy", {{"", tensor}}).ok());
  const std::string plain = Slurp(folder / "x.npy");
  ZstdCompressor compressor;
  std::string packed;
  for (size_t i = 0; i < plain.size(); i += 1000) {
    ASSERT_TRUE(compressor.Append(plain.data() + i, std::min<size_t>(1000, plain.size() - i), &packed).ok());
  }
  ASSERT_TRUE(compressor.Finish(&packed).ok());
  EXPECT_TRUE(SameBits(ParseTensors(packed, "x.npy.zst")->front().tensor, tensor));
  for (size_t size = 0; size < packed.size(); size += 7) {
    EXPECT_FALSE(ParseTensors(packed.substr(0, size), "x.npy.zst").ok()) << size;
  }
  TensorHints small;
  small.max_bytes = plain.size() - 1;
  EXPECT_EQ(ParseTensors(packed, "x.npy.zst", small).status().code(), StatusCode::kInvalidArgument);
  small.max_bytes = plain.size();
  EXPECT_TRUE(ParseTensors(packed, "x.npy.zst", small).ok());
}

TEST(TensorFile, ABombIsRefusedEarly) {
  const std::string zeros(1 << 20, '\0');
  ZstdCompressor compressor;
  std::string packed;
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(compressor.Append(zeros.data(), zeros.size(), &packed).ok());
  ASSERT_TRUE(compressor.Finish(&packed).ok());
  ASSERT_LT(packed.size(), 100000u);
  EXPECT_EQ(ParseTensors(packed, "x.npy.zst").status().code(), StatusCode::kInvalidArgument);
}

std::string LittleEndian(uint64_t value, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

// An archive of one deflated member 'a.npy' that claims `size` bytes: `stored` zeros, which are no deflate.
std::string Claiming(uint64_t size, size_t stored) {
  const std::string common = LittleEndian(20, 2) + LittleEndian(0, 2) + LittleEndian(8, 2) + LittleEndian(0, 8) +
                             LittleEndian(stored, 4) + LittleEndian(size, 4) + LittleEndian(5, 2) + LittleEndian(0, 2);
  const std::string local = "PK\3\4" + common + "a.npy" + std::string(stored, '\0');
  const std::string entry = "PK\1\2" + LittleEndian(20, 2) + common + LittleEndian(0, 14) + "a.npy";
  return local + entry + "PK\5\6" + LittleEndian(0, 4) + LittleEndian(1, 2) + LittleEndian(1, 2) +
         LittleEndian(entry.size(), 4) + LittleEndian(local.size(), 4) + LittleEndian(0, 2);
}

// Small files that say they are large: refused by what they say, before anything is unpacked.
TEST(TensorFile, ALargeClaimIsRefusedEarly) {
  const auto refused = [](const std::string& bytes, const std::string& path) {
    const Status status = ParseTensors(bytes, path).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
    return status.message();
  };
  EXPECT_EQ(refused(Claiming(300 << 20, 1000000), "x.npz"),
            "zip archive 'x.npz' would unpack to more than the limit of 268435456 bytes with member 'a.npy' (what is "
            "compressed may unpack to 100 times its size or 256 MiB; whatever is larger must be stored as it is)");
  const std::string large = Claiming(300 << 20, 4000000);
  EXPECT_NE(ParseTensors(large, "x.npz").status().message().find("does not unpack to"), std::string::npos)
      << "75 times its size is no bomb";
  const Status impossible = ParseTensors(Claiming(144 << 20, 97), "x.npz").status();  // deflate makes 1032 of one
  EXPECT_NE(impossible.message().find("the sizes of member 'a.npy' do not fit"), std::string::npos)
      << impossible.ToString();
  ZstdCompressor compressor;
  std::string packed;
  ASSERT_TRUE(compressor.Append(large.data(), large.size(), &packed).ok());
  ASSERT_TRUE(compressor.Finish(&packed).ok());
  EXPECT_NE(refused(packed, "x.npz.zst").find("would unpack to more"), std::string::npos) << "in a frame it is";
}

TEST(TensorFile, RawNeedsExactlyItsSize) {
  EXPECT_FALSE(ParseTensors("1234", "x.bin").ok());
  EXPECT_TRUE(ParseTensors("1234", "x.bin", Raw(DType::kF32, {1})).ok());
  EXPECT_EQ(ParseTensors("12345", "x.dat", Raw(DType::kF32, {1})).status().code(), StatusCode::kMismatch);
  EXPECT_FALSE(ParseTensors("1234", "x.raw", Raw(DType::kF32, {1ll << 40})).ok());
  const TempFolder folder;
  ASSERT_TRUE(WriteFile(folder / "two.dat", std::string("\0\0\x80\x3F\7\0\0\0\0\0\0\0", 12)).ok());
  const auto read = ReadRawTensors(folder / "two.dat", {{"a", DType::kF32, {1}}, {"b", DType::kI64, {1}}});
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ((*read)[0].tensor.ValueAt(0), 1);
  EXPECT_EQ((*read)[1].tensor.ValueAt(0), 7);
  EXPECT_FALSE(ReadRawTensors(folder / "two.dat", {{"a", DType::kF32, {1}}}).ok());
}

TEST(TensorFile, TellsWhatItKnows) {
  EXPECT_EQ(ReadTensors("/nonexistent/x.npy").status().code(), StatusCode::kNotFound);
  EXPECT_NE(ParseTensors("x", "x.pt").status().message().find(".npz"), std::string::npos);
}

// Small files of every format, for the damage below.
std::vector<std::pair<std::string, std::string>> SmallFiles() {
  const TempFolder folder;
  std::vector<std::pair<std::string, std::string>> files;
  const Tensor tensor = AwkwardTensor(DType::kF32, {3});
  for (const std::string name : {"x.npy", "x.npz", "x.raw"}) {
    EXPECT_TRUE(WriteTensors(folder / name, {{"blob", tensor}}).ok());
    files.emplace_back(name, Slurp(folder / name));
  }
  files.emplace_back("x.txt", "2\na 1 2 0\n1\n2\nb 2 1 1 3\n-7\n");
  const std::string folder_of_images = std::string(PLUMB_TEST_DATA) + "/tensor/";
  for (const std::string name : {"rgb.png", "gray.png", "rgb.jpg", "rgb.bmp"}) {
    files.emplace_back(name, Slurp(folder_of_images + name));
  }
  files.emplace_back("numpy_deflated.npz", Slurp(folder_of_images + "numpy_deflated.npz"));
  ZstdCompressor compressor;
  std::string packed;
  EXPECT_TRUE(compressor.Append(files[0].second.data(), files[0].second.size(), &packed).ok());
  EXPECT_TRUE(compressor.Finish(&packed).ok());
  files.emplace_back("x.npy.zst", packed);
  return files;
}

TEST(TensorFile, EveryTruncationIsRefused) {
  for (const auto& [name, bytes] : SmallFiles()) {
    const TensorHints hints = name == "x.raw" ? Raw(DType::kF32, {3}) : TensorHints();
    EXPECT_TRUE(ParseTensors(bytes, name, hints).ok()) << name << ParseTensors(bytes, name, hints).status().ToString();
    // Of the text, "2" is a plain value and the last newline carries nothing.
    const bool is_text = name == "x.txt";
    EXPECT_FALSE(ParseTensors("", name, hints).ok()) << name;
    for (size_t size = is_text ? 3 : 0; size + (is_text ? 1 : 0) < bytes.size(); ++size) {
      EXPECT_FALSE(ParseTensors(bytes.substr(0, size), name, hints).ok())
          << name << " cut to " << size << " of " << bytes.size();
    }
  }
}

TEST(TensorFile, NoFlippedBitCrashes) {
  for (const auto& [name, bytes] : SmallFiles()) {
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      const auto read = ParseTensors(damaged, name, Raw(DType::kF32, {3}));
      EXPECT_EQ(read.ok(), read.status().message().empty());
    }
  }
}

}  // namespace
}  // namespace plumb
