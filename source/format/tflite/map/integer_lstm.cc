// SPDX-License-Identifier: Apache-2.0
// LSTMs of int8 activations with cells of 16 bits: one PlumbQuantizedLSTM (op/quantized_lstm.h), whose factors follow
// from the tensors' scales in f32, as LiteRT computes them. The scales of normalised gates and of h in front of a
// projection are those of the operator's intermediate tensors.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "format/tflite/map/lstm.h"
#include "op/core/fixed_factor.h"

namespace plumb::tflite {
namespace {

using Type = schema::TensorType;

constexpr size_t kInnerIntermediate = 4;
constexpr LstmPlaces kPlaces;

struct LstmGrids {
  float x = 1, y = 1, inner = 1, gates[4] = {};
  int cell_power = 0;  // the cell's scale is 2 to it
  int x_zero = 0, y_zero = 0, inner_zero = 0;
};

// Of a tensor with one scale.
Status TakeGrid(const schema::Tensor& tensor, const std::string& what, float* scale, int* zero) {
  const Grid grid = GridOf(tensor);
  if (grid.scale.size() != 1 || !(grid.scale[0] > 0) || !std::isfinite(grid.scale[0]) ||
      std::abs(grid.zero_point[0]) > INT16_MAX)
    return Status::NotSupported(fmt::format("{} has not one scale and a zero point of its type", what));
  *scale = grid.scale[0];
  if (zero != nullptr) *zero = static_cast<int>(grid.zero_point[0]);
  return Status::Ok();
}

Status TakeInputGrid(const OpContext& c, size_t i, float* scale, int* zero = nullptr) {
  if (!c.Has(i)) return Status::CorruptModel(fmt::format("its input {} is left out", i));
  return TakeGrid(c.Input(i), fmt::format("its input {}", i), scale, zero);
}

Status TakeIntermediate(OpContext& c, size_t i, float* scale, int* zero = nullptr) {
  const auto* given = c.op().intermediates();
  const size_t count = given == nullptr ? 0 : given->size();
  if (count != kInnerIntermediate + 1)
    return Status::NotSupported(fmt::format("it has {} intermediate tensors, expected 5", count));
  const int tensor = given->Get(static_cast<flatbuffers::uoffset_t>(i));
  return TakeGrid(c.writer().TensorAt(tensor), fmt::format("its intermediate tensor {}", i), scale, zero);
}

Status ReadGrids(OpContext& c, LstmGrids* grids) {
  PLUMB_RETURN_IF_ERROR(TakeInputGrid(c, 0, &grids->x, &grids->x_zero));
  PLUMB_RETURN_IF_ERROR(TakeInputGrid(c, kPlaces.hidden_state, &grids->y, &grids->y_zero));
  PLUMB_RETURN_IF_ERROR(TakeIntermediate(c, kInnerIntermediate, &grids->inner, &grids->inner_zero));
  for (size_t gate = 0; gate < 4; ++gate) {
    grids->gates[gate] = 0x1p-12f;
    const bool absent = gate == kInput && !c.Has(kPlaces.recurrent);
    if (c.Has(kPlaces.norms + kForget) && !absent)
      PLUMB_RETURN_IF_ERROR(TakeIntermediate(c, gate, &grids->gates[gate]));
  }
  float cell = 1;
  PLUMB_RETURN_IF_ERROR(TakeInputGrid(c, kPlaces.cell_state, &cell));
  const float power = std::log2(cell), nearest = std::round(power);
  if (std::fabs(power - nearest) >= 1e-3f || nearest < -15 || nearest > -9)
    return Status::NotSupported(
        fmt::format("its cell has the scale {}, expected a power of two from 2^-15 to 2^-9", cell));
  grids->cell_power = static_cast<int>(nearest);
  return Status::Ok();
}

Status CheckType(const OpContext& c, size_t i, Type type) {
  if (c.Input(i).type() == type) return Status::Ok();
  return Status::NotSupported(fmt::format("its input {} is of {}, expected {} beside int8 activations", i,
                                          schema::EnumNameTensorType(c.Input(i).type()),
                                          schema::EnumNameTensorType(type)));
}

// Its integers, and whether it is there.
class LstmOperands {
 public:
  LstmOperands(OpContext& c, bool has_input_gate) : c_(c), has_input_gate_(has_input_gate) {}

  // Of all gates, one behind the other.
  Result<std::string> OfGates(size_t first, Type type, bool of_cell = true) {
    std::vector<std::string> parts;
    size_t place = first;
    for (const Gate gate : {kInput, kForget, kCell, kOutput}) {
      if (gate == kCell && !of_cell) continue;
      const size_t i = place++;
      if (gate == kInput && !has_input_gate_) continue;
      PLUMB_ASSIGN_OR_RETURN(const std::string part, One(i, type));
      parts.push_back(part);
    }
    return c_.Emit("Concat", parts, {{"axis", IntAttribute(0)}});
  }

  Result<std::string> One(size_t i, Type type) {
    if (!c_.Has(i)) return Status::CorruptModel(fmt::format("its input {} is left out", i));
    PLUMB_RETURN_IF_ERROR(CheckType(c_, i, type));
    return c_.Raw(i, Order::kFile);
  }

 private:
  OpContext& c_;
  bool has_input_gate_;
};

// The real factors as 31 bits and a shift.
class LstmFactors {
 public:
  Status Add(float real) {
    const FixedFactor factor = FixedFactorOf(static_cast<double>(real));
    if (!factor.valid) return Status::NotSupported(fmt::format("its scales make the factor {}", real));
    multipliers_.push_back(factor.multiplier);
    shifts_.push_back(factor.shift);
    return Status::Ok();
  }

  Status AddGate(const OpContext& c, const LstmGrids& grids, Gate gate) {
    if (gate == kInput && !c.Has(kPlaces.recurrent)) {
      for (int i = 0; i < 4; ++i) PLUMB_RETURN_IF_ERROR(Add(1));
      guards_.push_back(1);
      return Status::Ok();
    }
    float w = 1, r = 1, norm = 1;
    PLUMB_RETURN_IF_ERROR(TakeInputGrid(c, kPlaces.weights + gate, &w));
    PLUMB_RETURN_IF_ERROR(TakeInputGrid(c, kPlaces.recurrent + gate, &r));
    PLUMB_RETURN_IF_ERROR(Add(w * grids.x / grids.gates[gate]));
    PLUMB_RETURN_IF_ERROR(Add(r * grids.y / grids.gates[gate]));
    float of_cell = 1;
    if (gate != kCell && c.Has(kPlaces.peepholes + 2)) {
      float peephole = 1;
      PLUMB_RETURN_IF_ERROR(TakeInputGrid(c, kPlaces.peepholes + (gate == kOutput ? size_t{2} : gate), &peephole));
      of_cell = static_cast<float>(std::ldexp(static_cast<double>(peephole), grids.cell_power) /
                                   static_cast<double>(grids.gates[gate]));
    }
    PLUMB_RETURN_IF_ERROR(Add(of_cell));
    if (c.Has(kPlaces.norms + kForget)) PLUMB_RETURN_IF_ERROR(TakeInputGrid(c, kPlaces.norms + gate, &norm));
    PLUMB_RETURN_IF_ERROR(Add(norm));
    guards_.push_back(std::clamp<int64_t>(static_cast<int64_t>(std::min(10000 * norm, 1e9f)), 1, kInt32Max));
    return Status::Ok();
  }

  void Put(onnx::AttributeMap* attributes) const {
    (*attributes)["multipliers"] = IntsAttribute(multipliers_);
    (*attributes)["shifts"] = IntsAttribute(shifts_);
    (*attributes)["guards"] = IntsAttribute(guards_);
  }

 private:
  std::vector<int64_t> multipliers_, shifts_, guards_;
};

Result<onnx::AttributeMap> AttributesOf(OpContext& c, const LstmOptions& options, const LstmGrids& grids) {
  LstmFactors factors;
  for (const Gate gate : {kInput, kForget, kCell, kOutput}) PLUMB_RETURN_IF_ERROR(factors.AddGate(c, grids, gate));
  PLUMB_RETURN_IF_ERROR(factors.Add(static_cast<float>(0x1p-15 / static_cast<double>(grids.inner) * 0x1p-15)));
  float projection = 1;
  const bool projects = c.Has(kPlaces.projection);  // LiteRT then subtracts the zero point of h in front of it
  if (projects) PLUMB_RETURN_IF_ERROR(TakeInputGrid(c, kPlaces.projection, &projection));
  PLUMB_RETURN_IF_ERROR(factors.Add(projection * grids.inner / grids.y));
  const auto limit = [](float clip, float scale, float most) {
    return IntAttribute(clip > 0 ? static_cast<int64_t>(std::min(clip / scale, most)) : 0);
  };
  const Grid y = GridOf(c.writer().TensorAt(c.OutputIndex(0)));
  if (y.scale.size() != 1 || !(y.scale[0] > 0)) return Status::CorruptModel("its output has not one scale");
  onnx::AttributeMap attributes = {{"batch_first", IntAttribute(options.one_step || options.time_major ? 0 : 1)},
                                   {"has_input_gate", IntAttribute(c.Has(kPlaces.recurrent) ? 1 : 0)},
                                   {"has_peepholes", IntAttribute(c.Has(kPlaces.peepholes + 2) ? 1 : 0)},
                                   {"has_norms", IntAttribute(c.Has(kPlaces.norms + kForget) ? 1 : 0)},
                                   {"has_projection", IntAttribute(projects ? 1 : 0)},
                                   {"x_zero", IntAttribute(grids.x_zero)},
                                   {"y_zero", IntAttribute(grids.y_zero)},
                                   {"inner_zero", IntAttribute(projects ? -grids.inner_zero : grids.inner_zero)},
                                   {"cell_bits", IntAttribute(15 + grids.cell_power)},
                                   {"cell_clip", limit(options.cell_clip, std::ldexp(1.0f, grids.cell_power), 32767)},
                                   {"projection_clip", limit(options.projection_clip, y.scale[0], 127)}};
  factors.Put(&attributes);
  return attributes;
}

Result<std::vector<std::string>> InputsOf(OpContext& c, const std::string& x) {
  LstmOperands operands(c, c.Has(kPlaces.recurrent));
  std::vector<std::string> inputs = {x};
  for (const size_t first : {kPlaces.weights, kPlaces.recurrent}) {
    PLUMB_ASSIGN_OR_RETURN(const std::string weights, operands.OfGates(first, Type::INT8));
    inputs.push_back(weights);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string bias, operands.OfGates(kPlaces.biases, Type::INT32));
  inputs.push_back(c.Emit("Cast", {bias}, {{"to", IntAttribute(onnx::kTypeInt64)}}));
  if (c.Has(kPlaces.peepholes + 2)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string peepholes, operands.OfGates(kPlaces.peepholes, Type::INT16, false));
    inputs.push_back(peepholes);
  }
  if (c.Has(kPlaces.norms + kForget)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string norms, operands.OfGates(kPlaces.norms, Type::INT16));
    inputs.push_back(norms);
  }
  if (!c.Has(kPlaces.projection)) return inputs;
  PLUMB_ASSIGN_OR_RETURN(const std::string projection, operands.One(kPlaces.projection, Type::INT8));
  inputs.push_back(projection);
  if (!c.Has(kPlaces.projection_bias)) {
    const int64_t hidden = c.InShape(kPlaces.recurrent + kForget)[1];
    PLUMB_ASSIGN_OR_RETURN(const std::string zeros, c.IntsConstant(std::vector<int64_t>(static_cast<size_t>(hidden))));
    inputs.push_back(zeros);
    return inputs;
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string of_projection, operands.One(kPlaces.projection_bias, Type::INT32));
  inputs.push_back(c.Emit("Cast", {of_projection}, {{"to", IntAttribute(onnx::kTypeInt64)}}));
  return inputs;
}

}  // namespace

Status WriteIntegerLstm(OpContext& c, const LstmOptions& options) {
  PLUMB_RETURN_IF_ERROR(CheckType(c, 0, Type::INT8));
  if (!c.Has(kPlaces.recurrent + kForget) || c.Rank(kPlaces.recurrent + kForget) != 2 ||
      c.InShape(kPlaces.recurrent + kForget)[1] > kMostHidden)
    return Status::CorruptModel("its recurrent weights have no 2 dims of a state");
  LstmGrids grids;
  PLUMB_RETURN_IF_ERROR(ReadGrids(c, &grids));
  PLUMB_ASSIGN_OR_RETURN(onnx::AttributeMap attributes, AttributesOf(c, options, grids));
  PLUMB_ASSIGN_OR_RETURN(std::string x, c.Raw(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string axis, c.IntsConstant({0}));
  if (options.one_step) x = c.Emit("Unsqueeze", {x, axis});
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> inputs, InputsOf(c, x));
  const std::string y = c.writer().EmitOwn("QuantizedLSTM", inputs, attributes);
  return c.SetRaw(0, options.one_step ? c.Emit("Squeeze", {y, axis}) : y, Order::kFile);
}

}  // namespace plumb::tflite
