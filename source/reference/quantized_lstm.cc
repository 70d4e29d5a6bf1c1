// SPDX-License-Identifier: Apache-2.0
// PlumbQuantizedLSTM (op/quantized_lstm.h): integers, which are defined to the last one. With a bound each step takes
// the h that the device had, where its Y is known.
#include "op/quantized_lstm.h"

#include <utility>

#include "reference/core/elementwise.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

Status RunQuantizedLstm(const ReferenceArgs& args) {
  return ComputeQuantizedLstm(args.layer, args.inputs, nullptr, args.outputs[0]->data<int64_t>());
}

Status BoundQuantizedLstm(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunExact<RunQuantizedLstm>(args, bound));
  const Tensor* given = bound.device_outputs.empty() ? nullptr : bound.device_outputs[0];
  if (given == nullptr || given->empty()) return Status::Ok();
  return ComputeQuantizedLstm(args.layer, args.inputs, given, args.outputs[0]->data<int64_t>());
}

using LstmWay = QuantizedLstmWay;

constexpr char kRoundings[] = "roundings";

struct NamedLstmWay {
  const char *computed, *says, *family;
  LstmWay way;
};

template <class T>
constexpr NamedLstmWay LstmWith(const char* computed, const char* says, T LstmWay::*field, T value,
                                const char* family = "") {
  NamedLstmWay named{computed, says, family, {}};
  named.way.*field = value;
  return named;
}

// Of the products of gates, of h, or of both.
constexpr NamedLstmWay LstmRounded(const char* computed, bool gates, bool output, LstmWay::Rounding rounding) {
  NamedLstmWay named{computed, "rounded twice (gemmlowp)", kRoundings, {}};
  if (gates) named.way.gates = rounding;
  if (output) named.way.output = rounding;
  return named;
}

constexpr NamedLstmWay kLstmWays[] = {
    LstmRounded("with products rounded once", true, true, LstmWay::kOnce),
    LstmRounded("with the gates' products rounded once", true, false, LstmWay::kOnce),
    LstmRounded("with h's product rounded once", false, true, LstmWay::kOnce),
    LstmRounded("with products rounded twice, halves up", true, true, LstmWay::kTwiceUp),
    LstmRounded("with the gates' products rounded twice, halves up", true, false, LstmWay::kTwiceUp),
    LstmRounded("with h's product rounded twice, halves up", false, true, LstmWay::kTwiceUp),
    LstmRounded("with products rounded down", true, true, LstmWay::kDown),
    LstmRounded("with the gates' products rounded down", true, false, LstmWay::kDown),
    LstmRounded("with h's product rounded down", false, true, LstmWay::kDown),
    LstmRounded("with products rounded up", true, true, LstmWay::kUp),
    LstmRounded("with the gates' products rounded up", true, false, LstmWay::kUp),
    LstmRounded("with h's product rounded up", false, true, LstmWay::kUp),
    LstmRounded("with products rounded towards zero", true, true, LstmWay::kTowardsZero),
    LstmRounded("with the gates' products rounded towards zero", true, false, LstmWay::kTowardsZero),
    LstmRounded("with h's product rounded towards zero", false, true, LstmWay::kTowardsZero),
    LstmWith("with the cell's products cut off", "halves away from zero", &LstmWay::cell, LstmWay::kDown, kRoundings),
    LstmWith("with sigmoid and tanh rounded to the nearest", "gemmlowp's fixed point", &LstmWay::functions,
             LstmWay::kNearest),
    LstmWith("with sigmoid and tanh by tables of 512 straight lines", "gemmlowp's fixed point", &LstmWay::functions,
             LstmWay::kLines),
    LstmWith("with gates that wrap round at 16 bits", "limited to them", &LstmWay::limits_sums, false),
    LstmWith("with cells that wrap round at 16 bits", "limited to them", &LstmWay::limits_cell, false),
    LstmWith("with h begun anew at every step", "carried on", &LstmWay::keeps_h, false),
    LstmWith("with c begun anew at every step", "carried on", &LstmWay::keeps_c, false),
    LstmWith("with the states that an earlier call on the same input left", "zeros", &LstmWay::twice, true),
    LstmWith("with an h that begins as the integer 0", "as its zero point", &LstmWay::h_from_zero, true),
    LstmWith("with the zero point of h lost in front of the recurrent weights", "subtracted", &LstmWay::h_plain, true),
    LstmWith("with the zero point of h and one more in front of the recurrent weights", "the zero point",
             &LstmWay::h_more, 1),
    LstmWith("with the zero point of h and one less in front of the recurrent weights", "the zero point",
             &LstmWay::h_more, -1),
    LstmWith("with 1 - f in place of the input gate", "the gate", &LstmWay::coupled, true),
    LstmWith("without tanh of the cell", "h is o tanh(c)", &LstmWay::tanh_of_cell, false),
    LstmWith("with the cell before the step at the output gate's peepholes", "the new cell", &LstmWay::new_cell, false),
};

template <size_t kWay>
Status RunLstmWay(const ReferenceArgs& args) {
  return ComputeQuantizedLstm(args.layer, args.inputs, nullptr, args.outputs[0]->data<int64_t>(), kLstmWays[kWay].way);
}

template <size_t... kWays>
std::vector<NamedVariant> LstmVariants(std::index_sequence<kWays...>) {
  return {
      {kLstmWays[kWays].computed, kLstmWays[kWays].says, kLstmWays[kWays].family, ExactStep<RunLstmWay<kWays>>()}...};
}

}  // namespace

const std::vector<NamedVariant>& QuantizedLstmVariants() {
  static const auto* variants =
      new std::vector<NamedVariant>(LstmVariants(std::make_index_sequence<sizeof(kLstmWays) / sizeof(kLstmWays[0])>()));
  return *variants;
}

ReferenceOp ReferencePlumbQuantizedLSTM() {
  ReferenceOp op{RunQuantizedLstm, BoundQuantizedLstm};
  op.propagates = false;
  op.feeds_back = true;
  return op;
}

}  // namespace plumb
