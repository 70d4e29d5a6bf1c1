// SPDX-License-Identifier: Apache-2.0
// Proposals for windows that lie elsewhere: as much padding in all, but more of it before and less behind, or the other
// way, as a SAME with its odd pixel at the other end. A PadV2 in front of a window, or that cuts behind a transposed
// convolution, is one, too.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/cause/known_ways_util.h"
#include "check/numbers/moved_windows.h"
#include "op/convolution.h"
#include "op/deconvolution.h"
#include "op/pad.h"
#include "op/pooling.h"

namespace plumb {
namespace {

// Each way to move the windows: both axes or one, a pixel to either side, or the ends exchanged.
template <class F>
void EachMoved(const AxesPads& own, F take) {
  std::vector<AxesPads> tried;
  const auto add = [&](const AxesPads& other) {
    bool differs = false, known = false;
    for (size_t i = 0; i < own.size(); ++i) {
      differs = differs || !(other[i] == own[i]);
      if (!own[i].MayBecome(other[i])) return;
    }
    for (const AxesPads& earlier : tried) known = known || earlier == other;
    if (!differs || known) return;
    tried.push_back(other);
    take(other, WithPads(own) + NumbersOfPads(other, own), NumbersOfPads(own, other));
  };
  AxesPads exchanged = own;
  for (EndPads& axis : exchanged) std::swap(axis.begin, axis.end);
  add(exchanged);
  for (const int64_t by : {1, -1}) {
    AxesPads all = own;
    for (EndPads& axis : all) axis = axis.pads() || axis.cuts() ? axis.Moved(by) : axis;
    add(all);
    for (size_t i = 0; i < own.size(); ++i) {
      AxesPads one = own;
      one[i] = own[i].Moved(by);
      add(one);
    }
    if (own.size() == 2) add({own[0].Moved(by), own[1].Moved(-by)});
  }
}

// The layer without pads on an input that has them.
void OfPadded(const ProposalContext& c, const Layer& plain, const Window2D& own, double by, Proposals* proposals) {
  const auto layer = std::make_shared<Layer>(plain);
  EachMoved(PadsOfWindow(own), [&](const AxesPads& pads, const std::string& computed, const std::string& says) {
    const Window2D to = WithPadsOf(own, pads);
    proposals->push_back(
        OfItsInput(c, computed, says, "window", [layer, to, by](const Tensor& input, Tensor* values, Tensor* tau) {
          const auto wide = Surrounded(input, to, by);
          if (!wide.ok()) return;
          const Status ran = GetReferenceOp(layer->kind).run({*layer, {&*wide}, {values}});
          if (ran.ok() && tau != nullptr) ForEachReal(tau, [](double t) { return 2 * t; });
        }));
  });
}

template <class P>
Layer WithoutPads(const Layer& layer) {
  return With<P>(layer, [](P* p) { p->pad_type = kPadExplicit, p->pad_h = p->pad_w = 0; });
}

void WindowsOfPooling(const ProposalContext& c, Proposals* proposals) {
  const auto shape = ResolvePooling(c.layer, c.input);
  if (!shape.ok() || shape->adaptive || c.input.rank() != 4) return;
  const AxesPads own = PadsOfWindow(shape->window);
  if (!shape->average) {
    if (!ParamOf<PoolingParam>(c.layer).ceil_mode)
      OfPadded(c, WithoutPads<PoolingParam>(c.layer), shape->window, -INFINITY, proposals);
    return;
  }
  const WindowAxis &h = shape->window.h, &w = shape->window.w;
  EachMoved(own, [&](const AxesPads& pads, const std::string& computed, const std::string& says) {
    auto param = std::make_shared<PlumbAveragePoolParam>();
    param->kernel_h = static_cast<int>(h.kernel), param->kernel_w = static_cast<int>(w.kernel);
    param->stride_h = static_cast<int>(h.stride), param->stride_w = static_cast<int>(w.stride);
    param->pad_top = static_cast<int>(pads[0].begin), param->pad_bottom = static_cast<int>(pads[0].end);
    param->pad_left = static_cast<int>(pads[1].begin), param->pad_right = static_cast<int>(pads[1].end);
    param->count_include_pad = shape->count_include_pad;
    Layer layer = c.layer;
    layer.kind = OpKind::kPlumbAveragePool;
    layer.param = param;
    proposals->push_back({computed, says, std::move(layer), {}, "window"});
  });
}

void WindowsOfPad(const ProposalContext& c, Proposals* proposals) {
  std::vector<BlobInfo> inputs;
  for (const std::string& input : c.layer.inputs) inputs.push_back(c.blobs.at(input));
  const auto shape = ResolvePad(c.layer, inputs);
  if (!shape.ok() || inputs.size() != 1 || c.input.rank() != static_cast<int>(shape->begins.size())) return;
  AxesPads own;
  for (int axis = 0; axis < c.input.rank(); ++axis)
    own.push_back({axis, shape->begins[static_cast<size_t>(axis)], shape->ends[static_cast<size_t>(axis)]});
  EachMoved(own, [&](const AxesPads& pads, const std::string& computed, const std::string& says) {
    auto param = std::make_shared<PadV2Param>();
    param->type = shape->mode;
    param->value = shape->value;
    for (const EndPads& axis : pads) {
      param->begins.push_back(static_cast<int>(axis.begin));
      param->ends.push_back(static_cast<int>(axis.end));
    }
    Layer layer = c.layer;
    layer.kind = OpKind::kPadV2;
    layer.param = param;
    proposals->push_back({computed, says, std::move(layer), {}, "window"});
  });
}

// SAME, with the odd pixel cut off at the other end.
void WindowsOfDeconvolution(const ProposalContext& c, Proposals* proposals) {
  const int type = ParamOf<ConvolutionParam>(c.layer).pad_type;
  if (type != kPadSame && type != kPadSameSwapped) return;
  Layer other = With<ConvolutionParam>(
      c.layer, [&](ConvolutionParam* p) { p->pad_type = type == kPadSame ? int{kPadSameSwapped} : int{kPadSame}; });
  const auto own = ResolveDeconvolution(c.layer, c.input), exchanged = ResolveDeconvolution(other, c.input);
  if (!own.ok() || !exchanged.ok()) return;
  const AxesPads pads = PadsOfWindow(own->window), to = PadsOfWindow(exchanged->window);
  if (!(pads == to))
    proposals->push_back(
        {"with cuts of " + NumbersOfPads(to, pads), NumbersOfPads(pads, to), std::move(other), {}, "window"});
}

}  // namespace

void ProposeForWindows(const ProposalContext& context, Proposals* proposals) {
  switch (context.layer.kind) {
    case OpKind::kConvolution: {
      const auto shape = ResolveConvolution(context.layer, context.input);
      if (shape.ok() && context.input.rank() == 4)
        OfPadded(context, WithoutPads<ConvolutionParam>(context.layer), shape->window, 0, proposals);
      break;
    }
    case OpKind::kPooling:
    case OpKind::kPlumbAveragePool: WindowsOfPooling(context, proposals); break;
    case OpKind::kPad:
    case OpKind::kPadV2: WindowsOfPad(context, proposals); break;
    case OpKind::kDeconvolution: WindowsOfDeconvolution(context, proposals); break;
    default: break;
  }
}

}  // namespace plumb
