// SPDX-License-Identifier: Apache-2.0
// Cast: the same values in another dtype. Floats round to nearest even, float to integer truncates and saturates (NaN
// gives 0), integers wrap, anything but 0 is true. `to` is TNN's data type number: 0 f32, 1 f16, 2 i8, 3 i32, 4 bf16, 5
// i64, 6 u32. PlumbCast names its dtype (bool, u8, i16, u16, f64, too): TNN has no number for those. Differs from TNN,
// which knows f32, i32, i8 and u32 pairs only and leaves the output unset for others.
#ifndef PLUMB_OP_CAST_H_
#define PLUMB_OP_CAST_H_

#include "op/core/op.h"

namespace plumb {

struct CastParam : ParamBase<CastParam> {
  int to = 0;
  void Visit(ParamVisitor& v) override { v.Int("to", to); }
};

struct PlumbCastParam : ParamBase<PlumbCastParam> {
  std::string to = "f32";
  void Visit(ParamVisitor& v) override { v.Text("to", to, ParamVisitor::kRequired); }
};

Result<DType> CastTarget(const Layer& layer);

}  // namespace plumb

#endif  // PLUMB_OP_CAST_H_
