// SPDX-License-Identifier: Apache-2.0
#include "util/op_case.h"

namespace plumb {
namespace {

// Two steps of two numbers, hidden size 2. The expected values come from the equations of op/recurrent.h, evaluated
// step by step elsewhere.
const std::vector<double> kX = {0.5, -1, 1, 2};
const std::vector<double> kW = {0.1, -0.2, 0.2, -0.15, 0.3, -0.1, 0.4, -0.05, 0.5, 0, 0.6, 0.05, 0.7, 0.1, 0.8, 0.15};
const std::vector<double> kR = {0.3, 0, 0.2, 0.05, 0.1, 0.1, 0, 0.15, -0.1, 0.2, -0.2, 0.25, -0.3, 0.3, -0.4, 0.35};
const std::vector<double> kB = {-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4, 0, 0, 0, 0, 0, 0, 0, 0};

std::vector<double> First(const std::vector<double>& values, size_t count) {
  return std::vector<double>(values.begin(), values.begin() + static_cast<ptrdiff_t>(count));
}

OpCase Lstm(const char* name, const char* params) {
  return OpCase("PlumbLSTM", name, params).Outputs(3).In({2, 1, 2}, kX).Const({1, 8, 2}, kW).Const({1, 8, 2}, kR);
}

OpCase Gru(const char* name, const char* params) {
  return OpCase("PlumbGRU", name, params)
      .Outputs(2)
      .In({2, 1, 2}, kX)
      .Const({1, 6, 2}, First(kW, 12))
      .Const({1, 6, 2}, First(kR, 12))
      .Const({1, 12}, {-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0, 0.05, 0.1, 0.15, 0.2, 0.25})
      .In({1, 1, 2}, {0.1, -0.2});
}

void AddRecurrentValues(std::vector<OpCase>* cases) {
  cases->push_back(Lstm("forward", "hidden_size=2")
                       .Out({0.0769192251, 0.0769192251, 0.198577053, 0.255536442})
                       .OutShape({2, 1, 1, 2})
                       .Out({0.198577053, 0.255536442})
                       .OutShape({1, 1, 2})
                       .Out({0.394826906, 0.475547722}));
  cases->push_back(Lstm("reverse", "hidden_size=2 direction=reverse")
                       .Out({0.177994843, 0.197601919, 0.155248292, 0.20848114})
                       .Out({0.177994843, 0.197601919})
                       .Out({0.322389428, 0.361752065}));
  cases->push_back(Lstm("bias_state_peepholes", "hidden_size=2 has_bias has_initial_h has_initial_c has_peepholes")
                       .Const({1, 16}, kB)
                       .In({1, 1, 2}, {0.1, -0.2})
                       .In({1, 1, 2}, {0.3, 0.4})
                       .Const({1, 6}, {0.1, 0.2, 0.3, -0.1, -0.2, -0.3})
                       .Out({0.206340334, 0.246300478, 0.280905096, 0.360321598})
                       .Out({0.280905096, 0.360321598})
                       .Out({0.559855447, 0.754335822}));
  cases->push_back(Lstm("input_forget_clip",
                        "hidden_size=2 has_bias has_initial_h has_initial_c has_peepholes clip=0.25 input_forget")
                       .Const({1, 16}, kB)
                       .In({1, 1, 2}, {0.1, -0.2})
                       .In({1, 1, 2}, {0.3, 0.4})
                       .Const({1, 6}, {0.1, 0.2, 0.3, -0.1, -0.2, -0.3})
                       .Out({0.135978407, 0.133954686, 0.128888072, 0.137687517})
                       .Out({0.128888072, 0.137687517})
                       .Out({0.260323966, 0.284621774}));
  cases->push_back(Lstm("activations", "hidden_size=2 activations=HardSigmoid:0.3:0.4;relu;Softsign")
                       .Out({0.0504189944, 0.0504189944, 0.111927091, 0.160270439})
                       .Out({0.111927091, 0.160270439})
                       .Out({0.348576056, 0.482744592}));
  cases->push_back(Gru("forward", "hidden_size=2 has_bias has_initial_h")
                       .Out({0.291028518, 0.167556898, 0.526082382, 0.521407155})
                       .OutShape({2, 1, 1, 2})
                       .Out({0.526082382, 0.521407155}));
  cases->push_back(Gru("linear_before_reset", "hidden_size=2 has_bias has_initial_h linear_before_reset")
                       .Out({0.255854543, 0.133296524, 0.477667161, 0.487082277})
                       .Out({0.477667161, 0.487082277}));
  const OpCase rnn = OpCase("PlumbRNN", "").Outputs(2);
  OpCase c = rnn;
  c.name = "reverse_lengths";
  c.params = "hidden_size=1 direction=reverse has_lengths";
  cases->push_back(c.In({2, 2, 1}, {1, 3, 2, 99})
                       .Const({1, 1, 1}, {0.5})
                       .Const({1, 1, 1}, {0.25})
                       .In({2}, {2, 1}, DType::kI32)
                       .Out({0.598237968, 0.905148254, 0.761594156, 0})
                       .Out({0.598237968, 0.905148254}));
  c = rnn;
  c.name = "bidirectional_batch_first";
  c.params = "hidden_size=1 direction=bidirectional layout=1 has_lengths";
  cases->push_back(c.In({2, 2, 1}, {1, 2, 3, 99})
                       .Const({2, 1, 1}, {0.5, -1})
                       .Const({2, 1, 1}, {0.25, 0.5})
                       .In({2}, {2, 1}, DType::kI32)
                       .Out({0.462117157, -0.901844598, 0.806008234, -0.96402758, 0.905148254, -0.995054754, 0, 0})
                       .OutShape({2, 2, 2, 1})
                       .Out({0.806008234, -0.901844598, 0.905148254, -0.995054754})
                       .OutShape({2, 2, 1}));
}

void AddRecurrentSizes(std::vector<OpCase>* cases) {
  const DType i64 = DType::kI64;
  // clang-format off
  cases->push_back(OpCase("PlumbLSTM", "bidirectional_everything",
      "hidden_size=13 direction=bidirectional has_bias has_lengths has_initial_h has_initial_c has_peepholes clip=3")
      .Outputs(3).In({7, 3, 5}).Const({2, 52, 5}, Regime::kUnit).Const({2, 52, 13}, Regime::kUnit)
      .Const({2, 104}, Regime::kUnit).In({3}, {7, 0, 4}, i64).In({2, 3, 13}).In({2, 3, 13})
      .Const({2, 39}, Regime::kUnit));
  cases->push_back(OpCase("PlumbLSTM", "batch_first", "hidden_size=8 direction=reverse layout=1 has_bias").Outputs(3)
      .In({2, 9, 17}).Const({1, 32, 17}, Regime::kUnit).Const({1, 32, 8}, Regime::kUnit).Const({1, 64}, Regime::kUnit)
      .OutShape({2, 9, 1, 8}));
  cases->push_back(OpCase("PlumbLSTM", "weights_computed", "hidden_size=4").Outputs(3).In({3, 2, 3})
      .In({1, 16, 3}, Regime::kUnit).In({1, 16, 4}, Regime::kUnit));
  cases->push_back(OpCase("PlumbGRU", "bidirectional_lengths",
      "hidden_size=9 direction=bidirectional has_bias has_lengths has_initial_h").Outputs(2).In({6, 2, 11})
      .Const({2, 27, 11}, Regime::kUnit).Const({2, 27, 9}, Regime::kUnit).Const({2, 54}, Regime::kUnit)
      .In({2}, {3, 6}, DType::kI32).In({2, 2, 9}));
  cases->push_back(OpCase("PlumbGRU", "linear_batch_first", "hidden_size=16 layout=1 has_bias linear_before_reset")
      .Outputs(2).In({3, 5, 4}).Const({1, 48, 4}, Regime::kUnit).Const({1, 48, 16}, Regime::kUnit)
      .Const({1, 96}, Regime::kUnit));
  cases->push_back(OpCase("PlumbGRU", "activations", "hidden_size=5 activations=Sigmoid;ScaledTanh:1.5:0.5").Outputs(2)
      .In({4, 2, 3}).Const({1, 15, 3}, Regime::kUnit).Const({1, 15, 5}, Regime::kUnit));
  for (const char* f : {"Relu", "Affine:0.5:0.1", "LeakyRelu:0.1", "ThresholdedRelu:0.2", "Elu:0.5", "Softsign",
      "Softplus", "HardSigmoid"}) {
    cases->push_back(OpCase("PlumbRNN", "activation_" + std::to_string(cases->size()),
        std::string("hidden_size=6 activations=") + f).Outputs(2).In({3, 2, 5}).Const({1, 6, 5}, Regime::kUnit)
        .Const({1, 6, 6}, Regime::kUnit));
  }
  cases->push_back(OpCase("PlumbRNN", "no_steps", "hidden_size=2").Outputs(2).In({0, 3, 2})
      .Const({1, 2, 2}, Regime::kUnit).Const({1, 2, 2}, Regime::kUnit).OutShape({0, 1, 3, 2})
      .Out({0, 0, 0, 0, 0, 0}, 0));
  cases->push_back(OpCase("PlumbLSTM", "long", "hidden_size=24").Outputs(3).In({40, 1, 16})
      .Const({1, 96, 16}, Regime::kUnit).Const({1, 96, 24}, Regime::kUnit));
  // A single sequence that shares its columns among the threads.
  cases->push_back(OpCase("PlumbLSTM", "wide", "hidden_size=190 has_bias").Outputs(3).In({4, 1, 7})
      .Const({1, 760, 7}, Regime::kUnit).Const({1, 760, 190}, Regime::kUnit).Const({1, 1520}, Regime::kUnit));
  cases->push_back(OpCase("PlumbGRU", "wide", "hidden_size=270 direction=reverse").Outputs(2).In({3, 1, 5})
      .Const({1, 810, 5}, Regime::kUnit).Const({1, 810, 270}, Regime::kUnit));
  cases->push_back(OpCase("PlumbLSTM", "direction", "hidden_size=4 direction=both").Outputs(3).In({1, 1, 1})
      .Const({1, 16, 1}, Regime::kUnit).Const({1, 16, 4}, Regime::kUnit).Refused("direction 'both' is none of"));
  cases->push_back(OpCase("PlumbLSTM", "weight_shape", "hidden_size=4").Outputs(3).In({1, 1, 2})
      .Const({1, 16, 1}, Regime::kUnit).Const({1, 16, 4}, Regime::kUnit).Refused("W must be [1,16,2], found [1,16,1]"));
  cases->push_back(OpCase("PlumbGRU", "flags", "hidden_size=1 has_bias").Outputs(2).In({1, 1, 1})
      .Const({1, 3, 1}, Regime::kUnit).Const({1, 3, 1}, Regime::kUnit).Refused("the flags announce 4 inputs, found 3"));
  cases->push_back(OpCase("PlumbGRU", "peepholes", "hidden_size=1 has_peepholes").Outputs(2).In({1, 1, 1})
      .Const({1, 3, 1}, Regime::kUnit).Const({1, 3, 1}, Regime::kUnit).Refused("only PlumbLSTM has"));
  cases->push_back(OpCase("PlumbRNN", "unknown_activation", "hidden_size=1 activations=Swish").Outputs(2).In({1, 1, 1})
      .Const({1, 1, 1}, Regime::kUnit).Const({1, 1, 1}, Regime::kUnit).Refused("activation 'Swish' is none of"));
  cases->push_back(OpCase("PlumbRNN", "activation_count", "hidden_size=1 activations=Tanh;Tanh").Outputs(2)
      .In({1, 1, 1}).Const({1, 1, 1}, Regime::kUnit).Const({1, 1, 1}, Regime::kUnit).Refused("expects 1 activations"));
  cases->push_back(OpCase("PlumbRNN", "hidden_size").Outputs(2).In({1, 1, 1}).Const({1, 1, 1}, Regime::kUnit)
      .Const({1, 1, 1}, Regime::kUnit).Refused("expects a positive hidden_size"));
  // clang-format on
}

// What ONNX Runtime 1.31.1 computes for com.microsoft's DynamicQuantizeLSTM.
void AddQuantized(std::vector<OpCase>* cases) {
  const DType i64 = DType::kI64;
  // clang-format off
  cases->push_back(OpCase("PlumbDynamicQuantizeLSTM", "values", "hidden_size=2 has_bias has_initial_h has_initial_c")
                       .Outputs(3)
                       .In({2, 1, 3}, {0.69, 1.64, 0.66, -2.61, 1.81, 0.89})
                       .Const({1, 3, 8}, {-59, 83, -63, -24, 36, 12, -107, -121, 93, 64, 86, 9, 81, -44, -13, 73, -97,
                           -51, -97, -12, 122, -94, -30, -25}, i64)
                       .Const({1, 2, 8}, {103, -76, 0, -61, -123, 64, -113, -57, -1, -4, -99, 123, 63, 118, -105, 57},
                           i64)
                       .Const({1, 16}, {0.06, 0.07, 0.64, -0.33, -0.11, 0.61, 0.19, 0.2, -0.15, -0.49, 0.05, 0.03,
                           -0.37, -0.2, -0.02, -0.28})
                       .In({1, 1, 2}, {0.02, 0.02})
                       .In({1, 1, 2}, {0.04, -0.51})
                       .Const({1}, {0.0063})
                       .Const({1}, {0}, i64)
                       .Const({1}, {0.0042})
                       .Const({1}, {0}, i64)
                       .Out({-0.179905459, -0.0740270764, 0.466969967, 0.0855786204})
                       .Out({0.466969967, 0.0855786204})
                       .Out({0.574852586, 0.161443844}));
  cases->push_back(OpCase("PlumbDynamicQuantizeLSTM", "per_gate",
      "hidden_size=2 direction=bidirectional has_bias has_initial_h has_initial_c has_peepholes")
                       .Outputs(3)
                       .In({2, 2, 2}, {0.38, -1.05, -0.83, -4.88, 3.6, 2.29, -0.65, 1.55})
                       .Const({2, 2, 8}, {142, 70, 51, 168, 78, 143, 66, 38, 191, 110, 173, 171, 241, 108, 56, 162,
                           239, 247, 222, 174, 97, 100, 10, 47, 85, 88, 148, 130, 177, 228, 224, 198}, i64)
                       .Const({2, 2, 8}, {250, 81, 232, 236, 57, 120, 145, 177, 179, 27, 122, 26, 245, 51, 114, 226,
                           133, 174, 127, 217, 152, 164, 116, 104, 151, 132, 200, 151, 120, 220, 54, 112}, i64)
                       .Const({2, 16}, {-0, -0.22, 0.14, -0.02, -0.38, -0.27, 0.53, 0.11, 0.12, -0.08, -0.21, 0.27,
                           -0.03, -0.23, -0.04, -0.27, 0.06, 0.34, -0.25, 0.43, -0.2, 0.05, -0.25, -0.07, 0.01, -0.13,
                           -0.21, -0.2, -0.25, -0.47, -0.08, 0.12})
                       .In({2, 2, 2}, {-0.89, 0.95, 0.23, -0.83, -0.49, 0.24, -0.23, -0.11})
                       .In({2, 2, 2}, {0.72, 0.8, -0.67, -0.55, -0.53, -1.35, -0.59, -0.09})
                       .Const({2, 6}, {0.27, 0.19, 0.74, 0.1, -0.14, 0.56, -0.31, 0.29, -0.29, 0.11, -0.59, 0.27})
                       .Const({2, 8}, {0.0091, 0.0069, 0.0086, 0.006, 0.0075, 0.0047, 0.0062, 0.0037, 0.0028, 0.0023,
                           0.0076, 0.0057, 0.0092, 0.0087, 0.0051, 0.0098})
                       .Const({2, 8}, {120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120},
                           i64)
                       .Const({2, 8}, {0.0067, 0.0081, 0.0053, 0.0036, 0.0034, 0.0034, 0.0068, 0.0029, 0.0022, 0.0087,
                           0.0028, 0.0056, 0.0059, 0.007, 0.006, 0.0095})
                       .Const({2, 8}, {130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130},
                           i64)
                       .Out({0.0941602513, 0.0899822712, 0.00407429785, -0.145421803, -0.265008509, -0.165250108,
                           -0.0645721108, -0.22009936, -0.095484741, 0.0206305813, 0.072961539, -0.0506936722,
                           -0.703264475, -0.648393989, -0.0231373049, 0.173526332})
                       .Out({-0.095484741, 0.0206305813, 0.072961539, -0.0506936722, -0.265008509, -0.165250108,
                           -0.0645721108, -0.22009936})
                       .Out({-0.6257025, 0.0234523565, 0.0971394032, -0.0791065097, -0.735898852, -0.380381972,
                           -0.57121855, -0.59877646}));
  cases->push_back(OpCase("PlumbDynamicQuantizeLSTM", "long", "hidden_size=19 direction=reverse has_bias").Outputs(3)
      .In({30, 2, 13}).Const({1, 13, 76}, Regime::kInts, i64).Const({1, 19, 76}, Regime::kInts, i64)
      .Const({1, 152}, Regime::kUnit).Const({1}, {0.02}).Const({1}, {1}, i64).Const({1, 76}, Regime::kPositive)
      .Const({1, 76}, Regime::kZeros, i64));
  cases->push_back(OpCase("PlumbDynamicQuantizeLSTM", "weights_computed", "hidden_size=3").Outputs(3).In({4, 1, 2})
      .In({1, 2, 12}, Regime::kInts, i64).In({1, 3, 12}, Regime::kInts, i64).In({1}, {0.05}).In({1}, {2}, i64)
      .In({1}, {0.04}).In({1}, {-1}, i64));
  cases->push_back(OpCase("PlumbDynamicQuantizeLSTM", "constant_x", "hidden_size=2 clip=0.3 input_forget").Outputs(3)
      .In({3, 1, 2}, Regime::kZeros).Const({1, 2, 8}, Regime::kInts, i64).Const({1, 2, 8}, Regime::kInts, i64)
      .Const({1}, {0.05}).Const({1}, {0}, i64).Const({1}, {0.04}).Const({1}, {0}, i64));
  cases->push_back(OpCase("PlumbDynamicQuantizeLSTM", "lengths", "hidden_size=1 has_lengths").Outputs(3).In({1, 1, 1})
      .Const({1, 1, 4}, Regime::kInts, i64).Const({1, 1, 4}, Regime::kInts, i64).Const({1}, {1}, i64).Const({1}, {1})
      .Const({1}, {0}, i64).Const({1}, {1}).Const({1}, {0}, i64).Refused("has no lengths"));
  cases->push_back(OpCase("PlumbDynamicQuantizeLSTM", "scale_shape", "hidden_size=1").Outputs(3).In({1, 1, 1})
      .Const({1, 1, 4}, Regime::kInts, i64).Const({1, 1, 4}, Regime::kInts, i64).Const({1, 2}, {1, 1})
      .Const({1}, {0}, i64).Const({1}, {1}).Const({1}, {0}, i64).Refused("a scale must be [1,4], found [1,2]"));
  cases->push_back(OpCase("PlumbDynamicQuantizeLSTM", "float_weights", "hidden_size=1").Outputs(3).In({1, 1, 1})
      .Const({1, 1, 4}, Regime::kUnit).Const({1, 1, 4}, Regime::kInts, i64).Const({1}, {1}).Const({1}, {0}, i64)
      .Const({1}, {1}).Const({1}, {0}, i64).Refused("integer weights"));
  // clang-format on
}

}  // namespace

std::vector<OpCase> recurrent_cases() {
  std::vector<OpCase> cases;
  AddRecurrentValues(&cases);
  AddRecurrentSizes(&cases);
  AddQuantized(&cases);
  return cases;
}

}  // namespace plumb
