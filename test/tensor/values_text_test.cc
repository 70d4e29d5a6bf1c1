// SPDX-License-Identifier: Apache-2.0
#include "tensor/values_text.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/threads.h"
#include "tensor/test_tensors.h"

namespace plumb {
namespace {

std::string Text(const Tensor& tensor, TextStyle style = TextStyle::kShortest) {
  std::string text;
  AppendValuesText(tensor, 0, tensor.NumElements(), style, &text);
  return text;
}

TEST(ValuesText, EveryDTypeReadsBackExactly) {
  for (const DType dtype : kAllDTypes) {
    const Tensor tensor = AwkwardTensor(dtype, {3, 5, 211});
    const Result<Tensor> read = ParseValuesText(Text(tensor), "x.txt", dtype, tensor.shape());
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_TRUE(SameBits(tensor, *read)) << DTypeName(dtype);
  }
}

TEST(ValuesText, WritesWhatAPersonExpects) {
  Tensor tensor = Tensor::Create(DType::kF32, {5}).value();
  const float values[] = {0.1f, -0.f, 1.f, 1e-7f, 1234.5f};
  std::memcpy(tensor.raw(), values, sizeof(values));
  EXPECT_EQ(Text(tensor), "0.1\n-0\n1\n1e-07\n1234.5\n");
  EXPECT_EQ(Text(tensor, TextStyle::kFixed9), "0.100000001\n-0.000000000\n1.000000000\n0.000000100\n1234.500000000\n");
  EXPECT_EQ(Text(tensor.ConvertedTo(DType::kF16).value()), "0.099975586\n-0\n1\n1.1920929e-07\n1234\n");
  EXPECT_EQ(Text(tensor.ConvertedTo(DType::kF64).value(), TextStyle::kFixed9),
            "0.100000001\n-0.000000000\n1.000000000\n0.000000100\n1234.500000000\n");
  EXPECT_EQ(Text(tensor.ConvertedTo(DType::kBool).value()), "1\n0\n1\n1\n1\n");
  EXPECT_EQ(Text(tensor.ConvertedTo(DType::kI32).value()), "0\n0\n1\n0\n1234\n");
}

TEST(ValuesText, ThreadsWriteTheSameText) {
  const TempFolder folder;
  const Tensor tensor = AwkwardTensor(DType::kF32, {300001});
  const int before = NumThreads();
  for (const int threads : {1, 3}) {
    SetNumThreads(threads);
    ASSERT_TRUE(WriteValuesText(folder / "x.txt", tensor, TextStyle::kShortest).ok());
    EXPECT_EQ(ReadFile(folder / "x.txt")->text(), Text(tensor));
  }
  SetNumThreads(before);
}

TEST(ValuesText, StopsWhenTheSinkFails) {
  const Tensor tensor = Tensor::Zeros(DType::kF32, {1 << 20}).value();
  int calls = 0;
  const Status status = StreamValuesText(tensor, TextStyle::kShortest, [&](std::string_view) {
    ++calls;
    return Status::IoError("full");
  });
  EXPECT_EQ(status.message(), "full");
  EXPECT_EQ(calls, 1);
}

Status Refused(const std::string& text, DType dtype = DType::kF32, std::optional<Shape> shape = {}) {
  return ParseValuesText(text, "x.txt", dtype, shape).status();
}

TEST(ValuesText, ReadsStrictly) {
  EXPECT_EQ(Refused("1\n2\n3x\n").message(),
            "text file 'x.txt', line 3: value 2 is '3x', expected a number of dtype f32");
  EXPECT_EQ(Refused("1\n2\n", DType::kF32, Shape{3}).code(), StatusCode::kCorruptModel);
  EXPECT_EQ(Refused("1\n2\n3\n4\n", DType::kF32, Shape{3}).message(),
            "text file 'x.txt', line 4: expected the end of the file, found '4'");
  EXPECT_FALSE(Refused("128", DType::kI8).ok());
  EXPECT_FALSE(Refused("1.5", DType::kI32).ok());
  EXPECT_FALSE(Refused("-1", DType::kU32).ok());
  EXPECT_FALSE(Refused("2", DType::kBool).ok());
  EXPECT_FALSE(Refused("+-1").ok());
  EXPECT_FALSE(Refused("1e39").ok());
  EXPECT_FALSE(Refused("70000", DType::kF16).ok());
  EXPECT_FALSE(Refused("0.1e400", DType::kF64).ok());
  EXPECT_FALSE(Refused("1", DType::kF32, Shape{1 << 30}).ok());
}

TEST(ValuesText, AcceptsWhatOtherToolsWrite) {
  const Result<Tensor> read = ParseValuesText("+1.5 nan -inf\r\n 1e-60 -1e-400\t1.000000000", "x.txt", DType::kF32, {});
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->shape(), Shape{6});
  EXPECT_EQ(read->ValueAt(0), 1.5);
  EXPECT_TRUE(std::isnan(read->ValueAt(1)));
  EXPECT_EQ(read->ValueAt(2), -INFINITY);
  EXPECT_EQ(read->ValueAt(3), 0);
  EXPECT_TRUE(std::signbit(read->ValueAt(4)));
}

}  // namespace
}  // namespace plumb
