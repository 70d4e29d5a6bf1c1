// SPDX-License-Identifier: Apache-2.0
// Proposals for recurrent layers: gates in another order, the other direction, a bias or a state that is not read, what
// is not rounded to 8 bits.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "check/cause/known_ways_util.h"
#include "op/recurrent.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

constexpr double kMaxMultiplications = 1 << 24;  // of one run: some thirty are tried

// A weight or bias [directions][blocks of `hidden` rows][inner] with its rows from where `from(direction's row)` says.
template <class F>
Result<Tensor> RowsFrom(const Tensor& tensor, F from) {
  const int64_t rows = tensor.shape()[1], inner = tensor.shape().CountFrom(2);
  return ElementsFrom(tensor, tensor.shape(), [&](int64_t i) {
    const int64_t row = i / inner % rows;
    return i + (from(row) - row) * inner;
  });
}

// Which blocks of rows the runtime reads for gates 0, 1 ...; "i f c o"
struct GateOrder {
  std::vector<int64_t> blocks;
  std::string words;
};

std::vector<GateOrder> OtherOrders(const char* gates) {
  const std::string names = gates;
  std::vector<int64_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<GateOrder> orders;
  while (std::next_permutation(order.begin(), order.end())) {
    GateOrder other{order, ""};
    for (int64_t block : order)
      other.words += fmt::format("{}{}", other.words.empty() ? "" : " ", names[static_cast<size_t>(block)]);
    orders.push_back(other);
  }
  return orders;
}

class RecurrentProposals {
 public:
  RecurrentProposals(const ProposalContext& c, const RecurrentShape& shape, Proposals* proposals)
      : c_(c), shape_(shape), proposals_(proposals) {}

  // The blocks of W, R and the bias in another order.
  void Gates(const char* gates) {
    const int64_t hidden = shape_.hidden, count = shape_.gates;
    for (const GateOrder& order : OtherOrders(gates)) {
      for (const bool bias : {true, false}) {
        if (!bias && shape_.bias < 0) continue;
        Propose(fmt::format("with the gates of the weights{} in the order {}",
                            bias || shape_.bias < 0 ? "" : ", not of the bias,", order.words),
                [=, blocks = order.blocks, at = shape_.bias](size_t slot, const Tensor& input) -> Result<Tensor> {
                  if (slot != 1 && slot != 2 && !(bias && static_cast<int>(slot) == at)) return input;
                  return RowsFrom(input, [&](int64_t row) {
                    const int64_t gate = row / hidden % count;
                    return row + (blocks[static_cast<size_t>(gate)] - gate) * hidden;
                  });
                });
      }
    }
  }

  void Zeros(int slot, const char* computed) {
    if (slot < 0) return;
    Propose(computed, [slot](size_t at, const Tensor& input) -> Result<Tensor> {
      if (static_cast<int>(at) != slot) return input;
      return Tensor::Zeros(input.dtype(), input.shape());
    });
  }

  // Each gate's h x h weights of the state read in columns.
  void TransposedState() {
    const int64_t hidden = shape_.hidden;
    Propose("with the recurrent weights transposed", [hidden](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot != 2) return input;
      return ElementsFrom(input, input.shape(), [&](int64_t i) {
        const int64_t row = i / hidden % hidden, column = i % hidden;
        return i + (column - row) * hidden + row - column;
      });
    });
  }

  // Every sequence as long as the longest may be.
  void WholeLengths() {
    if (shape_.lengths < 0) return;
    Propose("without sequence_lens",
            [slot = shape_.lengths, time = shape_.time](size_t at, const Tensor& input) -> Result<Tensor> {
              if (static_cast<int>(at) != slot) return input;
              PLUMB_ASSIGN_OR_RETURN(Tensor whole, input.Clone());
              if (whole.dtype() == DType::kI32)
                std::fill_n(whole.data<int32_t>(), whole.NumElements(), static_cast<int32_t>(time));
              if (whole.dtype() == DType::kI64) std::fill_n(whole.data<int64_t>(), whole.NumElements(), time);
              return whole;
            });
  }

  // 1 added to the bias of an LSTM's f, as old frameworks have it.
  void ForgetBias() {
    if (shape_.bias < 0) return;
    Propose("with 1 added to the forget gate's bias",
            [slot = shape_.bias, hidden = shape_.hidden](size_t at, const Tensor& input) -> Result<Tensor> {
              if (static_cast<int>(at) != slot) return input;
              PLUMB_ASSIGN_OR_RETURN(Tensor more, input.Clone());
              for (int64_t i = 0; i < more.NumElements(); ++i) {
                if (i % (8 * hidden) / hidden != 2) continue;  // i o f c, of W; then of R
                if (more.dtype() == DType::kF64) more.data<double>()[i] += 1;
                if (more.dtype() == DType::kF32) more.data<float>()[i] += 1;
              }
              return more;
            });
  }

  // z turned round: sigmoid(-x) = 1 - sigmoid(x).
  void ExchangedUpdate() {
    const int64_t hidden = shape_.hidden, count = shape_.gates;
    Propose("with z and 1 - z exchanged", [=, at = shape_.bias](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot != 1 && slot != 2 && static_cast<int>(slot) != at) return input;
      PLUMB_ASSIGN_OR_RETURN(Tensor turned, input.Clone());
      const int64_t rows = turned.shape()[1], inner = turned.shape().CountFrom(2);
      for (int64_t i = 0; i < turned.NumElements(); ++i) {
        if (i / inner % rows / hidden % count != 0) continue;
        if (turned.dtype() == DType::kF64) turned.data<double>()[i] *= -1;
        if (turned.dtype() == DType::kF32) turned.data<float>()[i] *= -1;
      }
      return turned;
    });
  }

  // Of the bias of W and that of R one alone is read.
  void HalfBias() {
    if (shape_.bias < 0) return;
    for (const bool of_state : {true, false}) {
      Propose(of_state ? "without the bias of R" : "without the bias of W",
              [slot = shape_.bias, rows = shape_.gates * shape_.hidden, of_state](
                  size_t at, const Tensor& input) -> Result<Tensor> {
                if (static_cast<int>(at) != slot) return input;
                PLUMB_ASSIGN_OR_RETURN(Tensor half, input.Clone());
                for (int64_t i = 0; i < half.NumElements(); ++i) {
                  if ((i / rows % 2 == 1) != of_state) continue;
                  if (half.dtype() == DType::kF64) half.data<double>()[i] = 0;
                  if (half.dtype() == DType::kF32) half.data<float>()[i] = 0;
                }
                return half;
              });
    }
  }

  void ExchangedStates() {
    if (shape_.initial_h < 0 || shape_.initial_c < 0) return;
    Layer altered = c_.layer;
    std::swap(altered.inputs[static_cast<size_t>(shape_.initial_h)],
              altered.inputs[static_cast<size_t>(shape_.initial_c)]);
    proposals_->push_back({"with the initial h and c exchanged", "otherwise", std::move(altered)});
  }

  // Keras's older and its newer one, in place of Sigmoid.
  void HardSigmoid() {
    const auto& own = ParamOf<RecurrentParam>(c_.layer);
    if (own.activations != "default" || c_.layer.kind == OpKind::kPlumbRNN) return;
    for (const char* slope : {"0.2", "0.16666667"}) {
      std::string all;
      for (int64_t d = 0; d < shape_.directions; ++d) {
        all += fmt::format("{}HardSigmoid:{}:0.5;Tanh{}", d > 0 ? ";" : "", slope,
                           c_.layer.kind == OpKind::kPlumbLSTM ? ";Tanh" : "");
      }
      Param(*slope == '0' && slope[2] == '2' ? "with HardSigmoid of slope 0.2" : "with HardSigmoid of slope 1/6",
            [&](RecurrentParam* p) { p->activations = all; });
    }
  }

  // Another function of one gate or of the state.
  void OtherActivations() {
    if (ParamOf<RecurrentParam>(c_.layer).activations != "default") return;
    const std::vector<const char*> lstm = {"Sigmoid;Tanh;Affine:1:0", "Sigmoid;Sigmoid;Tanh", "Sigmoid;Affine:1:0;Tanh",
                                           "Sigmoid;Relu;Tanh",       "Sigmoid;Relu;Relu",    "Sigmoid;Tanh;Relu",
                                           "Sigmoid;Tanh;Sigmoid",    "Tanh;Tanh;Tanh"};
    const std::vector<const char*> gru = {"Sigmoid;Sigmoid", "Sigmoid;Relu", "Sigmoid;Affine:1:0", "Tanh;Tanh"};
    const std::vector<const char*> rnn = {"Relu", "Sigmoid", "Affine:1:0", "Softsign", "LeakyRelu:0.01"};
    const OpKind kind = c_.layer.kind;
    for (const char* one : kind == OpKind::kPlumbLSTM ? lstm : kind == OpKind::kPlumbGRU ? gru : rnn) {
      std::string all = one;
      for (int64_t d = 1; d < shape_.directions; ++d) all += fmt::format(";{}", one);
      Param(fmt::format("with the activations {}", one), [&](RecurrentParam* p) { p->activations = all; });
    }
  }

  void Habits() {
    proposals_->push_back(
        {"with the state that an earlier call on the same input left", "otherwise", c_.layer, KeptStateRecurrent()});
    if (c_.layer.kind == OpKind::kPlumbLSTM && ParamOf<RecurrentParam>(c_.layer).clip > 0)
      proposals_->push_back({"without clipping the cell's state in front of its Tanh (ONNX Runtime)",
                             "the input of every activation is clipped", c_.layer, UnclippedCellLstm()});
  }

  void Param(const std::string& computed, const std::function<void(RecurrentParam*)>& change) {
    proposals_->push_back({computed, "otherwise", With<RecurrentParam>(c_.layer, change)});
  }

 private:
  void Propose(std::string computed, std::function<Result<Tensor>(size_t, const Tensor&)> reads) {
    Proposal proposal{std::move(computed), "otherwise", c_.layer};
    proposal.reads = std::move(reads);
    proposals_->push_back(std::move(proposal));
  }

  const ProposalContext& c_;
  const RecurrentShape& shape_;
  Proposals* proposals_;
};

}  // namespace

void ProposeForRecurrent(const ProposalContext& c, Proposals* proposals) {
  const OpKind kind = c.layer.kind;
  if (kind == OpKind::kPlumbDynamicQuantizeLSTM) {
    Computed<SaturatingDynamicQuantizeLstm>(c, kSaturatingPairs, "exact sums", proposals);
    Computed<UnroundedDynamicQuantizeLstm>(c, "with x and h as they are", "rounded to 8 bits as they come", proposals);
  }
  if (kind != OpKind::kPlumbLSTM && kind != OpKind::kPlumbGRU && kind != OpKind::kPlumbRNN) return;
  std::vector<BlobInfo> inputs;
  for (const std::string& input : c.layer.inputs) inputs.push_back(c.blobs.at(input));
  const auto shape = ResolveRecurrent(c.layer, inputs);
  if (!shape.ok()) return;
  const double rows = static_cast<double>(shape->directions * shape->gates * shape->hidden);
  if (rows * static_cast<double>((shape->size + shape->hidden) * shape->time * shape->batch) > kMaxMultiplications)
    return;
  if (kind != OpKind::kPlumbGRU) {
    for (const auto& hybrid : {HybridRecurrent(), AsymmetricHybridRecurrent()}) {
      Proposal proposal{"with its input rounded to int8, per row", "f32", c.layer, hybrid, "narrow"};
      proposal.narrow = "its input rounded to int8, per row";
      for (size_t m = 0; m < c.group.members.size(); ++m) {  // the other direction
        if (m != c.member && c.group.members[m]->kind == kind)
          proposal.changes.push_back({static_cast<int>(m), hybrid, nullptr, nullptr});
      }
      proposals->push_back(std::move(proposal));
    }
  }
  RecurrentProposals propose(c, *shape, proposals);
  propose.Zeros(shape->bias, "without the bias");
  propose.Zeros(shape->initial_h, "with an initial h of 0");
  propose.Zeros(shape->initial_c, "with an initial c of 0");
  propose.Zeros(shape->peepholes, "without the peepholes");
  propose.HalfBias();
  propose.ExchangedStates();
  propose.WholeLengths();
  propose.Habits();
  propose.HardSigmoid();
  propose.OtherActivations();
  if (ParamOf<RecurrentParam>(c.layer).clip > 0)
    propose.Param("without the clip", [](RecurrentParam* p) { p->clip = 0; });
  propose.TransposedState();
  if (ParamOf<RecurrentParam>(c.layer).direction != "bidirectional") {
    const bool forward = ParamOf<RecurrentParam>(c.layer).direction == "forward";
    propose.Param(forward ? "from the end to the beginning" : "from the beginning to the end",
                  [forward](RecurrentParam* p) { p->direction = forward ? "reverse" : "forward"; });
  }
  if (kind == OpKind::kPlumbLSTM) propose.Gates("iofc");
  if (kind == OpKind::kPlumbLSTM) propose.ForgetBias();
  if (kind != OpKind::kPlumbGRU) return;
  propose.Gates("zrh");
  propose.ExchangedUpdate();
  const bool before = ParamOf<RecurrentParam>(c.layer).linear_before_reset;
  propose.Param(before ? "without linear_before_reset" : "with linear_before_reset",
                [before](RecurrentParam* p) { p->linear_before_reset = !before; });
}

}  // namespace plumb
