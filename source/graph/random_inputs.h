// SPDX-License-Identifier: Apache-2.0
// Network inputs for a model that is given none: seeded, the same bits on every machine.
// f32: uniform in [lo, hi) (default [-1, 1)); i32, i64, u8, i8, and f32 that are to be whole: uniform integers lo .. hi
// (default 0, 1); bool: 0 or 1. Drawn by Philox4x32-10 from (seed, "input", name, element), so one input does not
// depend on another; doc/formats.md says how, bit for bit. input_ranges.h finds the range that a graph allows.
#ifndef PLUMB_GRAPH_RANDOM_INPUTS_H_
#define PLUMB_GRAPH_RANDOM_INPUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "plumb/graph.h"

namespace plumb {

struct InputRange {
  double lo, hi;
  bool whole = false;      // floats: whole numbers lo .. hi; integers always are
  bool ascending = false;  // nothing is drawn: lo, lo + 1, ... along the last dim, hi once it is reached
};
InputRange DefaultInputRange(DType dtype);

// REQUIRES: lo <= hi, both finite. NotSupported for dtypes other than those above.
Result<Tensor> RandomInput(const std::string& name, DType dtype, const Shape& shape, uint64_t seed,
                           const std::optional<InputRange>& range);
// "generated, uniform 0..256 (why), seed 1": what RandomInput does, for reports; `why` may be empty.
std::string DescribeRandomInput(DType dtype, uint64_t seed, const std::optional<InputRange>& range,
                                const std::string& why = "");

}  // namespace plumb

#endif  // PLUMB_GRAPH_RANDOM_INPUTS_H_
