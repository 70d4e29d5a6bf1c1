// SPDX-License-Identifier: Apache-2.0
#include "op/quantized_lstm.h"

#include <fmt/core.h>

#include <algorithm>

#include "op/core/gemmlowp.h"
#include "op/core/short_fixed.h"

namespace plumb {
namespace {

using LstmShape = QuantizedLstmShape;

enum LstmGate { kInputGate, kForgetGate, kCellGate, kOutputGate };

constexpr int64_t kShortLimit = 32767, kByteLimit = 127;

int64_t LimitedTo(int64_t x, int64_t limit) { return std::clamp(x, -limit - 1, limit); }

// x times the factor, rounded twice; what leaves 32 bits on the way is limited.
int64_t ScaledBy(int64_t x, const FixedFactor& factor) {
  const int left = std::max(0, factor.shift), right = std::max(0, -factor.shift);
  const int64_t shifted = LimitedTo(LimitedTo(x, kInt32Max) * (int64_t{1} << left), kInt32Max);
  return ShiftedRight(HighOfProduct(shifted, factor.multiplier), right);
}

Status CheckLstmParam(const QuantizedLstmParam& p) {
  if (static_cast<int>(p.multipliers.size()) != LstmShape::kFactors || p.shifts.size() != p.multipliers.size() ||
      static_cast<int>(p.guards.size()) != LstmShape::kGates) {
    return Status::InvalidArgument(fmt::format("expects {} multipliers and shifts and {} guards, found {}, {} and {}",
                                               LstmShape::kFactors, LstmShape::kGates, p.multipliers.size(),
                                               p.shifts.size(), p.guards.size()));
  }
  const auto within = [](const std::vector<int>& values, int least, int most) {
    return std::all_of(values.begin(), values.end(), [&](int value) { return value >= least && value <= most; });
  };
  if (!within(p.multipliers, 0, static_cast<int>(kInt32Max)) || !within(p.shifts, -31, 30) ||
      !within(p.guards, 1, static_cast<int>(kInt32Max)))
    return Status::InvalidArgument("expects multipliers of 31 bits, shifts of -31 to 30 and guards of 1 at least");
  if (!within({p.x_zero, p.y_zero, p.inner_zero}, -128, 127) || !within({p.cell_bits}, 0, 6) ||
      !within({p.cell_clip}, 0, 32767) || !within({p.projection_clip}, 0, 127)) {
    return Status::InvalidArgument(
        fmt::format("expects zero points of int8, 0 to 6 cell_bits and limits of their types, found {}, {}, {}; {}; {} "
                    "and {}",
                    p.x_zero, p.y_zero, p.inner_zero, p.cell_bits, p.cell_clip, p.projection_clip));
  }
  if (p.has_peepholes && p.has_projection)
    return Status::NotSupported("peepholes and a projection together, of which LiteRT's kernel makes no defined sum");
  return Status::Ok();
}

Status InferQuantizedLstm(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const LstmShape s, ResolveQuantizedLstm(context.layer, context.inputs));
  const bool first = ParamOf<QuantizedLstmParam>(context.layer).batch_first;
  context.SetAll(DType::kI64, first ? Shape{s.batch, s.time, s.hidden} : Shape{s.time, s.batch, s.hidden});
  return context.outputs[0].shape.Validate();
}

double FlopsQuantizedLstm(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>&) {
  const auto s = ResolveQuantizedLstm(layer, inputs);
  if (!s.ok()) return 0;
  return 2 * static_cast<double>(s->time * s->batch) * static_cast<double>(LstmShape::kGates * s->cells) *
         static_cast<double>(s->size + s->hidden);
}

// One layer with its operands.
class IntegerLstm {
 public:
  Status Init(const Layer& layer, const std::vector<const Tensor*>& inputs) {
    std::vector<BlobInfo> infos;
    for (const Tensor* in : inputs) infos.push_back({in->dtype(), in->shape(), *in});
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveQuantizedLstm(layer, infos));
    p_ = &ParamOf<QuantizedLstmParam>(layer);
    for (size_t i = 0; i < p_->multipliers.size(); ++i) factors_.push_back({p_->multipliers[i], p_->shifts[i], true});
    PLUMB_RETURN_IF_ERROR(Take(inputs, 0, kByteLimit, &x_));
    PLUMB_RETURN_IF_ERROR(Take(inputs, 1, kByteLimit, &w_));
    PLUMB_RETURN_IF_ERROR(Take(inputs, 2, kByteLimit, &r_));
    PLUMB_RETURN_IF_ERROR(Take(inputs, 3, kInt32Max, &bias_));
    PLUMB_RETURN_IF_ERROR(Take(inputs, s_.peepholes, kShortLimit, &peepholes_));
    PLUMB_RETURN_IF_ERROR(Take(inputs, s_.norms, kShortLimit, &norms_));
    PLUMB_RETURN_IF_ERROR(Take(inputs, s_.projection, kByteLimit, &projection_));
    return Take(inputs, s_.projection < 0 ? -1 : s_.projection + 1, kInt32Max, &projection_bias_);
  }

  Status Run(const Tensor* given, int64_t* y) const {
    std::vector<int64_t> known;
    if (given != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor whole, given->ConvertedTo(DType::kI64));
      known.assign(whole.data<int64_t>(), whole.data<int64_t>() + whole.NumElements());
      for (int64_t& value : known) value = LimitedTo(value, kByteLimit);
    }
    for (int64_t b = 0; b < s_.batch; ++b) {
      std::vector<int64_t> cell(static_cast<size_t>(s_.cells), 0);
      std::vector<int64_t> h(static_cast<size_t>(s_.hidden), p_->y_zero);
      for (int64_t t = 0; t < s_.time; ++t) {
        const int64_t vector = p_->batch_first ? b * s_.time + t : t * s_.batch + b;
        h = Step(x_.data() + vector * s_.size, h, &cell);
        std::copy(h.begin(), h.end(), y + vector * s_.hidden);
        if (!known.empty()) std::copy_n(known.begin() + vector * s_.hidden, s_.hidden, h.begin());
      }
    }
    return Status::Ok();
  }

 private:
  static Status Take(const std::vector<const Tensor*>& inputs, int i, int64_t limit, std::vector<int64_t>* values) {
    if (i < 0) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const Tensor whole, inputs[static_cast<size_t>(i)]->ConvertedTo(DType::kI64));
    values->assign(whole.data<int64_t>(), whole.data<int64_t>() + whole.NumElements());
    for (const int64_t value : *values) {
      if (value != LimitedTo(value, limit))
        return Status::InvalidArgument(
            fmt::format("input {} holds {}, expected {} to {}", i, value, -limit - 1, limit));
    }
    return Status::Ok();
  }

  const FixedFactor& FactorOf(int gate, LstmShape::Factor factor) const {
    return factors_[static_cast<size_t>(4 * gate + factor)];
  }
  // Where the gate's rows begin.
  int64_t FirstRow(int gate) const { return (gate - (p_->has_input_gate ? 0 : 1)) * s_.cells; }

  static int64_t Product(const int64_t* weights, const int64_t* x, int64_t zero, int64_t count) {
    int64_t sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += weights[k] * (x[k] - zero);
    return sum;
  }

  std::vector<int64_t> GateOf(int gate, const int64_t* x, const std::vector<int64_t>& h,
                              const std::vector<int64_t>& cell) const {
    std::vector<int64_t> values(cell.size());
    const int64_t first = FirstRow(gate);
    for (int64_t i = 0; i < s_.cells; ++i) {
      const int64_t row = first + i;
      int64_t& value = values[static_cast<size_t>(i)];
      const int64_t bias = p_->has_norms ? 0 : bias_[static_cast<size_t>(row)];
      const int64_t of_x = bias + Product(w_.data() + row * s_.size, x, p_->x_zero, s_.size);
      const int64_t of_h = Product(r_.data() + row * s_.hidden, h.data(), p_->y_zero, s_.hidden);
      value = LimitedTo(ScaledBy(of_x, FactorOf(gate, LstmShape::kOfX)), kShortLimit);
      value = LimitedTo(value + ScaledBy(of_h, FactorOf(gate, LstmShape::kOfH)), kShortLimit);
      if (!p_->has_peepholes || gate == kCellGate) continue;
      const int64_t place = gate == kOutputGate ? FirstRow(kCellGate) + i : row;  // the cell gate has none
      const int64_t of_cell = peepholes_[static_cast<size_t>(place)] * cell[static_cast<size_t>(i)];
      value = LimitedTo(value + ScaledBy(of_cell, FactorOf(gate, LstmShape::kOfCell)), kShortLimit);
    }
    if (p_->has_norms) Normalise(gate, &values);
    for (int64_t& value : values) value = gate == kCellGate ? ShortTanh(value, 3) : ShortSigmoid(value);
    return values;
  }

  // Means and deviations of numbers with ten more bits behind the point.
  void Normalise(int gate, std::vector<int64_t>* values) const {
    int64_t sum = 0, squares = 0;
    for (const int64_t value : *values) sum += value, squares += value * value;
    constexpr int64_t kOne = 1 << 10;
    const int64_t mean = sum * kOne / s_.cells;
    const int64_t variance = (squares * (kOne * kOne / s_.cells) - mean * mean) / (kOne * kOne);
    const FixedFactor inverse =
        InverseRootOf(variance < 1 ? p_->guards[static_cast<size_t>(gate)] : std::min(variance, kInt32Max));
    FixedFactor scale = FactorOf(gate, LstmShape::kOfNorm);
    scale.shift = std::min(scale.shift + 12, 30);
    for (int64_t i = 0; i < s_.cells; ++i) {
      const auto row = static_cast<size_t>(FirstRow(gate) + i);
      int64_t& value = (*values)[static_cast<size_t>(i)];
      const int64_t sized = ScaledBy(kOne * value - mean, inverse) * norms_[row] + bias_[row];
      value = LimitedTo(ScaledBy((sized + (sized > 0 ? kOne / 2 : -kOne / 2)) / kOne, scale), kShortLimit);
    }
  }

  std::vector<int64_t> Step(const int64_t* x, const std::vector<int64_t>& h, std::vector<int64_t>* cell) const {
    const std::vector<int64_t> forget = GateOf(kForgetGate, x, h, *cell), fresh = GateOf(kCellGate, x, h, *cell);
    const std::vector<int64_t> in = p_->has_input_gate ? GateOf(kInputGate, x, h, *cell) : std::vector<int64_t>();
    for (size_t i = 0; i < cell->size(); ++i) {
      const int64_t kept = ShiftedRight(forget[i] * (*cell)[i], 15);
      const int64_t share = in.empty() ? kShortLimit - forget[i] : in[i];
      const int64_t next = LimitedTo(kept + ShiftedRight(share * fresh[i], 15 + p_->cell_bits), kShortLimit);
      (*cell)[i] = p_->cell_clip > 0 ? std::clamp<int64_t>(next, -p_->cell_clip, p_->cell_clip) : next;
    }
    std::vector<int64_t> out = GateOf(kOutputGate, x, h, *cell);
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t whole = ScaledBy(out[i] * ShortTanh((*cell)[i], p_->cell_bits), factors_[LstmShape::kInner]);
      out[i] = LimitedTo(whole + p_->inner_zero, kByteLimit);
    }
    return p_->has_projection ? Projected(out) : out;
  }

  std::vector<int64_t> Projected(const std::vector<int64_t>& inner) const {
    std::vector<int64_t> h;
    for (int64_t i = 0; i < s_.hidden; ++i) {
      const int64_t sum = projection_bias_[static_cast<size_t>(i)] +
                          Product(projection_.data() + i * s_.cells, inner.data(), p_->inner_zero, s_.cells);
      const int64_t whole = LimitedTo(ScaledBy(sum, factors_[LstmShape::kProjected]) + p_->y_zero, kByteLimit);
      h.push_back(p_->projection_clip > 0 ? std::clamp<int64_t>(whole, -p_->projection_clip, p_->projection_clip)
                                          : whole);
    }
    return h;
  }

  LstmShape s_;
  const QuantizedLstmParam* p_ = nullptr;
  std::vector<FixedFactor> factors_;
  std::vector<int64_t> x_, w_, r_, bias_, peepholes_, norms_, projection_, projection_bias_;
};

}  // namespace

void QuantizedLstmParam::Visit(ParamVisitor& v) {
  v.Bool("batch_first", batch_first);
  v.Bool("has_input_gate", has_input_gate);
  v.Bool("has_peepholes", has_peepholes);
  v.Bool("has_norms", has_norms);
  v.Bool("has_projection", has_projection);
  v.Int("x_zero", x_zero);
  v.Int("y_zero", y_zero);
  v.Int("inner_zero", inner_zero);
  v.Int("cell_bits", cell_bits);
  v.Int("cell_clip", cell_clip);
  v.Int("projection_clip", projection_clip);
  v.Counted("multipliers", multipliers);
  v.Counted("shifts", shifts);
  v.Counted("guards", guards);
}

Result<QuantizedLstmShape> ResolveQuantizedLstm(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const auto& p = ParamOf<QuantizedLstmParam>(layer);
  PLUMB_RETURN_IF_ERROR(CheckLstmParam(p));
  LstmShape s;
  int next = 4;
  if (p.has_peepholes) s.peepholes = next++;
  if (p.has_norms) s.norms = next++;
  if (p.has_projection) s.projection = next, next += 2;
  if (inputs.size() != static_cast<size_t>(next))
    return Status::InvalidArgument(fmt::format("the flags announce {} inputs, found {}", next, inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype != DType::kI64 && inputs[i].dtype != DType::kI32) {
      return Status::InvalidArgument(
          fmt::format("expects integers of i32 or i64, found {} in input {}", DTypeName(inputs[i].dtype), i));
    }
  }
  const Shape& x = inputs[0].shape;
  const Shape& r = inputs[2].shape;
  const int gates = p.has_input_gate ? LstmShape::kGates : LstmShape::kGates - 1;
  if (x.rank() != 3 || r.rank() != 2 || r[0] < gates || r[0] % gates != 0) {
    return Status::InvalidArgument(fmt::format("x must have 3 dims and R 2 with the rows of {} gates, found {} and {}",
                                               gates, x.ToString(), r.ToString()));
  }
  s.time = x[p.batch_first ? 1 : 0];
  s.batch = x[p.batch_first ? 0 : 1];
  s.size = x[2];
  s.cells = r[0] / gates;
  s.hidden = r[1];
  const auto expect = [&](int i, const char* name, const Shape& shape) {
    if (i < 0 || inputs[static_cast<size_t>(i)].shape == shape) return Status::Ok();
    return Status::InvalidArgument(fmt::format("{} must be {}, found {}", name, shape.ToString(),
                                               inputs[static_cast<size_t>(i)].shape.ToString()));
  };
  PLUMB_RETURN_IF_ERROR(expect(1, "W", {r[0], s.size}));
  PLUMB_RETURN_IF_ERROR(expect(3, "B", {r[0]}));
  PLUMB_RETURN_IF_ERROR(expect(s.peepholes, "P", {r[0] - s.cells}));
  PLUMB_RETURN_IF_ERROR(expect(s.norms, "N", {r[0]}));
  PLUMB_RETURN_IF_ERROR(expect(s.projection, "H", {s.hidden, s.cells}));
  PLUMB_RETURN_IF_ERROR(expect(s.projection < 0 ? -1 : s.projection + 1, "H's bias", {s.hidden}));
  if (s.projection < 0 && s.hidden != s.cells) {
    return Status::InvalidArgument(
        fmt::format("without a projection h has the {} numbers of a gate, found {}", s.cells, s.hidden));
  }
  return s;
}

Status ComputeQuantizedLstm(const Layer& layer, const std::vector<const Tensor*>& inputs, const Tensor* given,
                            int64_t* y) {
  IntegerLstm lstm;
  PLUMB_RETURN_IF_ERROR(lstm.Init(layer, inputs));
  return lstm.Run(given, y);
}

OpDef DefinePlumbQuantizedLSTM() {
  OpDef op;
  op.make_param = MakeParam<QuantizedLstmParam>;
  op.infer = InferQuantizedLstm;
  op.flops = FlopsQuantizedLstm;
  return op;
}

}  // namespace plumb
