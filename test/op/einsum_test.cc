// SPDX-License-Identifier: Apache-2.0
#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> einsum_cases() {
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  // clang-format off
  return {
      OpCase("Einsum", "matmul", "equation=ij;jk->ik").In({2, 3}, six).In({3, 2}, six).Out({22, 28, 49, 64})
          .OutShape({2, 2}),
      OpCase("Einsum", "transpose", "equation=ij->ji").In({2, 3}, six).Out({1, 4, 2, 5, 3, 6}, 0).OutShape({3, 2}),
      OpCase("Einsum", "row_sums", "equation=ij->i").In({2, 3}, six).Out({6, 15}),
      OpCase("Einsum", "trace", "equation=ii->").In({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).Out({15}).OutShape({}),
      OpCase("Einsum", "diagonal", "equation=...ii->...i").In({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({1, 4, 5, 8}, 0)
          .OutShape({2, 2}),
      OpCase("Einsum", "inner_product", "equation=i,i").In({3}, {1, 2, 3}).In({3}, {4, 5, 6}).Out({32}).OutShape({}),
      OpCase("Einsum", "implicit_order", "equation=ba").In({2, 3}, six).Out({1, 4, 2, 5, 3, 6}, 0).OutShape({3, 2}),
      OpCase("Einsum", "outer_i64", "equation=i;j->ij").In({2}, {2, -3}, DType::kI64).In({2}, {5, 7}, DType::kI64)
          .Out({10, 14, -15, -21}, 0),
      OpCase("Einsum", "batch", "equation=bij;bjk->bik").In({5, 2, 13}).In({5, 13, 4}).OutShape({5, 2, 4}),
      OpCase("Einsum", "ellipsis_broadcast", "equation=...ij;...jk->...ik").In({2, 1, 3, 7}).In({5, 7, 2})
          .OutShape({2, 5, 3, 2}),
      OpCase("Einsum", "three_factors", "equation=ij;jk;kl->il").In({3, 5}).In({5, 7}).In({7, 2}).OutShape({3, 2}),
      OpCase("Einsum", "long_sum", "equation=bk;ck->bc").In({3, 2000}, Regime::kOffset)
          .In({2, 2000}, Regime::kConstant),
      OpCase("Einsum", "longer_than_a_loop", "equation=ak;k->a").In({2, 70000}).In({70000}),
      OpCase("Einsum", "f64", "equation=ij;j->i").In({2, 2}, {1, 2, 3, 16777217}, DType::kF64)
          .In({2}, {5, 3}, DType::kF64).Out({11, 50331666}, 0),
      OpCase("Einsum", "empty_sum", "equation=ik;kj->ij").In({2, 0}).In({0, 2}).Out({0, 0, 0, 0}, 0),
      OpCase("Einsum", "operand_count", "equation=ij;jk->ik").In({2, 3}).Refused("has 2 operands, the layer has 1"),
      OpCase("Einsum", "rank", "equation=ij->i").In({2}).Refused("does not fit [2]"),
      OpCase("Einsum", "sizes", "equation=i;i->i").In({2}).In({3}).Refused("a dim of 3 in operand 1 meets one of 2"),
      OpCase("Einsum", "strange_label", "equation=i$->i").In({2}).Refused("unexpected '$'"),
      OpCase("Einsum", "output_label", "equation=ij->ik").In({2, 3})
          .Refused("each output label must come from an operand"),
      OpCase("Einsum", "bools", "equation=i->").In({2}, Regime::kBools, DType::kBool)
          .Refused("expects f32, f64, i32 or i64"),
  };
  // clang-format on
}

}  // namespace plumb
