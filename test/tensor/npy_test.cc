// SPDX-License-Identifier: Apache-2.0
#include "tensor/npy.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tensor/npz.h"
#include "tensor/npz_rows.h"
#include "tensor/test_tensors.h"

namespace plumb {
namespace {

// A version 1 file with this header text and these values.
std::string File(const std::string& header, const std::string& values) {
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  return file + header + values;
}
std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

TEST(Npy, HeaderIsWhatNumpyWrites) {
  const std::string header = NpyHeader(DType::kF32, {2, 3});
  EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\1\0", 8));
  EXPECT_EQ(header.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_EQ(header.back(), '\n');
  EXPECT_NE(NpyHeader(DType::kI8, {4}).find("'|i1'"), std::string::npos);
  EXPECT_NE(NpyHeader(DType::kI8, {4}).find("(4,)"), std::string::npos);
  EXPECT_NE(NpyHeader(DType::kBF16, {}).find("'<u2'"), std::string::npos);
  EXPECT_NE(NpyHeader(DType::kF32, {}).find("()"), std::string::npos);
}

TEST(Npy, FortranOrderAndBigEndian) {
  const std::string header = "{\"shape\": (2, 3,), 'fortran_order': True, 'descr': '>i2'}";
  const Result<Tensor> tensor = ParseNpy(File(header, Bytes({0, 0, 0, 3, 0, 1, 0, 4, 0, 2, 1, 0})), "x.npy");
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  EXPECT_EQ(tensor->shape(), (Shape{2, 3}));
  const int16_t want[] = {0, 1, 2, 3, 4, 256};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(tensor->data<int16_t>()[i], want[i]);
}

TEST(Npy, Bf16) {
  const std::string u2 = File("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", Bytes({0x80, 0x3F}));
  EXPECT_EQ(ParseNpy(u2, "x.npy")->dtype(), DType::kU16);
  EXPECT_EQ(ParseNpy(u2, "x.npy", DType::kBF16)->ValueAt(0), 1);
  const std::string v2 = File("{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", Bytes({0x80, 0x3F}));
  EXPECT_EQ(ParseNpy(v2, "x.npy")->dtype(), DType::kBF16);
}

TEST(Npy, BoolBytesAreNormalised) {
  const std::string file = File("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", Bytes({2, 0}));
  EXPECT_EQ(ParseNpy(file, "x.npy")->data<uint8_t>()[0], 1);
}

TEST(Npy, Uint64IsCarriedAsI64BelowTwoTo63) {
  const std::string header = "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }";
  const Result<Tensor> small = ParseNpy(File(header, Bytes({7, 1, 0, 0, 0, 0, 0, 0x7F})), "x.npy");
  ASSERT_TRUE(small.ok()) << small.status().ToString();
  EXPECT_EQ(small->dtype(), DType::kI64);
  EXPECT_EQ(small->data<int64_t>()[0], 0x7F00000000000107);
  EXPECT_EQ(
      ParseNpy(File(header, Bytes({0, 0, 0, 0, 0, 0, 0, 0x80})), "x.npy").status().message(),
      "npy file 'x.npy': element 0 is 9223372036854775808; unsigned 64-bit integers are carried as i64 and must be "
      "below 2^63");
}

TEST(Npy, BadHeadersAreRefused) {
  const std::string four(4, '\0');
  for (const char* header :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}", "[]", "",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"}) {
    const Result<Tensor> tensor = ParseNpy(File(header, four), "x.npy");
    EXPECT_FALSE(tensor.ok()) << header;
    EXPECT_NE(tensor.status().message().find("x.npy"), std::string::npos) << tensor.status().message();
  }
  EXPECT_EQ(ParseNpy(File("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", four), "x.npy").status().message(),
            "npy file 'x.npy', byte 65: the shape [2] of f32 takes 8 bytes, found 4");
}

TEST(Npz, ReadsWhatNumpyCompressed) {
  const FileBytes file = ReadFile(std::string(PLUMB_TEST_DATA) + "/tensor/numpy_deflated.npz").value();
  const auto tensors = ParseNpz(file.text(), "x.npz", 1000);
  ASSERT_TRUE(tensors.ok()) << tensors.status().ToString();
  ASSERT_EQ(tensors->size(), 2u);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ((*tensors)[0].tensor.ValueAt(i), i);
    EXPECT_EQ((*tensors)[1].tensor.ValueAt(i), i);
  }
  EXPECT_EQ((*tensors)[1].name, "b");
  EXPECT_EQ(ParseNpz(file.text(), "x.npz", 100).status().code(), StatusCode::kInvalidArgument);
}

TEST(Npz, ChecksumsAreChecked) {
  const TempFolder folder;
  ASSERT_TRUE(WriteNpz(folder / "x.npz", {{"a", AwkwardTensor(DType::kI8, {100})}}).ok());
  std::string bytes(ReadFile(folder / "x.npz")->text());
  bytes[200] = static_cast<char>(bytes[200] ^ 1);  // one of the values
  const Status status = ParseNpz(bytes, "x.npz", 1 << 20).status();
  EXPECT_NE(status.message().find("checksum of member 'a.npy'"), std::string::npos) << status.message();
  ASSERT_TRUE(WriteFile(folder / "x.npz", bytes).ok());
  EXPECT_EQ(NpzRows::Open(folder / "x.npz").status().message(),
            "zip archive '" + (folder / "x.npz") + status.message().substr(status.message().find("':")));
}

// An archive that somebody writes while its rows are read.
TEST(NpzRows, AFileThatChangesIsAnError) {
  const TempFolder folder;
  const Tensor large = Tensor::Create(DType::kF32, {3000, 200}).value();
  ASSERT_TRUE(WriteNpz(folder / "x.npz", {{"a", large}}).ok());
  const NpzRows rows = NpzRows::Open(folder / "x.npz").value();
  EXPECT_EQ(rows.Read(rows.arrays()[0], 2999, 1)->shape(), Shape({1, 200}));
  ASSERT_TRUE(WriteFile(folder / "x.npz", "short").ok());
  EXPECT_EQ(rows.Read(rows.arrays()[0], 2999, 1).status().code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace plumb
