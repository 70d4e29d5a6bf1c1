// SPDX-License-Identifier: Apache-2.0
// Proposals for LSTMs of integers: factors, zero points, biases and gates that stand elsewhere, and steps that are
// computed in another way (reference/core/variants.h).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/cause/known_ways_util.h"
#include "op/quantized_lstm.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

using LstmParam = QuantizedLstmParam;
using LstmShape = QuantizedLstmShape;

constexpr double kMostLstmProducts = 1 << 22;  // of one run: some hundred are tried
constexpr char kOwnFactors[] = "its own";
constexpr int kOfGate = 4;  // factors
constexpr const char* kGateNames[] = {"input", "forget", "cell", "output"};

// The factor times 2^by, as far as it has the bits.
void ShiftFactor(LstmParam* p, int factor, int by) {
  int& shift = p->shifts[static_cast<size_t>(factor)];
  shift = std::clamp(shift + by, -31, 30);
}

void RoundFactor(LstmParam* p, size_t factor, int bits) {
  const int64_t step = int64_t{1} << (31 - bits);
  const int64_t rounded = (p->multipliers[factor] + step / 2) / step * step;
  p->multipliers[factor] = static_cast<int>(std::min(rounded, kInt32Max));
}

class IntegerLstmProposals {
 public:
  IntegerLstmProposals(const ProposalContext& c, const LstmShape& shape, Proposals* proposals)
      : c_(c), s_(shape), p_(ParamOf<LstmParam>(c.layer)), proposals_(proposals) {}

  void Ways() {
    for (const NamedVariant& way : QuantizedLstmVariants()) {
      proposals_->push_back({way.computed, way.says, c_.layer, way.op, way.family});
    }
  }

  void ZeroPoints() {
    const auto each = [&](const char* of, int LstmParam::*field) {
      const int own = p_.*field;
      const auto propose = [&](const char* words, int value) {
        if (value == own || value < -128 || value > 127) return;
        Param(fmt::format("with {} of {}", words, of), fmt::format("the zero point {}", own),
              [&](LstmParam* p) { p->*field = value; });
      };
      propose("no zero point", 0);
      propose("the zero point and one more", own + 1);
      propose("the zero point and one less", own - 1);
      propose("the zero point with another sign", -own);
    };
    each("x", &LstmParam::x_zero);
    each(p_.has_projection ? "h in front of the projection" : "the result", &LstmParam::inner_zero);
    if (p_.has_projection) each("the result and h", &LstmParam::y_zero);
  }

  void Limits() {
    if (p_.cell_clip > 0) Param("without the cell's limit", "a limit", [](LstmParam* p) { p->cell_clip = 0; });
    if (p_.projection_clip > 0)
      Param("without the projection's limit", "a limit", [](LstmParam* p) { p->projection_clip = 0; });
    for (const int bits : {p_.cell_bits - 1, p_.cell_bits + 1}) {
      if (bits < 0 || bits > 6) continue;
      Param(fmt::format("with {} bits of c in front of the point", bits), fmt::format("{}", p_.cell_bits),
            [bits](LstmParam* p) { p->cell_bits = bits; });
    }
  }

  // One factor of all gates or of one, or of h, twice or half as large, or of fewer bits.
  void Factors() {
    const char* kinds[] = {"W", "R"};
    for (int kind = 0; kind < 2; ++kind) {
      for (const int by : {1, -1}) {
        const char* words = by > 0 ? "twice" : "half";
        Param(fmt::format("with {} the factors of {}", words, kinds[kind]), kOwnFactors, [&](LstmParam* p) {
          for (int gate = 0; gate < LstmShape::kGates; ++gate) ShiftFactor(p, kOfGate * gate + kind, by);
        });
        for (int gate = p_.has_input_gate ? 0 : 1; gate < LstmShape::kGates; ++gate) {
          Param(fmt::format("with {} the factor of {} in the {} gate", words, kinds[kind], kGateNames[gate]),
                kOwnFactors, [&](LstmParam* p) { ShiftFactor(p, kOfGate * gate + kind, by); });
        }
      }
    }
    for (const int by : {1, -1})
      Param(by > 0 ? "with twice the factor of h" : "with half the factor of h", kOwnFactors,
            [by](LstmParam* p) { ShiftFactor(p, LstmShape::kInner, by); });
    Param("with the factors of W and R exchanged", kOwnFactors, [](LstmParam* p) {
      for (size_t at = 0; at < kOfGate * LstmShape::kGates; at += kOfGate) {
        std::swap(p->multipliers[at], p->multipliers[at + 1]);
        std::swap(p->shifts[at], p->shifts[at + 1]);
      }
    });
    for (int gate = 0; gate < LstmShape::kGates; ++gate) FactorsOf(gate);
    for (const int bits : {15, 8, 7}) {
      const auto rounded = [bits](LstmParam* p) {
        for (size_t i = 0; i < p->multipliers.size(); ++i) RoundFactor(p, i, bits);
      };
      Param(fmt::format("with factors of {} bits", bits), "31", rounded);
    }
  }

  // W, R and the norms' rows in another order of gates, with their biases and factors or without.
  void Gates() {
    std::vector<int> order = {0, 1, 2, 3};
    if (!p_.has_input_gate) order.erase(order.begin());
    const std::vector<int> own = order;
    while (std::next_permutation(order.begin(), order.end())) {
      std::string words;
      for (const int gate : order) words += fmt::format("{}{}", words.empty() ? "" : " ", "ifgo"[gate]);
      for (const bool bias : {true, false}) {
        for (const bool factors : {true, false}) {
          const char* but = bias ? (factors ? "" : " (not of the factors)")
                                 : (factors ? " (not of the bias)" : " (not of bias and factors)");
          Ordered(order, fmt::format("with the gates in the order {}{}", words, but), bias, factors);
        }
      }
    }
  }

  void Biases() {
    Bias("without the bias", "a bias", [](int64_t, int64_t) { return 0; });
    Bias("with the bias twice", "once", [](int64_t value, int64_t) { return 2 * value; });
    const int64_t first = p_.has_input_gate ? 0 : 1, cells = s_.cells;
    for (int64_t gate = first; gate < LstmShape::kGates; ++gate) {
      Bias(fmt::format("without the bias of the {} gate", kGateNames[gate]), "a bias",
           [=](int64_t value, int64_t row) { return row / cells + first == gate ? 0 : value; });
    }
    const auto of_x = static_cast<size_t>(kOfGate + LstmShape::kOfX);  // of the forget gate
    const double real = std::ldexp(p_.multipliers[of_x], p_.shifts[of_x] - 31);
    const int64_t one = real > 0x1p-18 ? std::llround(4096 / real) : 0;
    Bias("with 1 added to the forget gate's bias", "the bias",
         [=](int64_t value, int64_t row) { return row / cells + first == 1 ? value + one : value; });
    if (s_.projection >= 0) Zeros(s_.projection + 1, "without the projection's bias");
    if (s_.peepholes >= 0) Zeros(s_.peepholes, "without the peepholes");
  }

  // The other direction, and each gate's weights of h read in columns.
  void Moved() {
    const int64_t time = s_.time, batch = s_.batch;
    const auto turned = [first = p_.batch_first, time, batch](const Tensor& tensor) {
      const int64_t size = tensor.NumElements() / (time * batch);
      return ElementsFrom(tensor, tensor.shape(), [=](int64_t i) {
        const int64_t vector = i / size, t = first ? vector % time : vector / batch;
        return i + (time - 1 - 2 * t) * (first ? 1 : batch) * size;
      });
    };
    if (time > 1) {
      Proposal proposal{"from the end to the beginning", "from the beginning", c_.layer};
      proposal.reads = [turned](size_t slot, const Tensor& input) -> Result<Tensor> {
        if (slot != 0) return input;
        return turned(input);
      };
      proposal.writes = [turned](Tensor* values, Tensor*) {
        auto other = turned(*values);
        if (other.ok()) *values = std::move(other).value();
      };
      proposals_->push_back(std::move(proposal));
    }
    if (s_.hidden != s_.cells) return;
    Reads("with the recurrent weights transposed", "as they stand",
          [hidden = s_.hidden](size_t slot, const Tensor& input) -> Result<Tensor> {
            if (slot != 2) return input;
            return ElementsFrom(input, input.shape(), [hidden](int64_t i) {
              const int64_t row = i / hidden % hidden, column = i % hidden;
              return i + (column - row) * hidden + row - column;
            });
          });
  }

 private:
  void Param(std::string computed, std::string says, const std::function<void(LstmParam*)>& change) {
    proposals_->push_back({std::move(computed), std::move(says), With<LstmParam>(c_.layer, change)});
  }

  void Reads(std::string computed, std::string says, std::function<Result<Tensor>(size_t, const Tensor&)> reads) {
    Proposal proposal{std::move(computed), std::move(says), c_.layer};
    proposal.reads = std::move(reads);
    proposals_->push_back(std::move(proposal));
  }

  void Zeros(int slot, const char* computed) {
    Reads(computed, "with it", [slot](size_t at, const Tensor& input) -> Result<Tensor> {
      if (static_cast<int>(at) != slot) return input;
      return Tensor::Zeros(input.dtype(), input.shape());
    });
  }

  // f(value, row) in place of each bias.
  void Bias(std::string computed, std::string says, const std::function<int64_t(int64_t, int64_t)>& f) {
    Reads(std::move(computed), std::move(says), [f](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot != 3) return input;
      PLUMB_ASSIGN_OR_RETURN(Tensor other, input.ConvertedTo(DType::kI64));
      PLUMB_ASSIGN_OR_RETURN(other, other.Clone());
      auto* values = other.data<int64_t>();
      for (int64_t i = 0; i < other.NumElements(); ++i)
        values[i] = std::clamp(f(values[i], i), -kInt32Max - 1, kInt32Max);
      return other;
    });
  }

  // Those of one gate for all.
  void FactorsOf(int gate) {
    Param(fmt::format("with the factors of the {} gate for all", kGateNames[gate]), "one for each",
          [gate](LstmParam* p) {
            for (int other = 0; other < LstmShape::kGates; ++other) {
              for (const int of : {LstmShape::kOfX, LstmShape::kOfH}) {
                const auto from = static_cast<size_t>(kOfGate * gate + of),
                           to = static_cast<size_t>(kOfGate * other + of);
                p->multipliers[to] = p->multipliers[from], p->shifts[to] = p->shifts[from];
              }
            }
          });
  }

  void Ordered(const std::vector<int>& order, std::string computed, bool bias, bool factors) {
    const int first = p_.has_input_gate ? 0 : 1;
    const auto reads = [=, cells = s_.cells, norms = s_.norms](size_t slot, const Tensor& input) -> Result<Tensor> {
      const bool moves = slot == 1 || slot == 2 || (slot == 3 && bias) || static_cast<int>(slot) == norms;
      if (!moves) return input;
      const int64_t inner = input.shape().CountFrom(1);
      return ElementsFrom(input, input.shape(), [&](int64_t i) {
        const int64_t gate = i / inner / cells;
        return i + (order[static_cast<size_t>(gate)] - first - gate) * cells * inner;
      });
    };
    Proposal proposal{std::move(computed), "i f g o", c_.layer, {}, "gates"};
    if (factors) {
      proposal.layer = With<LstmParam>(c_.layer, [&](LstmParam* p) {
        for (size_t gate = 0; gate < order.size(); ++gate) {
          for (const size_t at : {LstmShape::kOfX, LstmShape::kOfH, LstmShape::kOfNorm}) {
            const size_t to = kOfGate * (gate + static_cast<size_t>(first)) + at;
            const size_t from = kOfGate * static_cast<size_t>(order[gate]) + at;
            p->multipliers[to] = p_.multipliers[from], p->shifts[to] = p_.shifts[from];
          }
        }
      });
    }
    proposal.reads = reads;
    proposals_->push_back(std::move(proposal));
  }

  const ProposalContext& c_;
  const LstmShape& s_;
  const LstmParam& p_;
  Proposals* proposals_;
};

}  // namespace

void ProposeForIntegerLstm(const ProposalContext& c, Proposals* proposals) {
  if (c.layer.kind != OpKind::kPlumbQuantizedLSTM) return;
  std::vector<BlobInfo> inputs;
  for (const std::string& input : c.layer.inputs) inputs.push_back(c.blobs.at(input));
  const auto shape = ResolveQuantizedLstm(c.layer, inputs);
  if (!shape.ok()) return;
  const auto rows = static_cast<double>(LstmShape::kGates * shape->cells);
  if (rows * static_cast<double>((shape->size + shape->hidden) * shape->time * shape->batch) > kMostLstmProducts)
    return;
  IntegerLstmProposals propose(c, *shape, proposals);
  propose.Ways();
  propose.ZeroPoints();
  propose.Limits();
  propose.Biases();
  propose.Factors();
  propose.Moved();
  propose.Gates();
}

}  // namespace plumb
