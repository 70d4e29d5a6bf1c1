// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> pad_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Pad", "const", "top=1 right=2 value=9").In({1, 1, 2, 2}, {1, 2, 3, 4})
          .Out({9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9}).OutShape({1, 1, 3, 4}),
      OpCase("Pad", "short_line", "top=1").In({1, 1, 1, 2}, {1, 2}).Out({0, 0, 1, 2}).OutShape({1, 1, 2, 2}),
      OpCase("Pad", "reflect", "top=1 bottom=1 left=2 type=1").In({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})
          .Out({6, 5, 4, 5, 6, 3, 2, 1, 2, 3, 6, 5, 4, 5, 6, 9, 8, 7, 8, 9, 6, 5, 4, 5, 6}).OutShape({1, 1, 5, 5}),
      OpCase("Pad", "edge", "top=1 right=1 type=2").In({1, 1, 2, 2}, {1, 2, 3, 4}).Out({1, 2, 2, 1, 2, 2, 3, 4, 4})
          .OutShape({1, 1, 3, 3}),
      OpCase("Pad", "channels", "channel_begin=1 channel_end=2 value=-1").In({2, 1, 1, 1}, {5, 6})
          .Out({-1, 5, -1, -1, -1, 6, -1, -1}).OutShape({2, 4, 1, 1}),
      OpCase("Pad", "channels_not_given", "left=1 channel_begin=-2147483648 channel_end=-2147483648")
          .In({1, 1, 1, 2}, {1, 2}).Out({0, 1, 2}),
      OpCase("Pad", "batch_2", "top=1 bottom=2 left=3 right=1 value=0.5").In({2, 3, 5, 7}).OutShape({2, 3, 8, 11}),
      OpCase("Pad", "specials", "top=1 bottom=2 left=3 right=1 type=1").In({1, 2, 5, 7}, Regime::kSpecials)
          .OutShape({1, 2, 8, 11}),
      OpCase("Pad", "rank_3", "top=1 bottom=1 left=1 right=1").In({2, 3, 4}).Refused("must be 4-D, found [2,3,4]"),
      OpCase("Pad", "unknown_type", "top=1 bottom=1 left=1 right=1 type=3").In({1, 1, 3, 4}).Refused("type 3"),
      OpCase("PadV2", "rank_1", "begins=[2] ends=[1] value=7").In({2}, {1, 2}).Out({7, 7, 1, 2, 7}),
      OpCase("PadV2", "negative_cuts", "begins=[-1] ends=[2]").In({3}, {1, 2, 3}).Out({2, 3, 0, 0}),
      OpCase("PadV2", "edge", "begins=[2] ends=[1] type=2").In({2}, {5, 6}).Out({5, 5, 5, 6, 6}),
      OpCase("PadV2", "reflect", "begins=[0,2] ends=[1,0] type=1").In({2, 3}, {1, 2, 3, 4, 5, 6})
          .Out({3, 2, 1, 2, 3, 6, 5, 4, 5, 6, 3, 2, 1, 2, 3}).OutShape({3, 5}),
      OpCase("PadV2", "reflect_after_a_cut", "begins=[-1] ends=[1] type=1").In({3}, {1, 2, 3}).Out({2, 3, 2}),
      OpCase("PadV2", "leading_dims_only", "begins=[1] ends=[0] value=8").In({1, 2}, {1, 2}).Out({8, 8, 1, 2})
          .OutShape({2, 2}),
      OpCase("PadV2", "from_input", "value=3").In({1, 2}, {1, 2}).Const({4}, {0, 1, 1, 0}, DType::kI64)
          .Out({3, 1, 2, 3, 3, 3}).OutShape({2, 3}),
      OpCase("PadV2", "last_dims_whole", "begins=[0,1,0,0] ends=[0,2,0,0] type=1").In({1, 3, 2, 1}, {1, 2, 3, 4, 5, 6})
          .Out({3, 4, 1, 2, 3, 4, 5, 6, 3, 4, 1, 2}).OutShape({1, 6, 2, 1}),
      OpCase("PadV2", "last_dims_whole_filled", "begins=[0,1,0] ends=[1,0,0] value=9").In({1, 1, 3}, {1, 2, 3})
          .Out({9, 9, 9, 1, 2, 3, 9, 9, 9, 9, 9, 9}).OutShape({2, 2, 3}),
      OpCase("PadV2", "rank_6", "begins=[1,0,0,1,0,2] ends=[0,1,0,1,0,1] value=-3").In({1, 2, 1, 2, 1, 3})
          .OutShape({2, 3, 1, 4, 1, 6}),
      OpCase("PadV2", "empty_blob", "begins=[0,1] ends=[0,1] value=4").In({2, 0}).Out({4, 4, 4, 4}).OutShape({2, 2}),
      OpCase("PadV2", "integer_fill", "begins=[1] ends=[0] value=2.9").In({1}, {7}, DType::kI32).Out({2, 7}),
      OpCase("PadV2", "bool_fill", "begins=[1] ends=[0] value=1").In({1}, {0}, DType::kBool).Out({1, 0}),
      OpCase("PadV2", "reflect_too_far", "begins=[3] ends=[0] type=1").In({3})
          .Refused("pads 3 and 0 of dim 0 reach beyond what input [3] can reflect"),
      OpCase("PadV2", "edge_of_nothing", "begins=[1] ends=[0] type=2").In({0}).Refused("can repeat"),
      OpCase("PadV2", "cut_too_much", "begins=[-2] ends=[-2]").In({3}).Refused("cut away more than input [3] has"),
      OpCase("PadV2", "too_many", "begins=[0,0] ends=[0,0]").In({3}).Refused("pads for 2 dims"),
      OpCase("PadV2", "pads_unknown", "value=3").In({1, 2}).In({4}, Regime::kInts, DType::kI32)
          .Refused("not known before the network runs"),
  };
  // clang-format on
  AddForEveryDType(OpCase("PadV2", "reflect_dtype", "begins=[0,2,1] ends=[1,1,0] type=1").In({2, 3, 2}), &cases);
  AddForEveryDType(OpCase("PadV2", "const_dtype", "begins=[0,2,1] ends=[1,1,0] value=1").In({2, 3, 2}), &cases);
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
