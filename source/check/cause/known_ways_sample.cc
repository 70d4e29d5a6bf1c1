// SPDX-License-Identifier: Apache-2.0
// Proposals for layers that sample an image or turn channels into pixels: their other modes.
#include <fmt/core.h>

#include "check/cause/known_ways_util.h"
#include "op/grid_sample.h"
#include "op/pixel_shuffle.h"
#include "op/roi_align.h"

namespace plumb {
namespace {

std::string Rule(const GridSampleParam& p) {
  static const char* const kModes[] = {"?", "nearest", "linear", "cubic"};
  static const char* const kPads[] = {"zeros", "reflection", "border"};
  return fmt::format("{}, {}, align_corners {}", kModes[p.mode & 3], kPads[p.pad_type % 3], p.align_corners ? 1 : 0);
}

void OtherGridSample(const ProposalContext& c, Proposals* proposals) {
  const std::string own = Rule(ParamOf<GridSampleParam>(c.layer));
  for (const int mode : {1, 2, 3}) {
    if (mode == 3 && c.input.rank() != 4) continue;
    for (const int pads : {0, 1, 2}) {
      for (const bool align : {false, true}) {
        Layer altered = With<GridSampleParam>(
            c.layer, [&](GridSampleParam* p) { p->mode = mode, p->pad_type = pads, p->align_corners = align; });
        const std::string rule = Rule(ParamOf<GridSampleParam>(altered));
        if (rule != own) proposals->push_back({"as " + rule, own, std::move(altered), {}, "grid"});
      }
    }
  }
}

std::string Rule(const PlumbRoiAlignParam& p) {
  return fmt::format("{} of {} points{}", p.base.mode == 0 ? "the maximum" : "the average",
                     p.base.sampling_ratio == 0 ? "all" : std::to_string(p.base.sampling_ratio),
                     p.half_pixel ? ", half_pixel" : "");
}

void OtherRoiAlign(const ProposalContext& c, Proposals* proposals) {
  const PlumbRoiAlignParam own = RoiParamOf(c.layer);
  for (const int mode : {0, 1}) {
    for (const int ratio : {0, 1, 2, 4}) {
      for (const bool half : {false, true}) {
        auto param = std::make_shared<PlumbRoiAlignParam>(own);
        param->base.mode = mode, param->base.sampling_ratio = ratio, param->half_pixel = half;
        if (Rule(*param) == Rule(own)) continue;
        Layer altered = c.layer;
        altered.kind = OpKind::kPlumbRoiAlign;
        altered.param = param;
        if (!half) {  // regions of at least 1
          altered.kind = OpKind::kRoiAlign;
          altered.param = std::make_shared<RoiAlignParam>(param->base);
        }
        proposals->push_back({"as " + Rule(*param), Rule(own), std::move(altered), {}, "roi"});
      }
    }
  }
}

// Channels in the order of depth, column, row, or column, row, depth.
void OtherShuffle(const ProposalContext& c, Proposals* proposals) {
  const bool plain = c.layer.kind == OpKind::kPixelShuffle;
  auto param = std::make_shared<ReorgParam>();
  if (plain) {
    param->stride = ParamOf<PixelShuffleParam>(c.layer).upscale_factor, param->forward = 1;
  } else {
    *param = ParamOf<ReorgParam>(c.layer);
  }
  const bool was_crd = plain || param->mode == 1;
  param->mode = was_crd ? 0 : 1;
  Layer altered = c.layer;
  altered.kind = OpKind::kReorg;
  altered.param = param;
  proposals->push_back(
      {was_crd ? "in the order DCR" : "in the order CRD", was_crd ? "CRD" : "DCR", std::move(altered)});
}

constexpr ProposalRow kSampleProposalRows[] = {
    {OpKind::kGridSample, OtherGridSample}, {OpKind::kRoiAlign, OtherRoiAlign}, {OpKind::kPlumbRoiAlign, OtherRoiAlign},
    {OpKind::kPixelShuffle, OtherShuffle},  {OpKind::kReorg, OtherShuffle},
};

}  // namespace

void ProposeForSamples(const ProposalContext& context, Proposals* proposals) {
  for (const ProposalRow& row : kSampleProposalRows) {
    if (row.kind == context.layer.kind) row.propose(context, proposals);
  }
}

}  // namespace plumb
