// SPDX-License-Identifier: Apache-2.0
#include "util/op_case.h"

namespace plumb {
namespace {

std::string Eighteen(const std::string& first, const std::string& last) {
  std::string list = "[";
  for (int i = 0; i < 16; ++i) list += first + ",";
  return list + last + "," + last + "]";
}

// Each factor is 1, those of h are 2^-23: from two fractions of 15 bits to steps of 1 / 128.
std::string LstmParams(const std::string& more) {
  return "multipliers=" + Eighteen("1073741824", "1073741824") + " shifts=" + Eighteen("1", "-22") +
         " guards=[1,1,1,1] " + more;
}

// 1, 2 ... 9, 1, 2 ...
std::vector<double> Rising(int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(i % 9 + 1);
  return values;
}

OpCase LstmCase(const char* name, const std::string& more) {
  return OpCase("PlumbQuantizedLSTM", name, LstmParams(more)).In({2, 1, 2}, {3, 3, 3, 3}, DType::kI64);
}

}  // namespace

std::vector<OpCase> quantized_lstm_cases() {
  const DType i64 = DType::kI64;
  // clang-format off
  return {
      // i = f = o = 1 / 2, g = tanh(8): c is 1 / 2 and then 3 / 4, y 64 tanh(c) - 5.
      LstmCase("halves", "x_zero=3 y_zero=-5 inner_zero=-5").Const({4, 2}, Rising(8), i64)
          .Const({4, 1}, {0, 0, 0, 0}, i64).Const({4}, {0, 0, 32767, 0}, i64).Out({25, 36}, 0).OutShape({2, 1, 1}),
      // Without an input gate i is 1 - f; c is limited to 1 / 4.
      LstmCase("limited", "has_input_gate=0 cell_clip=512").Const({3, 2}, {1, 2, 3, 4, 5, 6}, i64)
          .Const({3, 1}, {0, 0, 0}, i64).Const({3}, {-15, 32767, -33}, i64).Out({16, 16}, 0),
      LstmCase("projected", "x_zero=3 has_projection=1 projection_clip=50")
          .Const({4, 2}, Rising(8), i64)
          .Const({4, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, i64).Const({4}, {0, 0, 32767, 0}, i64)
          .Const({3, 1}, {100, -100, 1}, i64).Const({3}, {0, 0, 8388608}, i64).OutShape({2, 1, 3}),
      LstmCase("peepholes", "batch_first=1 has_peepholes=1 x_zero=3").Const({8, 2}, Rising(16), i64)
          .Const({8, 2}, Rising(16), i64).Const({8}, Rising(8), i64)
          .Const({6}, {100, -100, 300, 1, 2, 3}, i64).OutShape({2, 1, 2}),
      LstmCase("norms", "has_norms=1").Const({12, 2}, Rising(24), i64).Const({12, 3}, Rising(36), i64)
          .Const({12}, Rising(12), i64).Const({12}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4}, i64),
      OpCase("PlumbQuantizedLSTM", "norms_projected",
             LstmParams("batch_first=1 has_norms=1 has_input_gate=0 has_projection=1 y_zero=7 inner_zero=-9 cell_bits=3"))
          .In({2, 3, 3}, Rising(18), i64).Const({9, 3}, Rising(27), i64).Const({9, 2}, Rising(18), i64)
          .Const({9}, {900, -800, 700, 0, 5, 6, 7, 8, 9}, i64).Const({9}, Rising(9), i64)
          .Const({2, 3}, {3, -2, 1, 5, 90, -90}, i64).Const({2}, {1 << 22, -7}, i64).OutShape({2, 3, 2}),
      LstmCase("rows", "").Const({3, 2}, Rising(6), i64).Const({3, 1}, {0, 0, 0}, i64).Const({3}, {0, 0, 0}, i64)
          .Refused("R 2 with the rows of 4 gates, found [2,1,2] and [3,1]"),
      LstmCase("both", "has_peepholes=1 has_projection=1").Const({4, 2}, Rising(8), i64)
          .Const({4, 1}, {0, 0, 0, 0}, i64).Const({4}, {0, 0, 0, 0}, i64).Const({3}, {0, 0, 0}, i64)
          .Const({1, 1}, {1}, i64).Const({1}, {1}, i64).Refused("peepholes and a projection together"),
      LstmCase("bits", "cell_bits=7").Const({4, 2}, Rising(8), i64).Const({4, 1}, {0, 0, 0, 0}, i64)
          .Const({4}, {0, 0, 0, 0}, i64).Refused("0 to 6 cell_bits"),
      OpCase("PlumbQuantizedLSTM", "factors").In({2, 1, 2}, {3, 3, 3, 3}, i64).Const({4, 2}, Rising(8), i64)
          .Const({4, 1}, {0, 0, 0, 0}, i64).Const({4}, {0, 0, 0, 0}, i64).Refused("expects 18 multipliers and shifts"),
  };
  // clang-format on
}

}  // namespace plumb
