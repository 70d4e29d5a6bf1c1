// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/op_context.h"

#include <fmt/core.h>

#include <algorithm>

namespace plumb::tflite {

schema::BuiltinOperator OpContext::code() const {
  return CodeOf(*writer_.file().root().operator_codes()->Get(op_.opcode_index()));
}

int OpContext::version() const { return writer_.file().root().operator_codes()->Get(op_.opcode_index())->version(); }

bool OpContext::IsFloat(size_t i) const {
  if (BlocksOf(Input(i)) != nullptr) return true;
  switch (Input(i).type()) {
    case schema::TensorType::FLOAT32:
    case schema::TensorType::FLOAT16:
    case schema::TensorType::BFLOAT16:
    case schema::TensorType::FLOAT64: return true;
    default: return false;
  }
}

bool OpContext::SameGrid(size_t input, size_t output) const {
  const schema::Tensor& to = writer_.TensorAt(OutputIndex(output));
  if (Input(input).type() != to.type()) return false;
  const Grid a = GridOf(Input(input)), b = GridOf(to);
  return a.scale == b.scale && a.zero_point == b.zero_point;
}

Order OpContext::CommonOrder(int rank) const {
  for (size_t i = 0; i < NumInputs(); ++i) {
    if (Has(i) && Rank(i) == rank && OrderOf(i) == Order::kFirst) return Order::kFirst;
  }
  return Order::kFile;
}

Result<std::vector<int64_t>> OpContext::Ints(size_t i, const char* what) {
  if (!Has(i)) return Status::CorruptModel(fmt::format("it has no input {}, {}", i, what));
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, writer_.ValueOf(InputIndex(i)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, value.ConvertedTo(DType::kI64));
  const auto* data = wide.data<int64_t>();
  constexpr int64_t kLargest = int64_t{1} << 40;  // of a dim, axis, size or place
  for (int64_t k = 0; k < wide.NumElements(); ++k) {
    if (data[k] < -kLargest || data[k] > kLargest)
      return Status::CorruptModel(fmt::format("input {}, {}, holds {}", i, what, data[k]));
  }
  return std::vector<int64_t>(data, data + wide.NumElements());
}

Result<int> OpContext::AxisIn(Order order, int64_t axis, int rank) {
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) return Status::CorruptModel(fmt::format("axis {} of a tensor of {} dims", axis, rank));
  return order == Order::kFirst ? LastAxes(rank)[static_cast<size_t>(at)] : static_cast<int>(at);
}

Result<std::string> OpContext::Activated(const std::string& value, schema::Activation activation) {
  const auto clip = [&](float low, float high) -> Result<std::string> {
    PLUMB_ASSIGN_OR_RETURN(const std::string least, Number(low));
    PLUMB_ASSIGN_OR_RETURN(const std::string most, Number(high));
    return Emit("Clip", {value, least, most});
  };
  switch (activation) {
    case schema::Activation::NONE: return value;
    case schema::Activation::RELU: return Emit("Relu", {value});
    case schema::Activation::RELU6: return clip(0, 6);
    case schema::Activation::RELU_N1_TO_1: return clip(-1, 1);
    case schema::Activation::TANH: return Emit("Tanh", {value});
    default: break;
  }
  return Status::NotSupported(fmt::format("the fused activation {}", static_cast<int>(activation)));
}

Status OpContext::Set(size_t output, const std::string& value, Order order, schema::Activation activation) {
  PLUMB_ASSIGN_OR_RETURN(const std::string activated, Activated(value, activation));
  return writer_.Set(OutputIndex(output), activated, order);
}

Result<std::string> OpContext::Moved(size_t i, Order order, int rank) {
  return SameGrid(i, 0) ? Raw(i, order, rank) : Real(i, order, rank);
}

Status OpContext::SetMoved(size_t output, const std::string& value, Order order) {
  return SameGrid(0, 0) ? SetRaw(output, value, order) : Set(output, value, order);
}

}  // namespace plumb::tflite
