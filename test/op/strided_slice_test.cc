// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> strided_slice_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("StridedSlice", "stride_2", "begins=[0,1] ends=[2,0] strides=[1,2]")
          .In({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).Out({1, 3, 5, 7, 9, 11}).OutShape({2, 3}),
      OpCase("StridedSlice", "negative_positions", "begins=[-3] ends=[-1] strides=[1]").In({5}, {1, 2, 3, 4, 5})
          .Out({3, 4}),
      OpCase("StridedSlice", "like_the_second_input", "begins=[1,1] ends=[0,0] strides=[1,1]")
          .In({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).In({2, 1}).Out({5, 8}).OutShape({2, 1}),
      OpCase("StridedSlice", "rank_5", "begins=[0,1,0,1,0] ends=[2,2,0,3,4] strides=[1,1,1,1,3]").In({2, 3, 2, 4, 5})
          .OutShape({2, 1, 2, 2, 2}),
      OpCase("StridedSlice", "wrong_rank", "begins=[0] ends=[1] strides=[1]").In({2, 6})
          .Refused("needs 2 begins, ends and strides, found 1, 1 and 1"),
      OpCase("StridedSlice", "negative_stride", "begins=[0] ends=[0] strides=[-1]").In({6})
          .Refused("stride -1 is negative"),
      OpCase("StridedSlice", "zero_stride", "begins=[0] ends=[0] strides=[0]").In({6}).Refused("stride of axis 0 is 0"),
      OpCase("StridedSlice", "reference_too_large", "begins=[2] ends=[0] strides=[1]").In({5}).In({4})
          .Refused("2 .. 6 of dim 0 is outside [5]"),
      OpCase("StridedSliceV2", "one_axis", "begins=[1] ends=[3] axes=[-1] strides=[1]")
          .In({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({2, 3, 6, 7}).OutShape({2, 2}),
      OpCase("StridedSliceV2", "reversed", "begins=[-1] ends=[-2147483648] axes=[0] strides=[-1]").In({4}, {1, 2, 3, 4})
          .Out({4, 3, 2, 1}),
      OpCase("StridedSliceV2", "back_by_2", "begins=[2147483647] ends=[0] axes=[0] strides=[-2]")
          .In({6}, {0, 1, 2, 3, 4, 5}).Out({5, 3, 1}),
      OpCase("StridedSliceV2", "to_int_max", "begins=[1,2] ends=[2147483647,2147483647] axes=[0,2] strides=[1,3]")
          .In({3, 2, 9}).OutShape({2, 2, 3}),
      OpCase("StridedSliceV2", "end_cut_to_dim", "begins=[2] ends=[100] axes=[0] strides=[1]").In({4}, {1, 2, 3, 4})
          .Out({3, 4}),
      OpCase("StridedSliceV2", "begin_before_first", "begins=[-100] ends=[2] axes=[0] strides=[1]")
          .In({4}, {1, 2, 3, 4}).Out({1, 2}),
      OpCase("StridedSliceV2", "nothing_left", "begins=[3] ends=[1] axes=[0] strides=[1]").In({4}).OutShape({0}),
      OpCase("StridedSliceV2", "no_axes_no_strides", "begins=[1,0] ends=[2,1]").In({3, 2}, {1, 2, 3, 4, 5, 6}).Out({3})
          .OutShape({1, 1}),
      OpCase("StridedSliceV2", "rank_6_mixed", "begins=[4,-2,0] ends=[-2147483648,0,2] axes=[0,3,5] strides=[-2,-1,1]")
          .In({5, 2, 2, 3, 2, 4}).OutShape({3, 2, 2, 1, 2, 2}),
      OpCase("StridedSliceV2", "from_inputs", "axes=[1] strides=[2]").In({1, 5}, {1, 2, 3, 4, 5})
          .Const({1}, {1}, DType::kI32).Const({1}, {5}, DType::kI64).Out({2, 4}),
      OpCase("StridedSliceV2", "known_value", "begins=[2] ends=[4] axes=[0] strides=[1]")
          .Const({4}, {1, 3, 224, 225}, DType::kI64).Out({224, 225}),
      OpCase("StridedSliceV2", "begins_unknown", "axes=[1] strides=[2]").In({1, 5}).In({1}, Regime::kInts, DType::kI32)
          .Const({1}, {5}, DType::kI32).Refused("not known before the network runs"),
      OpCase("StridedSliceV2", "counts_differ", "begins=[0,0] ends=[1] axes=[0] strides=[1]").In({2, 2})
          .Refused("2 begins, 1 ends, 1 axes and 1 strides"),
      OpCase("StridedSliceV2", "axis_twice", "begins=[0,0] ends=[1,1] axes=[0,-2] strides=[1,1]").In({2, 2})
          .Refused("axis 0 is sliced twice"),
      OpCase("StridedSliceV2", "axis_outside", "begins=[0] ends=[1] axes=[2] strides=[1]").In({2, 2})
          .Refused("axis 2 is outside"),
      OpCase("StridedSliceV2", "zero_stride", "begins=[0] ends=[1] axes=[1] strides=[0]").In({2, 2})
          .Refused("stride of axis 1 is 0"),
  };
  // clang-format on
  AddForEveryDType(
      OpCase("StridedSliceV2", "dtype", "begins=[1,4] ends=[3,-2147483648] axes=[0,1] strides=[1,-2]").In({3, 5, 2}),
      &cases);
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
