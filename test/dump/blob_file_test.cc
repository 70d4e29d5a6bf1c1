// SPDX-License-Identifier: Apache-2.0
// Every dtype through every format and back.
#include "dump/blob_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/file.h"
#include "dump/checksum.h"
#include "dump/dump_test_util.h"
#include "dump/file_name.h"

namespace plumb {
namespace {

Tensor AnyTensor(DType dtype, Shape shape) {
  std::mt19937 random(7);
  Tensor source = Tensor::Create(DType::kF32, shape).value();
  std::normal_distribution<float> normal(0, 50);
  for (int64_t i = 0; i < source.NumElements(); ++i) source.data<float>()[i] = normal(random);
  return source.ConvertedTo(dtype).value();
}

TEST(BlobFile, RoundTripOfEveryDtypeInEveryFormat) {
  using Format = DumpOptions::Format;
  const TempFolder folder;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8, DType::kI16,
                      DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kBool}) {
    for (Format format : {Format::kText, Format::kNpy, Format::kRaw}) {
      for (bool zstd : {false, true}) {
        for (const Shape& shape : {Shape{2, 3, 50, 70}, Shape{}, Shape{3, 0}}) {
          const Tensor tensor = AnyTensor(dtype, shape);
          const std::string path = folder / ("blob" + BlobFileEnding(format, zstd));
          BlobFileResult result;
          ASSERT_TRUE(WriteBlobFile(tensor, path, format, zstd, &result).ok());
          const std::string what = path + " " + DTypeName(dtype) + " " + shape.ToString();
          const FileBytes bytes = ReadFile(path).value();
          EXPECT_EQ(result.bytes, bytes.size()) << what;
          EXPECT_EQ(result.checksum, ChecksumOf(bytes.data(), bytes.size())) << what;
          const auto back = ParseBlobFile(bytes.text(), path, dtype, shape);
          ASSERT_TRUE(back.ok()) << what << ": " << back.status().message();
          EXPECT_EQ(back->dtype(), dtype) << what;
          EXPECT_EQ(back->shape(), shape) << what;
          EXPECT_EQ(std::memcmp(back->raw(), tensor.raw(), tensor.bytes()), 0) << what;
        }
      }
    }
  }
}

TEST(BlobFile, Fixed9IsPrintf) {
  const TempFolder folder;
  const Tensor tensor = Floats({1.5f, -0.1f, 1e10f, 4e-10f}, {4});
  BlobFileResult result;
  ASSERT_TRUE(WriteBlobFile(tensor, folder / "a.txt", DumpOptions::Format::kTextFixed9, false, &result).ok());
  EXPECT_EQ(ReadFile(folder / "a.txt")->text(), "1.500000000\n-0.100000001\n10000000000.000000000\n0.000000000\n");
}

TEST(BlobFile, FullDiskIsAnError) {
  BlobFileResult result;
  const Status status = WriteBlobFile(Floats(std::vector<float>(100000, 1.0f), {100000}), "/dev/full",
                                      DumpOptions::Format::kRaw, false, &result);
  EXPECT_EQ(status.code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace plumb
