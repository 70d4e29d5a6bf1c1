// Network inputs for a model that is given none: seeded, the same bits on every machine.
// f32: uniform on multiples of 2^-24 in [lo, hi) (default [-1, 1)); i32, i64, u8, i8: uniform integers lo .. hi (default 0, 1);
// bool: 0 or 1. Drawn by Philox4x32-10 from (seed, "input", name, element), so one input does not depend on another.
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
};

// REQUIRES: lo <= hi, both finite. NotSupported for dtypes other than those above.
Result<Tensor> RandomInput(const std::string& name, DType dtype, const Shape& shape, uint64_t seed,
                           const std::optional<InputRange>& range);
// "uniform [-1,1), seed 1": what RandomInput does, for reports and --help.
std::string DescribeRandomInput(DType dtype, uint64_t seed, const std::optional<InputRange>& range);

}  // namespace plumb

#endif  // PLUMB_GRAPH_RANDOM_INPUTS_H_
