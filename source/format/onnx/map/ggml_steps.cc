// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/map/ggml_steps.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <set>

#include "format/onnx/map/attention_steps.h"
#include "op/reduce.h"
#include "op/tile.h"

namespace plumb::onnx {

int32_t GgmlInt(NodeContext& c, size_t i) {
  const std::vector<int64_t> params = c.IntList("op_params");
  return i < params.size() ? static_cast<int32_t>(params[i]) : 0;
}

float GgmlFloat(NodeContext& c, size_t i) {
  const int32_t bits = GgmlInt(c, i);
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::string GgmlTypeOf(NodeContext& c, size_t input) {
  const AttributeIr* types = c.Attribute("src_types");
  return types == nullptr || input >= types->strings.size() ? "" : types->strings[input];
}

bool OnGgmlCpu(NodeContext& c) { return c.Text("buffer", "").rfind("CPU", 0) == 0; }

Result<Value> FourDims(NodeContext& c, const Value& value) {
  std::vector<int64_t> dims = c.ShapeOf(value).dims();
  if (dims.size() == 4) return value;
  if (dims.size() > 4) return Status::CorruptModel("ggml has four dims, found " + c.ShapeOf(value).ToString());
  dims.insert(dims.begin(), 4 - dims.size(), 1);
  return c.Reshape(value, dims);
}

Result<Value> RepeatedLike(NodeContext& c, const Value& value, const std::vector<int64_t>& dims) {
  const std::vector<int64_t> own = c.ShapeOf(value).dims();
  auto param = std::make_shared<TileParam>();
  bool broadcasts = true;
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i] < 1 || dims[i] % own[i] != 0) {
      return Status::CorruptModel(
          fmt::format("{} cannot be repeated to {}", c.ShapeOf(value).ToString(), Shape(dims).ToString()));
    }
    broadcasts = broadcasts && (own[i] == 1 || own[i] == dims[i]);
    param->repeats.push_back(static_cast<int>(dims[i] / own[i]));
  }
  if (broadcasts) return value;
  return c.Emit(OpKind::kTile, param, {value});
}

Result<Value> RoundedTo(NodeContext& c, const Value& value, const std::string& type) {
  const DType dtype = c.builder().Info(value).dtype;
  if (type == "f32" && dtype != DType::kF32) return c.CastTo(value, DType::kF32);
  if (type == "i32") return c.CastTo(value, DType::kI32);
  if (type == "f32" || type == "i64") return value;
  if (type != "f16" && type != "bf16")
    return Status::NotSupported(fmt::format("it writes {}, which Plumb does not round to", type));
  PLUMB_ASSIGN_OR_RETURN(const Value narrow, c.CastTo(value, type == "f16" ? DType::kF16 : DType::kBF16));
  return c.CastTo(narrow, DType::kF32);
}

namespace {

// q * d, d the block's largest / 127 (of Q8_0 stored in 16 bits), q the nearest whole number. `beyond` (of Q8_1; or
// null): by how much the block's sum, which is stored in 16 bits of its own, is more than that of these values.
Result<Value> RoundedInBlocks(NodeContext& c, const Value& x, int64_t block, bool half_scale, Value* beyond = nullptr) {
  constexpr float kSteps = 127;
  constexpr float kTiny = 1e-30f;  // in place of 0, whose block is 0
  const std::vector<int64_t> dims = c.ShapeOf(x).dims();
  const int64_t rows = c.ShapeOf(x).Count(0, static_cast<int>(dims.size()) - 1);
  if (dims.back() % block != 0)
    return Status::CorruptModel(fmt::format("rows of {} values are no blocks of {}", dims.back(), block));
  PLUMB_ASSIGN_OR_RETURN(const Value blocks, c.Reshape(x, {rows, dims.back() / block, block}));
  auto largest_of = std::make_shared<ReduceParam>();
  largest_of->keep_dims = true;
  largest_of->axes = {2};
  PLUMB_ASSIGN_OR_RETURN(const Value size, c.Emit(OpKind::kAbs, nullptr, {blocks}));
  PLUMB_ASSIGN_OR_RETURN(const Value found, c.Emit(OpKind::kReduceMax, largest_of, {size}));
  PLUMB_ASSIGN_OR_RETURN(const Value largest, c.Binary(OpKind::kMaximum, found, c.ConstFloat(kTiny)));
  PLUMB_ASSIGN_OR_RETURN(Value step, c.Binary(OpKind::kDiv, largest, c.ConstFloat(kSteps)));
  const Value whole_step = step;
  if (half_scale) {
    PLUMB_ASSIGN_OR_RETURN(step, RoundedTo(c, step, "f16"));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value stretched, c.Binary(OpKind::kMul, blocks, c.ConstFloat(kSteps)));
  PLUMB_ASSIGN_OR_RETURN(const Value steps, c.Binary(OpKind::kDiv, stretched, largest));
  PLUMB_ASSIGN_OR_RETURN(const Value whole, c.Emit(OpKind::kPlumbRound, nullptr, {steps}));
  // Between two steps the error is either nothing or a whole step, in each value of the product's row at once; the rule
  // asks for a rms of a quarter of the bound. So a tie counts sqrt(6^2 + 5^2), nearly eight, steps.
  constexpr float kMore = 5;
  PLUMB_ASSIGN_OR_RETURN(const Value larger, c.Binary(OpKind::kMul, whole, c.ConstFloat(1 + kMore)));
  PLUMB_ASSIGN_OR_RETURN(const Value more, c.Binary(OpKind::kMul, whole, c.ConstFloat(kMore)));
  PLUMB_ASSIGN_OR_RETURN(const Value steps_of_block, c.Binary(OpKind::kSub, larger, more));
  PLUMB_ASSIGN_OR_RETURN(const Value rounded, c.Binary(OpKind::kMul, steps_of_block, step));
  if (beyond != nullptr) {
    PLUMB_ASSIGN_OR_RETURN(const Value count, c.Emit(OpKind::kReduceSum, largest_of, {steps_of_block}));
    PLUMB_ASSIGN_OR_RETURN(const Value sum, c.Binary(OpKind::kMul, count, whole_step));
    PLUMB_ASSIGN_OR_RETURN(const Value stored, RoundedTo(c, sum, "f16"));
    PLUMB_ASSIGN_OR_RETURN(const Value own, c.Binary(OpKind::kMul, count, step));
    PLUMB_ASSIGN_OR_RETURN(const Value more_than, c.Binary(OpKind::kSub, stored, own));
    std::vector<int64_t> of_blocks = dims;
    of_blocks.back() /= block;
    PLUMB_ASSIGN_OR_RETURN(*beyond, c.Reshape(more_than, of_blocks));
  }
  return c.Reshape(rounded, dims);
}

}  // namespace

Result<Value> AsOperandFor(NodeContext& c, const Value& x, const std::string& type, Value* beyond) {
  if (type == "f32") return x;
  if (!OnGgmlCpu(c)) {
    return Status::NotSupported(
        fmt::format("how ggml rounds activations for weights of {} is known of its CPU backend, "
                    "and this was computed in buffer '{}'",
                    type, c.Text("buffer", "")));
  }
  if (type == "f16" || type == "bf16") return RoundedTo(c, x, type);
  static const std::set<std::string> kOfQ80 = {"q8_0", "q4_0", "q5_0", "iq4_nl"};
  static const std::set<std::string> kOfQ8K = {"q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_xs"};
  if (beyond != nullptr) return RoundedInBlocks(c, x, 32, true, beyond);
  if (kOfQ80.count(type) != 0) return RoundedInBlocks(c, x, 32, true);
  if (kOfQ8K.count(type) != 0) return RoundedInBlocks(c, x, 256, false);
  return Status::NotSupported(fmt::format("weights of {} are not known", type));
}

Status SetGgml(NodeContext& c, const Value& y) {
  PLUMB_ASSIGN_OR_RETURN(Value value, RoundedTo(c, y, c.Text("type", "f32")));
  const std::vector<int64_t> dims = c.LongIntList("shape");
  PLUMB_RETURN_IF_ERROR(Shape(dims).Validate());
  if (c.ShapeOf(value).NumElements() != Shape(dims).NumElements()) {
    return Status::CorruptModel(
        fmt::format("its inputs make {}, the manifest says {}", c.ShapeOf(value).ToString(), Shape(dims).ToString()));
  }
  std::vector<int64_t> four = dims, own = c.ShapeOf(value).dims();
  four.insert(four.begin(), own.size() > four.size() ? own.size() - four.size() : 0, 1);
  if (own != four) {
    return Status::CorruptModel(
        fmt::format("its inputs make {}, the manifest says {}", c.ShapeOf(value).ToString(), Shape(dims).ToString()));
  }
  if (own != dims) {
    PLUMB_ASSIGN_OR_RETURN(value, c.Reshape(value, dims));
  }
  for (size_t i = 0; i < c.NumInputs(); ++i) {  // a copy that changes nothing is a layer, too
    if (!c.Has(i) || c.In(i).blob != value.blob) continue;
    PLUMB_ASSIGN_OR_RETURN(value, c.Emit(OpKind::kIdentity, nullptr, {value}));
  }
  c.Set(0, value);
  return Status::Ok();
}

Result<Value> GgmlSoftplus(NodeContext& c, const Value& x) {
  constexpr float kLinear = 20;
  PLUMB_ASSIGN_OR_RETURN(const Value power, c.Emit(OpKind::kExp, nullptr, {x}));
  PLUMB_ASSIGN_OR_RETURN(const Value more, c.Binary(OpKind::kAdd, power, c.ConstFloat(1)));
  PLUMB_ASSIGN_OR_RETURN(const Value curve, c.Emit(OpKind::kLog, nullptr, {more}));
  PLUMB_ASSIGN_OR_RETURN(const Value large, c.Emit(OpKind::kGreater, nullptr, {x, c.ConstFloat(kLinear)}));
  return c.Select(large, x, curve);
}

Result<Value> MaskedSoftmax(NodeContext& c, const Value& scaled, const Value& mask, float max_bias) {
  if (!mask.present()) return SoftmaxOfRows(c, scaled);
  const std::vector<int64_t> dims = c.ShapeOf(scaled).dims();
  PLUMB_ASSIGN_OR_RETURN(Value bias, FourDims(c, mask));
  if (c.ShapeOf(bias)[2] < dims[2]) {
    return Status::CorruptModel(
        fmt::format("a mask {} for scores {}", c.ShapeOf(bias).ToString(), Shape(dims).ToString()));
  }
  if (c.ShapeOf(bias)[2] > dims[2]) {  // its rows are padded
    PLUMB_ASSIGN_OR_RETURN(bias, c.Cut(bias, 2, 0, dims[2]));
  }
  PLUMB_ASSIGN_OR_RETURN(bias, RepeatedLike(c, bias, dims));
  if (max_bias > 0) {  // ALiBi
    const int64_t heads = dims[1];
    const double power = std::exp2(std::floor(std::log2(static_cast<double>(heads))));
    PLUMB_ASSIGN_OR_RETURN(Tensor slopes, Tensor::Create(DType::kF32, Shape{heads, 1, 1}));
    for (int64_t h = 0; h < heads; ++h) {
      const auto at = static_cast<double>(h);
      slopes.data<float>()[h] =
          static_cast<float>(at < power ? std::exp2(-max_bias / power * (at + 1))
                                        : std::exp2(-max_bias / 2 / power * (2 * (at - power) + 1)));
    }
    PLUMB_ASSIGN_OR_RETURN(bias, c.Binary(OpKind::kMul, bias, c.Const(slopes)));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value scores, c.Binary(OpKind::kAdd, scaled, bias));
  return SoftmaxOfRows(c, scores);
}

}  // namespace plumb::onnx
