// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> arg_max_cases() {
  const char* op = "ArgMaxOrMin";
  const std::vector<double> ties = {1, 3, 3, 2, -1, -1};
  return WithDoubles({
      OpCase(op, "max_first", "axis=1").In({2, 3}, ties).Out({1, 0}, 0).OutShape({2, 1}),
      OpCase(op, "max_last", "axis=1 select_last_index").In({2, 3}, ties).Out({2, 0}, 0),
      OpCase(op, "min_first", "mode=0 axis=1 keep_dims=0").In({2, 3}, ties).Out({0, 1}, 0).OutShape({2}),
      OpCase(op, "min_last", "mode=0 axis=1 keep_dims=0 select_last_index").In({2, 3}, ties).Out({0, 2}, 0),
      OpCase(op, "axis_0", "keep_dims=0").In({2, 3}, ties).Out({1, 0, 0}, 0).OutShape({3}),
      OpCase(op, "nan_wins", "axis=1 keep_dims=0").In({2, 4}, {1, NAN, 9, NAN, 5, 6, 7, 6}).Out({1, 2}, 0),
      OpCase(op, "last_nan_wins", "mode=0 axis=1 keep_dims=0 select_last_index")
          .In({1, 4}, {1, NAN, -9, NAN})
          .Out({3}, 0),
      OpCase(op, "infinities", "axis=-1 keep_dims=0")
          .In({2, 3}, {-INFINITY, -INFINITY, 1, 2, INFINITY, INFINITY})
          .Out({2, 1}, 0),
      OpCase(op, "i32", "axis=1 keep_dims=0").In({1, 3}, {-5, 7, 3}, DType::kI32).Out({1}, 0),
      OpCase(op, "i64_extremes", "mode=0 axis=1 keep_dims=0").In({5, 7}, Regime::kExtremes, DType::kI64),
      OpCase(op, "channels", "axis=1").In({2, 19, 3, 5}).OutShape({2, 1, 3, 5}),
      OpCase(op, "rank_5", "mode=0 axis=2 keep_dims=0 select_last_index").In({2, 3, 7, 2, 3}).OutShape({2, 3, 2, 3}),
      OpCase(op, "rank_1", "keep_dims=0").In({17}).OutShape({}),
      // Longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase(op, "beyond_65535", "axis=1 keep_dims=0").In({2, 70000}),
      OpCase(op, "beyond_65535_apart", "mode=0 keep_dims=0 select_last_index")
          .In({70000, 2}, Regime::kInts, DType::kI32),
      OpCase(op, "all_equal", "axis=1 keep_dims=0").In({3, 9}, Regime::kConstant).Out({0, 0, 0}, 0),
      OpCase(op, "no_rows", "axis=1 keep_dims=0").In({0, 3}).OutShape({0}),
      OpCase(op, "empty_axis", "axis=1 keep_dims=0").In({2, 0}).Refused("has no i32 index"),
      OpCase(op, "axis_outside", "axis=2 keep_dims=0").In({2, 3}).Refused("axis 2"),
      OpCase(op, "mode_unknown", "mode=2 axis=1 keep_dims=0").In({2, 3}).Refused("mode 2"),
  });
}

}  // namespace plumb
