// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> matmul_cases() {
  return WithDoubles({
      OpCase("MatMul", "values")
          .In({2, 2}, {1, 2, 3, 4})
          .In({2, 3}, {1, 10, 100, 2, 20, 200})
          .Out({5, 50, 500, 11, 110, 1100}),
      OpCase("MatMul", "constant_second", "weight_position=1")
          .In({1, 2}, {1, 2})
          .Weight("weight", {2, 3}, {1, 2, 3, 10, 20, 30})
          .Out({21, 42, 63}),
      OpCase("MatMul", "constant_first", "weight_position=0")
          .In({2, 1}, {1, 2})
          .Weight("weight", {3, 2}, {1, 10, 2, 20, 3, 30})
          .Out({21, 42, 63})
          .OutShape({3, 1}),
      OpCase("MatMul", "batch_broadcasts_second")
          .In({2, 1, 2}, {1, 2, 3, 4})
          .In({2, 1}, {10, 1})
          .Out({12, 34})
          .OutShape({2, 1, 1}),
      OpCase("MatMul", "batch_broadcasts_first")
          .In({1, 1, 2}, {1, 2})
          .In({2, 2, 1}, {1, 2, 3, 4})
          .Out({5, 11})
          .OutShape({2, 1, 1}),
      OpCase("MatMul", "batch_broadcasts_both")
          .In({2, 1, 1, 1}, {1, 2})
          .In({3, 1, 1}, {1, 10, 100})
          .Out({1, 10, 100, 2, 20, 200})
          .OutShape({2, 3, 1, 1}),
      OpCase("MatMul", "vectors").In({3}, {1, 2, 3}).In({3}, {1, 10, 100}).Out({321}).OutShape(Shape()),
      OpCase("MatMul", "vector_first").In({2}, {1, 2}).In({2, 2}, {1, 2, 3, 4}).Out({7, 10}).OutShape({2}),
      OpCase("MatMul", "vector_second").In({2, 2}, {1, 2, 3, 4}).In({2}, {1, 10}).Out({21, 43}).OutShape({2}),
      OpCase("MatMul", "odd").In({3, 5, 37}).In({3, 37, 41}).OutShape({3, 5, 41}),
      OpCase("MatMul", "attention").In({2, 4, 17, 8}).In({2, 4, 8, 17}).OutShape({2, 4, 17, 17}),
      OpCase("MatMul", "row_by_matrix", "weight_position=1").In({1, 600}).Weight("weight", {600, 70}).OutShape({1, 70}),
      // Packed once by the devices of a CPU: several matrices as rows, an odd number of blocks, rests of rows, two
      // runs.
      OpCase("MatMul", "one_row_each", "weight_position=1").In({5, 1, 7}).Weight("weight", {7, 3}).OutShape({5, 1, 3}),
      OpCase("MatMul", "rows_of_matrices").In({4, 5, 9}).In({9, 37}).OutShape({4, 5, 37}),
      OpCase("MatMul", "packed", "weight_position=1").In({3, 5, 48}).Weight("weight", {48, 80}).OutShape({3, 5, 80}),
      OpCase("MatMul", "packed_odd_panel", "weight_position=1")
          .In({7, 64})
          .Weight("weight", {64, 48})
          .OutShape({7, 48}),
      OpCase("MatMul", "packed_long_constant", "weight_position=1")
          .In({8, 16384}, Regime::kConstant)
          .Weight("weight", {16384, 16}, Regime::kConstant),
      OpCase("MatMul", "packed_runs", "weight_position=1")
          .In({300, 1024})
          .Weight("weight", {1024, 16})
          .OutShape({300, 16}),
      OpCase("MatMul", "long_constant").In({2, 4096}, Regime::kConstant).In({4096, 3}, Regime::kConstant),
      // Sums longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase("MatMul", "beyond_65535").In({2, 70001}).In({70001, 3}),
      OpCase("MatMul", "beyond_65535_quads").In({2, 262200}).In({262200, 4}),
      OpCase("MatMul", "one_term").In({3, 1}).In({1, 3}),
      OpCase("MatMul", "inner_dims_differ").In({2, 3}).In({2, 3}).Refused("inner dims"),
      OpCase("MatMul", "one_input_needs_a_position").In({2, 3}).Weight("weight", {3, 2}).Refused("weight_position"),
  });
}

}  // namespace plumb
