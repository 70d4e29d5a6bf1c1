#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> pad_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Pad", "const", "0 0 1 0 0 2 0 0 0 9").In({1, 1, 2, 2}, {1, 2, 3, 4}).Out({9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9}).OutShape({1, 1, 3, 4}),
      OpCase("Pad", "short_line", "0 0 1 0 0 0").In({1, 1, 1, 2}, {1, 2}).Out({0, 0, 1, 2}).OutShape({1, 1, 2, 2}),
      OpCase("Pad", "reflect", "0 0 1 1 2 0 0 0 1 0").In({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})
          .Out({6, 5, 4, 5, 6, 3, 2, 1, 2, 3, 6, 5, 4, 5, 6, 9, 8, 7, 8, 9, 6, 5, 4, 5, 6}).OutShape({1, 1, 5, 5}),
      OpCase("Pad", "edge", "0 0 1 0 0 1 0 0 2 0").In({1, 1, 2, 2}, {1, 2, 3, 4}).Out({1, 2, 2, 1, 2, 2, 3, 4, 4}).OutShape({1, 1, 3, 3}),
      OpCase("Pad", "channels", "0 0 0 0 0 0 1 2 0 -1").In({2, 1, 1, 1}, {5, 6}).Out({-1, 5, -1, -1, -1, 6, -1, -1}).OutShape({2, 4, 1, 1}),
      OpCase("Pad", "channels_not_given", "0 0 0 0 1 0 -2147483648 -2147483648 0 0").In({1, 1, 1, 2}, {1, 2}).Out({0, 1, 2}),
      OpCase("Pad", "batch_2", "0 0 1 2 3 1 0 0 0 0.5").In({2, 3, 5, 7}).OutShape({2, 3, 8, 11}),
      OpCase("Pad", "specials", "0 0 1 2 3 1 0 0 1 0").In({1, 2, 5, 7}, Regime::kSpecials).OutShape({1, 2, 8, 11}),
      OpCase("Pad", "rank_3", "0 0 1 1 1 1 0 0 0 0").In({2, 3, 4}).Refused("must be 4-D, found [2,3,4]"),
      OpCase("Pad", "unknown_type", "0 0 1 1 1 1 0 0 3 0").In({1, 1, 3, 4}).Refused("type 3"),
      OpCase("PadV2", "rank_1", "1 2 1 0 7").In({2}, {1, 2}).Out({7, 7, 1, 2, 7}),
      OpCase("PadV2", "negative_cuts", "1 -1 2 0 0").In({3}, {1, 2, 3}).Out({2, 3, 0, 0}),
      OpCase("PadV2", "edge", "1 2 1 2 0").In({2}, {5, 6}).Out({5, 5, 5, 6, 6}),
      OpCase("PadV2", "reflect", "2 0 2 1 0 1 0").In({2, 3}, {1, 2, 3, 4, 5, 6}).Out({3, 2, 1, 2, 3, 6, 5, 4, 5, 6, 3, 2, 1, 2, 3}).OutShape({3, 5}),
      OpCase("PadV2", "reflect_after_a_cut", "1 -1 1 1 0").In({3}, {1, 2, 3}).Out({2, 3, 2}),
      OpCase("PadV2", "leading_dims_only", "1 1 0 0 8").In({1, 2}, {1, 2}).Out({8, 8, 1, 2}).OutShape({2, 2}),
      OpCase("PadV2", "from_input", "0 0 3").In({1, 2}, {1, 2}).Const({4}, {0, 1, 1, 0}, DType::kI64).Out({3, 1, 2, 3, 3, 3}).OutShape({2, 3}),
      OpCase("PadV2", "rank_6", "6 1 0 0 1 0 2 0 1 0 1 0 1 0 -3").In({1, 2, 1, 2, 1, 3}).OutShape({2, 3, 1, 4, 1, 6}),
      OpCase("PadV2", "empty_blob", "2 0 1 0 1 0 4").In({2, 0}).Out({4, 4, 4, 4}).OutShape({2, 2}),
      OpCase("PadV2", "integer_fill", "1 1 0 0 2.9").In({1}, {7}, DType::kI32).Out({2, 7}),
      OpCase("PadV2", "bool_fill", "1 1 0 0 1").In({1}, {0}, DType::kBool).Out({1, 0}),
      OpCase("PadV2", "reflect_too_far", "1 3 0 1 0").In({3}).Refused("pads 3 and 0 of dim 0 reach beyond what input [3] can reflect"),
      OpCase("PadV2", "edge_of_nothing", "1 1 0 2 0").In({0}).Refused("can repeat"),
      OpCase("PadV2", "cut_too_much", "1 -2 -2 0 0").In({3}).Refused("cut away more than input [3] has"),
      OpCase("PadV2", "too_many", "2 0 0 0 0 0 0").In({3}).Refused("pads for 2 dims"),
      OpCase("PadV2", "pads_unknown", "0 0 3").In({1, 2}).In({4}, Regime::kInts, DType::kI32).Refused("not known before the network runs"),
  };
  // clang-format on
  AddForEveryDType(OpCase("PadV2", "reflect_dtype", "3 0 2 1 1 1 0 1 0").In({2, 3, 2}), &cases);
  AddForEveryDType(OpCase("PadV2", "const_dtype", "3 0 2 1 1 1 0 0 1").In({2, 3, 2}), &cases);
  return cases;
}

}  // namespace plumb
