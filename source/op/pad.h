// SPDX-License-Identifier: Apache-2.0
// Pad, PadV2: elements around (or, for a negative pad, cut off) the ends of the dims. type 0 fills with `value`, 1
// reflects without repeating the border element, 2 repeats the border element. Reflection reaches at most dim - 1
// elements. Pad is 4-D and names its pads; PadV2 has a begin and an end per leading dim, or takes them (all begins,
// then all ends) from a known integer second input. Differs from TNN: reflect and edge work on channels too and for
// every rank, and an integer blob is filled with the integer nearest below |value|, not with the bits of a float.
#ifndef PLUMB_OP_PAD_H_
#define PLUMB_OP_PAD_H_

#include <climits>

#include "op/core/op.h"

namespace plumb {

enum PadMode { kPadConst = 0, kPadReflect = 1, kPadEdge = 2 };

struct PadParam : ParamBase<PadParam> {
  int top = 0, bottom = 0, left = 0, right = 0;
  int channel_begin = 0, channel_end = 0;  // INT_MIN, which TNN writes for "not given", counts as 0
  int type = kPadConst;
  float value = 0;
  void Visit(ParamVisitor& v) override;
};

struct PadV2Param : ParamBase<PadV2Param> {
  std::vector<int> begins, ends;
  int type = kPadConst;
  float value = 0;
  void Visit(ParamVisitor& v) override;
};

// One entry per dim of the input.
struct PadShape {
  std::vector<int64_t> begins, ends;
  PadMode mode = kPadConst;
  float value = 0;
  Shape out;
};

Result<PadShape> ResolvePad(const Layer& layer, const std::vector<BlobInfo>& inputs);

}  // namespace plumb

#endif  // PLUMB_OP_PAD_H_
