// SPDX-License-Identifier: Apache-2.0
// Proposals for padding: a convolution whose border is repeated, reflected or taken from the other side in place of 0;
// a Pad that repeats its border element when it reflects, or goes round.
#include <algorithm>
#include <vector>

#include "check/cause/general_ways.h"
#include "op/convolution.h"
#include "op/pad.h"

namespace plumb {
namespace {

enum class Border { kEdge, kReflect, kSymmetric, kWrap };

constexpr std::pair<Border, const char*> kBorders[] = {
    {Border::kEdge, "with padding that repeats the border"},
    {Border::kReflect, "with padding by reflection"},
    {Border::kSymmetric, "with padding by symmetric reflection, which repeats the border element"},
    {Border::kWrap, "with padding from the other side (circular)"}};

// Where in [0, size) an element beyond it is found.
int64_t PlaceInside(Border border, int64_t at, int64_t size) {
  if (border == Border::kEdge || size == 1) return std::clamp<int64_t>(at, 0, size - 1);
  if (border == Border::kWrap) return (at % size + size) % size;
  const int64_t shift = border == Border::kReflect ? 0 : 1;
  while (at < 0 || at >= size) at = at < 0 ? -at - shift : 2 * (size - 1) - at + shift;
  return at;
}

// Element by element, of any rank.
Result<Tensor> Padded(Border border, const Tensor& input, const std::vector<int64_t>& begins, const Shape& out) {
  const Shape& in = input.shape();
  return ElementsFrom(input, out, [&](int64_t i) {
    int64_t from = 0, rest = i;
    for (int axis = 0; axis < out.rank(); ++axis) {
      const int64_t inner = out.CountFrom(axis + 1);
      from = from * in[axis] + PlaceInside(border, rest / inner - begins[static_cast<size_t>(axis)], in[axis]);
      rest %= inner;
    }
    return from;
  });
}

void OfConvolution(const ProposalContext& c, Proposals* proposals) {
  const auto shape = ResolveConvolution(c.layer, c.input);
  if (!shape.ok() || c.input.rank() != 4) return;
  const WindowAxis &h = shape->window.h, &w = shape->window.w;
  if (h.pad_begin + h.pad_end + w.pad_begin + w.pad_end <= 0) return;
  Shape padded = c.input;
  padded[2] += h.pad_begin + h.pad_end, padded[3] += w.pad_begin + w.pad_end;
  auto layer = std::make_shared<Layer>(With<ConvolutionParam>(
      c.layer, [](ConvolutionParam* p) { p->pad_type = kPadExplicit, p->pad_h = p->pad_w = 0; }));
  const std::vector<int64_t> begins = {0, 0, h.pad_begin, w.pad_begin};
  for (const auto& [border, words] : kBorders) {
    proposals->push_back(
        OfItsInput(c, words, "zeros", "border", [=, border = border](const Tensor& input, Tensor* values, Tensor* tau) {
          const auto wide = Padded(border, input, begins, padded);
          if (!wide.ok()) return;
          const ReferenceArgs args{*layer, {&*wide}, {values}};
          const Status ran = GetReferenceOp(layer->kind).run(args);
          if (ran.ok() && tau != nullptr) ForEachReal(tau, [](double t) { return 2 * t; });
        }));
  }
}

void OfPad(const ProposalContext& c, Proposals* proposals) {
  std::vector<BlobInfo> inputs;
  for (const std::string& input : c.layer.inputs) inputs.push_back(c.blobs.at(input));
  const auto shape = ResolvePad(c.layer, inputs);
  if (!shape.ok() || static_cast<int>(shape->begins.size()) != c.input.rank()) return;
  for (int axis = 0; axis < c.input.rank(); ++axis) {
    if (shape->begins[static_cast<size_t>(axis)] < 0 || c.input[axis] == 0) return;
  }
  for (const auto& [border, words] : kBorders) {
    if (border == Border::kEdge || border == Border::kReflect) continue;  // known_ways.cc
    proposals->push_back(OfItsInput(c, words, "otherwise", "border",
                                    [border = border, shape = *shape](const Tensor& input, Tensor* values, Tensor*) {
                                      auto padded = Padded(border, input, shape.begins, shape.out);
                                      if (padded.ok())
                                        std::copy_n(padded->data<double>(), padded->NumElements(),
                                                    values->data<double>());
                                    }));
  }
}

}  // namespace

void ProposeOtherPadding(const ProposalContext& context, Proposals* proposals) {
  if (context.layer.kind == OpKind::kConvolution) OfConvolution(context, proposals);
  if (context.layer.kind == OpKind::kPad || context.layer.kind == OpKind::kPadV2) OfPad(context, proposals);
}

}  // namespace plumb
