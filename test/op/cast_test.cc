// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> cast_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Cast", "f32_to_i32_truncates", "to=3").In({6}, {1.9, -1.9, 0.5, -0.5, 3e9, -3e9})
          .Out({1, -1, 0, 0, 2147483647, -2147483648.0}, 0),
      OpCase("Cast", "nan_and_infinity_to_i64", "to=5").In({3}, {NAN, INFINITY, -INFINITY})
          .Out({0, 9223372036854775807.0, -9223372036854775808.0}),
      OpCase("Cast", "i32_to_f32").In({3}, {-7, 16777217, 5}, DType::kI32).Out({-7, 16777217, 5}),
      OpCase("Cast", "i64_to_i32_wraps", "to=3").In({2}, {4294967297.0, -4294967299.0}, DType::kI64).Out({1, -3}, 0),
      OpCase("Cast", "i32_to_u32_wraps", "to=6").In({1}, {-1}, DType::kI32).Out({4294967295.0}, 0),
      OpCase("Cast", "i32_to_i8_wraps", "to=2").In({2}, {300, -129}, DType::kI32).Out({44, 127}, 0),
      OpCase("Cast", "f32_to_f16_rounds_to_even", "to=1").In({4}, {2049, 2051, 65520, 1e-9})
          .Out({2048, 2052, INFINITY, 0}, 0),
      OpCase("Cast", "f32_to_bf16", "to=4").In({2}, {257, 259}).Out({256, 260}, 0),
      OpCase("Cast", "f32_to_f32").In({2, 3, 5}, Regime::kSpecials).OutShape({2, 3, 5}),
      OpCase("Cast", "known_value", "to=3").Const({2}, {7, -1}, DType::kI64).Out({7, -1}),
      OpCase("Cast", "scalar", "to=3").In({}).OutShape({}),
      OpCase("Cast", "empty_blob", "to=3").In({2, 0}).OutShape({2, 0}),
      OpCase("Cast", "unknown_number", "to=7").In({2}).Refused("data type number 7 is none of 0 .. 6"),
      OpCase("PlumbCast", "to_bool", "to=bool").In({4}, {0, -0.0, 0.1, NAN}).Out({0, 0, 1, 1}),
      OpCase("PlumbCast", "bool_to_f64", "to=f64").In({2}, {0, 1}, DType::kBool).Out({0, 1}),
      OpCase("PlumbCast", "to_u8_saturates", "to=u8").In({3}, {-1, 255.9, 256}).Out({0, 255, 255}, 0),
      OpCase("PlumbCast", "unknown_dtype", "to=f8").In({2}).Refused("'f8' is no dtype"),
  };
  // clang-format on
  for (const DType to : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8, DType::kI16,
                         DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kBool}) {
    const std::string name = DTypeName(to);
    AddForEveryDType(OpCase("PlumbCast", "to_" + name + "_from", "to=" + name).In({4, 9}), &cases);
  }
  return cases;
}

}  // namespace plumb
