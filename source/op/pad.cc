// SPDX-License-Identifier: Apache-2.0
#include "op/pad.h"

#include <algorithm>

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {

void PadParam::Visit(ParamVisitor& v) {
  v.Ignored("0");
  v.Ignored("0");
  v.Int("top", top);
  v.Int("bottom", bottom);
  v.Int("left", left);
  v.Int("right", right);
  v.Int("channel_begin", channel_begin);
  v.Int("channel_end", channel_end);
  v.Int("type", type);
  v.Float("value", value);
}

void PadV2Param::Visit(ParamVisitor& v) {
  v.Counted("begins", begins);
  v.Fixed("ends", ends, begins.size(), ParamVisitor::kRequired);
  v.Int("type", type);
  v.Float("value", value);
}

namespace {

Status NamedPads(const PadParam& p, const Shape& in, PadShape* pad) {
  if (in.rank() != 4)
    return Status::InvalidArgument(fmt::format("input must be 4-D, found {}; PadV2 takes other ranks", in.ToString()));
  const auto given = [](int channels) { return channels == INT_MIN ? 0 : channels; };
  pad->begins = {0, given(p.channel_begin), p.top, p.left};
  pad->ends = {0, given(p.channel_end), p.bottom, p.right};
  return Status::Ok();
}

Status ListedPads(const PadV2Param& p, const std::vector<BlobInfo>& inputs, PadShape* pad) {
  pad->begins.assign(p.begins.begin(), p.begins.end());
  pad->ends.assign(p.ends.begin(), p.ends.end());
  if (inputs.size() == 2) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, KnownInts(inputs[1], "the pads of PadV2"));
    if (pads.size() % 2 != 0) {
      return Status::InvalidArgument(
          fmt::format("PadV2 needs as many begins as ends, its second input has {} values", pads.size()));
    }
    const auto half = pads.begin() + static_cast<int64_t>(pads.size() / 2);
    pad->begins.assign(pads.begin(), half);
    pad->ends.assign(half, pads.end());
  }
  const auto rank = static_cast<size_t>(inputs[0].shape.rank());
  if (pad->begins.size() > rank) {
    return Status::InvalidArgument(
        fmt::format("there are pads for {} dims, but the input is {}", pad->begins.size(), inputs[0].shape.ToString()));
  }
  pad->begins.resize(rank, 0);
  pad->ends.resize(rank, 0);
  return Status::Ok();
}

Status CheckMode(const PadShape& pad, const Shape& in) {
  for (int i = 0; i < in.rank(); ++i) {
    const int64_t begin = pad.begins[static_cast<size_t>(i)], end = pad.ends[static_cast<size_t>(i)];
    const std::string found = fmt::format("pads {} and {} of dim {}", begin, end, i);
    if (pad.out[i] < 0 || begin < -in[i] || end < -in[i])
      return Status::InvalidArgument(fmt::format("{} cut away more than input {} has", found, in.ToString()));
    const int64_t reach = pad.mode == kPadReflect ? in[i] - 1 : in[i] > 0 ? INT64_MAX : 0;
    if (pad.mode != kPadConst && std::max(begin, end) > std::max<int64_t>(reach, 0)) {
      return Status::InvalidArgument(fmt::format("{} reach beyond what input {} can {}", found, in.ToString(),
                                                 pad.mode == kPadReflect ? "reflect" : "repeat"));
    }
  }
  return Status::Ok();
}

Status InferPad(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const PadShape pad, ResolvePad(context.layer, context.inputs));
  context.SetAll(context.inputs[0].dtype, pad.out);
  return Status::Ok();
}

template <class Param>
OpDef DefineOfPad() {
  OpDef op;
  op.make_param = MakeParam<Param>;
  op.infer = InferPad;
  op.moves_data_only = true;
  return op;
}

}  // namespace

Result<PadShape> ResolvePad(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  PadShape pad;
  int mode = 0;
  const auto take = [&](const auto& p) {
    mode = p.type;
    pad.value = p.value;
  };
  const Shape& in = inputs[0].shape;
  if (layer.kind == OpKind::kPad) {
    take(ParamOf<PadParam>(layer));
    PLUMB_RETURN_IF_ERROR(NamedPads(ParamOf<PadParam>(layer), in, &pad));
  } else {
    take(ParamOf<PadV2Param>(layer));
    PLUMB_RETURN_IF_ERROR(ListedPads(ParamOf<PadV2Param>(layer), inputs, &pad));
  }
  if (mode < kPadConst || mode > kPadEdge) {
    return Status::InvalidArgument(fmt::format("type {} is none of 0 (const), 1 (reflect), 2 (edge)", mode));
  }
  pad.mode = static_cast<PadMode>(mode);
  pad.out = in;
  for (int i = 0; i < in.rank(); ++i)
    pad.out[i] += pad.begins[static_cast<size_t>(i)] + pad.ends[static_cast<size_t>(i)];
  PLUMB_RETURN_IF_ERROR(CheckMode(pad, in));
  PLUMB_RETURN_IF_ERROR(pad.out.Validate());
  return pad;
}

OpDef DefinePad() { return DefineOfPad<PadParam>(); }
OpDef DefinePadV2() { return DefineOfPad<PadV2Param>(); }

}  // namespace plumb
