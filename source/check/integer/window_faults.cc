// SPDX-License-Identifier: Apache-2.0
// Faults of where a window lies: of average pools, convolutions, and transposed convolutions that a PadV2 cuts.
#include <algorithm>

#include "check/integer/integer_faults.h"
#include "check/numbers/moved_windows.h"
#include "op/convolution.h"
#include "op/pad.h"

namespace plumb {
namespace {

// The sums and counts of average pools.
bool MoveMeans(IntegerStep* step, const Window2D& to) {
  const WindowAxis &h = to.h, &w = to.w;
  auto sums = step->operands[0].whole.Clone();
  if (!sums.ok()) return false;
  const double* x = step->x.whole.data<double>();
  for (int64_t i = 0; i < sums->NumElements(); ++i) {
    const int64_t plane = i / (h.out * w.out), top = i / w.out % h.out * h.stride - h.pad_begin,
                  left = i % w.out * w.stride - w.pad_begin;
    double sum = 0;
    int64_t count = 0;
    for (int64_t row = std::max<int64_t>(0, top); row < std::min(h.in, top + h.kernel); ++row) {
      for (int64_t column = std::max<int64_t>(0, left); column < std::min(w.in, left + w.kernel); ++column, ++count)
        sum += x[(plane * h.in + row) * w.in + column];
    }
    sums->data<double>()[i] = sum;
    step->counts[static_cast<size_t>(i)] = count;
  }
  step->operands[0].whole = std::move(*sums);
  return true;
}

bool MoveConvolution(IntegerStep* step, const Window2D& to) {
  auto wide = Surrounded(step->x.whole, to, 0);
  if (!wide.ok()) return false;
  auto param = std::make_shared<ConvolutionParam>(ParamOf<ConvolutionParam>(step->product));
  param->pad_type = kPadExplicit;
  param->pad_h = param->pad_w = 0;
  Layer layer = step->product;
  layer.param = param;
  auto sums = Tensor::Create(DType::kF64, step->sums.shape());
  if (!sums.ok() || !GetReferenceOp(layer.kind).run({layer, {&*wide}, {&*sums}}).ok()) return false;
  for (int64_t i = 0; i < sums->NumElements() && !step->bias.empty(); ++i)
    sums->data<double>()[i] += step->bias[step->scale_index(i)];
  step->sums = std::move(*sums);
  return true;
}

// The PadV2 behind a transposed convolution, in front of its bias or of the rounding.
bool MoveCuts(IntegerStep* step, const BlobTable& blobs, const Window2D& to) {
  Layer& cuts = step->behind.empty() ? step->tail_layers[0] : step->behind[0];
  auto param = std::make_shared<PadV2Param>(ParamOf<PadV2Param>(cuts));
  param->begins[2] = static_cast<int>(to.h.pad_begin), param->ends[2] = static_cast<int>(to.h.pad_end);
  param->begins[3] = static_cast<int>(to.w.pad_begin), param->ends[3] = static_cast<int>(to.w.pad_end);
  cuts.param = param;
  return step->behind.empty() || SumAnew(step, blobs);
}

template <int kDown, int kAlong>
bool WindowMoved(IntegerStep* step, const BlobTable& blobs) {
  if (!CanMoveWindow(step->window, kDown, kAlong)) return false;
  const Window2D to = MovedWindow(step->window, kDown, kAlong);
  if (step->form == IntegerForm::kWindowMean) return MoveMeans(step, to);
  if (step->form != IntegerForm::kProduct) return false;
  return step->product.kind == OpKind::kConvolution ? MoveConvolution(step, to) : MoveCuts(step, blobs, to);
}

template <int kDown, int kAlong>
StepFault Moved() {
  return {"", "", WindowMoved<kDown, kAlong>,
          [](const IntegerStep& step) { return WordsOfMoved(step.window, kDown, kAlong); }};
}

}  // namespace

const std::vector<StepFault>& WindowFaults() {
  static const auto* faults =
      new std::vector<StepFault>{Moved<1, 1>(), Moved<-1, -1>(), Moved<1, 0>(),  Moved<-1, 0>(),
                                 Moved<0, 1>(), Moved<0, -1>(),  Moved<1, -1>(), Moved<-1, 1>()};
  return *faults;
}

}  // namespace plumb
