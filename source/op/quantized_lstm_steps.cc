// SPDX-License-Identifier: Apache-2.0
// The steps of a PlumbQuantizedLSTM, by its definition or in another way.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "op/core/gemmlowp.h"
#include "op/core/short_fixed.h"
#include "op/quantized_lstm.h"

namespace plumb {
namespace {

using LstmSizes = QuantizedLstmShape;
using LstmWay = QuantizedLstmWay;

enum LstmGate { kInputGate, kForgetGate, kCellGate, kOutputGate };

constexpr int64_t kShortLimit = 32767, kByteLimit = 127;

int64_t LimitedTo(int64_t x, int64_t limit) { return std::clamp(x, -limit - 1, limit); }

// x times the factor, of 32 bits.
int64_t ScaledBy(int64_t x, const FixedFactor& factor, LstmWay::Rounding rounding) {
  const int left = std::max(0, factor.shift), right = std::max(0, -factor.shift), shift = 31 - factor.shift;
  const int64_t limited = LimitedTo(x, kInt32Max), product = limited * factor.multiplier;  // 62 bits
  const int64_t shifted = LimitedTo(limited * (int64_t{1} << left), kInt32Max);
  const int64_t upper = (shifted * factor.multiplier + (int64_t{1} << 30)) >> 31;
  switch (rounding) {
    case LstmWay::kTwiceUp: return right == 0 ? upper : (upper + (int64_t{1} << (right - 1))) >> right;
    case LstmWay::kOnce: return LimitedTo((product + (int64_t{1} << (shift - 1))) >> shift, kInt32Max);
    case LstmWay::kUp: return -LimitedTo(-product >> shift, kInt32Max);
    case LstmWay::kDown: return LimitedTo(product >> shift, kInt32Max);
    case LstmWay::kTowardsZero: return LimitedTo(product / (int64_t{1} << shift), kInt32Max);
    default: return ShiftedRight(HighOfProduct(shifted, factor.multiplier), right);
  }
}

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
double TanhOf(double x) { return std::tanh(x); }

// A function of x with `bits` in front of the point, as a fraction of 15 bits.
int64_t NearestOf(int64_t x, int bits, double (*function)(double)) {
  return LimitedTo(std::lround(function(std::ldexp(static_cast<double>(x), bits - 15)) * 32768), kShortLimit);
}

int64_t GateSigmoid(int64_t x, LstmWay::Functions functions) {
  static const ShortTable lines(-8, 8, SigmoidOf);
  return functions == LstmWay::kNearest ? NearestOf(x, 3, SigmoidOf)
         : functions == LstmWay::kLines ? lines.Of(x)
                                        : ShortSigmoid(x);
}

// One layer with its operands.
class IntegerLstm {
 public:
  explicit IntegerLstm(const LstmWay& way) : way_(way) {}

  Status Init(const Layer& layer, const std::vector<const Tensor*>& inputs) {
    std::vector<BlobInfo> infos;
    for (const Tensor* in : inputs) infos.push_back({in->dtype(), in->shape(), *in});
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveQuantizedLstm(layer, infos));
    p_ = &ParamOf<QuantizedLstmParam>(layer);
    const double end = std::ldexp(1.0, p_->cell_bits);
    if (way_.functions == LstmWay::kLines) cell_lines_.emplace(-end, end, TanhOf);
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
    const int64_t first = way_.h_from_zero ? 0 : p_->y_zero;
    for (int64_t b = 0; b < s_.batch; ++b) {
      std::vector<int64_t> cell(static_cast<size_t>(s_.cells), 0), h(static_cast<size_t>(s_.hidden), first);
      for (int64_t i = 0; i < (way_.twice ? 2 : 1) * s_.time; ++i) {
        const int64_t t = i % s_.time, vector = p_->batch_first ? b * s_.time + t : t * s_.batch + b;
        h = Step(x_.data() + vector * s_.size, h, &cell);
        std::copy(h.begin(), h.end(), y + vector * s_.hidden);
        if (!known.empty()) std::copy_n(known.begin() + vector * s_.hidden, s_.hidden, h.begin());
        if (!way_.keeps_h) h.assign(h.size(), first);
        if (!way_.keeps_c) cell.assign(cell.size(), 0);
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

  const FixedFactor& FactorOf(int gate, LstmSizes::Factor factor) const {
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
      const int64_t zero = way_.h_plain ? 0 : p_->y_zero + way_.h_more;
      const int64_t of_h = Product(r_.data() + row * s_.hidden, h.data(), zero, s_.hidden);
      value = Limited(ScaledBy(of_x, FactorOf(gate, LstmSizes::kOfX), way_.gates), way_.limits_sums);
      value = Limited(value + ScaledBy(of_h, FactorOf(gate, LstmSizes::kOfH), way_.gates), way_.limits_sums);
      if (!p_->has_peepholes || gate == kCellGate) continue;
      const int64_t place = gate == kOutputGate ? FirstRow(kCellGate) + i : row;  // the cell gate has none
      const int64_t of_cell = peepholes_[static_cast<size_t>(place)] * cell[static_cast<size_t>(i)];
      value = Limited(value + ScaledBy(of_cell, FactorOf(gate, LstmSizes::kOfCell), way_.gates), way_.limits_sums);
    }
    if (p_->has_norms) Normalise(gate, &values);
    for (int64_t& value : values) value = gate == kCellGate ? Tanh(value, 3) : GateSigmoid(value, way_.functions);
    return values;
  }

  // To 16 bits.
  static int64_t Limited(int64_t x, bool limits) {
    return limits ? LimitedTo(x, kShortLimit) : static_cast<int16_t>(static_cast<uint16_t>(x & 0xFFFF));
  }

  // Of a gate or, with its bits, of c.
  int64_t Tanh(int64_t x, int bits) const {
    static const ShortTable of_gate(-8, 8, TanhOf);
    if (way_.functions == LstmWay::kNearest) return NearestOf(x, bits, TanhOf);
    if (way_.functions == LstmWay::kLines) return bits == p_->cell_bits ? cell_lines_->Of(x) : of_gate.Of(x);
    return ShortTanh(x, bits);
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
    FixedFactor scale = FactorOf(gate, LstmSizes::kOfNorm);
    scale.shift = std::min(scale.shift + 12, 30);
    for (int64_t i = 0; i < s_.cells; ++i) {
      const auto row = static_cast<size_t>(FirstRow(gate) + i);
      int64_t& value = (*values)[static_cast<size_t>(i)];
      const int64_t sized = ScaledBy(kOne * value - mean, inverse, way_.gates) * norms_[row] + bias_[row];
      value = LimitedTo(ScaledBy((sized + (sized > 0 ? kOne / 2 : -kOne / 2)) / kOne, scale, way_.gates), kShortLimit);
    }
  }

  std::vector<int64_t> Step(const int64_t* x, const std::vector<int64_t>& h, std::vector<int64_t>* cell) const {
    const std::vector<int64_t> forget = GateOf(kForgetGate, x, h, *cell), fresh = GateOf(kCellGate, x, h, *cell);
    const std::vector<int64_t> in = p_->has_input_gate ? GateOf(kInputGate, x, h, *cell) : std::vector<int64_t>();
    const std::vector<int64_t> before = *cell;
    const auto shifted = [this](int64_t product, int by) {
      return way_.cell == LstmWay::kDown ? product >> by : ShiftedRight(product, by);
    };
    for (size_t i = 0; i < cell->size(); ++i) {
      const int64_t kept = shifted(forget[i] * (*cell)[i], 15);
      const int64_t share = in.empty() || way_.coupled ? kShortLimit - forget[i] : in[i];
      const int64_t next = Limited(kept + shifted(share * fresh[i], 15 + p_->cell_bits), way_.limits_cell);
      (*cell)[i] = p_->cell_clip > 0 ? std::clamp<int64_t>(next, -p_->cell_clip, p_->cell_clip) : next;
    }
    std::vector<int64_t> out = GateOf(kOutputGate, x, h, way_.new_cell ? *cell : before);
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t of_cell = way_.tanh_of_cell ? Tanh((*cell)[i], p_->cell_bits)
                                                : LimitedTo((*cell)[i] * (int64_t{1} << p_->cell_bits), kShortLimit);
      const int64_t whole = ScaledBy(out[i] * of_cell, factors_[LstmSizes::kInner], way_.output);
      out[i] = LimitedTo(whole + p_->inner_zero, kByteLimit);
    }
    return p_->has_projection ? Projected(out) : out;
  }

  std::vector<int64_t> Projected(const std::vector<int64_t>& inner) const {
    std::vector<int64_t> h;
    for (int64_t i = 0; i < s_.hidden; ++i) {
      const int64_t sum = projection_bias_[static_cast<size_t>(i)] +
                          Product(projection_.data() + i * s_.cells, inner.data(), p_->inner_zero, s_.cells);
      const int64_t whole =
          LimitedTo(ScaledBy(sum, factors_[LstmSizes::kProjected], way_.output) + p_->y_zero, kByteLimit);
      h.push_back(p_->projection_clip > 0 ? std::clamp<int64_t>(whole, -p_->projection_clip, p_->projection_clip)
                                          : whole);
    }
    return h;
  }

  const LstmWay& way_;
  std::optional<ShortTable> cell_lines_;
  LstmSizes s_;
  const QuantizedLstmParam* p_ = nullptr;
  std::vector<FixedFactor> factors_;
  std::vector<int64_t> x_, w_, r_, bias_, peepholes_, norms_, projection_, projection_bias_;
};

}  // namespace

Status ComputeQuantizedLstm(const Layer& layer, const std::vector<const Tensor*>& inputs, const Tensor* given,
                            int64_t* y, const QuantizedLstmWay& way) {
  IntegerLstm lstm(way);
  PLUMB_RETURN_IF_ERROR(lstm.Init(layer, inputs));
  return lstm.Run(given, y);
}

}  // namespace plumb
