// SPDX-License-Identifier: Apache-2.0
// RFFT2D of one row, and what reads its complex numbers: REAL, IMAG, COMPLEX_ABS and a CAST to floats. A complex tensor
// is two of floats; the transform is a product with cosines and sines.
#include <fmt/core.h>

#include <cmath>

#include "format/tflite/op_context.h"
#include "format/tflite/translator.h"

namespace plumb::tflite {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kLongestTransform = 4096;  // its matrices take 64 MiB

// [length, length / 2 + 1]: the cosines, or the negated sines, of 2 pi i k / length.
Result<std::string> TransformMatrix(OpContext& c, int64_t rows, int64_t length, bool cosines) {
  const int64_t bins = length / 2 + 1;
  PLUMB_ASSIGN_OR_RETURN(Tensor matrix, Tensor::Create(DType::kF32, Shape{rows, bins}));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < bins; ++k) {
      const double angle = 2 * kPi * static_cast<double>(i * k % length) / static_cast<double>(length);
      matrix.data<float>()[i * bins + k] = static_cast<float>(cosines ? std::cos(angle) : -std::sin(angle));
    }
  }
  return c.writer().Constant(matrix, onnx::kTypeFloat, cosines ? "cosines" : "sines");
}

}  // namespace

Status MapRfft2d(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, c.Ints(1, "the lengths"));
  const Shape in = c.InShape(0);
  if (lengths.size() != 2 || in.rank() < 2) return Status::CorruptModel("it expects two lengths and dims");
  if (lengths[0] != 1 || lengths[1] < 1 || lengths[1] > kLongestTransform) {
    return Status::NotSupported(fmt::format("it transforms {} by {}; one row of up to {} is supported", lengths[0],
                                            lengths[1], kLongestTransform));
  }
  const int64_t width = in[in.rank() - 1];
  if (in[in.rank() - 2] != 1 || width > lengths[1] || width < 1)
    return Status::NotSupported(fmt::format("it cuts or repeats an input of {}", in.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string cosines, TransformMatrix(c, width, lengths[1], true));
  PLUMB_ASSIGN_OR_RETURN(const std::string sines, TransformMatrix(c, width, lengths[1], false));
  c.translator().complex()[{&c.writer(), c.OutputIndex(0)}] = {c.Emit("MatMul", {x, cosines}),
                                                               c.Emit("MatMul", {x, sines})};
  return Status::Ok();
}

Status MapComplexPart(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto parts, c.translator().ComplexPartsOf(c));
  const auto& [real, imaginary] = parts;
  std::string y = c.code() == schema::BuiltinOperator::IMAG ? imaginary : real;
  if (c.code() == schema::BuiltinOperator::COMPLEX_ABS)
    y = c.Emit("Sqrt", {c.Emit("Add", {c.Emit("Mul", {real, real}), c.Emit("Mul", {imaginary, imaginary})})});
  return c.SetRaw(0, y, Order::kFile);
}

}  // namespace plumb::tflite
