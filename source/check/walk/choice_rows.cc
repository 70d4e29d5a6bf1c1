// SPDX-License-Identifier: Apache-2.0
#include "check/walk/choice_rows.h"

#include <algorithm>

#include "op/arg_max.h"
#include "op/hardmax.h"
#include "op/top_k.h"

namespace plumb {
namespace {

std::optional<ChoiceRows> RowsAlong(const Shape& scores, int axis) {
  const Result<int> along = NormalizeAxis(axis, scores.rank());
  if (!along.ok()) return std::nullopt;
  ChoiceRows rows;
  rows.outer = scores.Count(0, *along);
  rows.size = scores[*along];
  rows.inner = scores.CountFrom(*along + 1);
  return rows;
}

template <class Param>
std::optional<ChoiceRows> TopRows(const Layer& layer, const Shape& scores) {
  const auto& param = ParamOf<Param>(layer);
  std::optional<ChoiceRows> rows = RowsAlong(scores, param.axis);
  if (!rows) return rows;
  rows->sign = param.largest ? 1 : -1;
  rows->slot = 1;
  return rows;
}

std::optional<ChoiceRows> RowsOf(const Layer& layer, const Shape& scores) {
  switch (layer.kind) {
    case OpKind::kTopK: return TopRows<TopKParam>(layer, scores);
    case OpKind::kPlumbTopK: return TopRows<PlumbTopKParam>(layer, scores);
    case OpKind::kArgMaxOrMin: {
      const auto& param = ParamOf<ArgMaxParam>(layer);
      std::optional<ChoiceRows> rows = RowsAlong(scores, param.axis);
      if (rows) rows->sign = param.mode == 1 ? 1 : -1;
      return rows;
    }
    case OpKind::kPlumbHardmax: {
      std::optional<ChoiceRows> rows = RowsAlong(scores, ParamOf<HardmaxParam>(layer).axis);
      if (rows) rows->marks = true;
      return rows;
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<ChoiceRows> ChoiceRows::Of(const std::vector<const Layer*>& members, const Shape& scores) {
  std::optional<ChoiceRows> rows = RowsOf(*members[0], scores);
  if (!rows || members.size() == 1) return rows;
  if (members[0]->kind != OpKind::kArgMaxOrMin) return std::nullopt;
  for (size_t i = 1; i < members.size(); ++i) {
    switch (members[i]->kind) {
      case OpKind::kCast:
      case OpKind::kReshape:
      case OpKind::kSqueeze:
      case OpKind::kUnsqueeze: break;
      case OpKind::kEqual: rows->marks = true; break;
      default: return std::nullopt;
    }
  }
  return rows;
}

std::vector<int64_t> ChoiceRows::ChosenIn(const Tensor& chosen, int64_t row) const {
  std::vector<int64_t> elements;
  if (marks) {
    for (int64_t i = 0; i < size; ++i) {
      if (chosen.ValueAt(ScoreAt(row, i)) == 1) elements.push_back(i);
    }
    return elements;
  }
  for (int64_t j = 0; j < k; ++j) {
    const auto element = static_cast<int64_t>(chosen.ValueAt(ChoiceAt(row, j)));
    if (element >= 0 && element < size) elements.push_back(element);
  }
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

}  // namespace plumb
