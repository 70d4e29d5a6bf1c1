#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> einsum_cases() {
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  // clang-format off
  return {
      OpCase("Einsum", "matmul", "ij;jk->ik").In({2, 3}, six).In({3, 2}, six).Out({22, 28, 49, 64}).OutShape({2, 2}),
      OpCase("Einsum", "transpose", "ij->ji").In({2, 3}, six).Out({1, 4, 2, 5, 3, 6}, 0).OutShape({3, 2}),
      OpCase("Einsum", "row_sums", "ij->i").In({2, 3}, six).Out({6, 15}),
      OpCase("Einsum", "trace", "ii->").In({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).Out({15}).OutShape({}),
      OpCase("Einsum", "diagonal", "...ii->...i").In({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({1, 4, 5, 8}, 0).OutShape({2, 2}),
      OpCase("Einsum", "inner_product", "i,i").In({3}, {1, 2, 3}).In({3}, {4, 5, 6}).Out({32}).OutShape({}),
      OpCase("Einsum", "implicit_order", "ba").In({2, 3}, six).Out({1, 4, 2, 5, 3, 6}, 0).OutShape({3, 2}),
      OpCase("Einsum", "outer_i64", "i;j->ij").In({2}, {2, -3}, DType::kI64).In({2}, {5, 7}, DType::kI64).Out({10, 14, -15, -21}, 0),
      OpCase("Einsum", "batch", "bij;bjk->bik").In({5, 2, 13}).In({5, 13, 4}).OutShape({5, 2, 4}),
      OpCase("Einsum", "ellipsis_broadcast", "...ij;...jk->...ik").In({2, 1, 3, 7}).In({5, 7, 2}).OutShape({2, 5, 3, 2}),
      OpCase("Einsum", "three_factors", "ij;jk;kl->il").In({3, 5}).In({5, 7}).In({7, 2}).OutShape({3, 2}),
      OpCase("Einsum", "long_sum", "bk;ck->bc").In({3, 2000}, Regime::kOffset).In({2, 2000}, Regime::kConstant),
      OpCase("Einsum", "empty_sum", "ik;kj->ij").In({2, 0}).In({0, 2}).Out({0, 0, 0, 0}, 0),
      OpCase("Einsum", "operand_count", "ij;jk->ik").In({2, 3}).Refused("has 2 operands, the layer has 1"),
      OpCase("Einsum", "rank", "ij->i").In({2}).Refused("does not fit [2]"),
      OpCase("Einsum", "sizes", "i;i->i").In({2}).In({3}).Refused("a dim of 3 in operand 1 meets one of 2"),
      OpCase("Einsum", "strange_label", "i$->i").In({2}).Refused("unexpected '$'"),
      OpCase("Einsum", "output_label", "ij->ik").In({2, 3}).Refused("each output label must come from an operand"),
      OpCase("Einsum", "bools", "i->").In({2}, Regime::kBools, DType::kBool).Refused("expects f32, f64, i32 or i64"),
  };
  // clang-format on
}

}  // namespace plumb
