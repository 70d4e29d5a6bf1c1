// SPDX-License-Identifier: Apache-2.0
// Proposals for operands: constants with 1 added, squared, negated; read in reverse or from the next element on;
// indices that are not counted from the end; a grid whose x and y are exchanged.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/cause/general_ways.h"

namespace plumb {
namespace {

struct ValueChange {
  const char* words;  // "with 1 added to {}"
  double (*y)(double x);
};

constexpr ValueChange kValueChanges[] = {
    {"with 1 added to {}", [](double x) { return x + 1; }},
    {"with 1 subtracted from {}", [](double x) { return x - 1; }},
    {"with {} negated", [](double x) { return -x; }},
    {"with {} squared", [](double x) { return x * x; }},
    {"with 1 / {}", [](double x) { return x == 0 ? 0 : 1 / x; }},
    {"with the absolute value of {}", [](double x) { return std::fabs(x); }},
    {"with the root of {}", [](double x) { return std::sqrt(std::fabs(x)); }},
    {"with exp of {}", [](double x) { return std::exp(x); }},
    {"with twice {}", [](double x) { return 2 * x; }},
    {"with half of {}", [](double x) { return x / 2; }},
};

// A constant of the layer: one of its resources, or an input that the graph holds.
struct ConstantAt {
  std::string resource;  // empty: an input
  size_t slot = 0;
  std::string name;
  Shape shape;
};

std::vector<ConstantAt> ConstantOperandsOf(const ProposalContext& c) {
  constexpr int64_t kMost = 1 << 16;
  std::vector<ConstantAt> constants;
  for (const char* slot : {"element", "slope", "scale", "bias"}) {
    const Tensor* value = c.layer.Resource(slot);
    if (value != nullptr && value->dtype() == DType::kF32 && value->NumElements() <= kMost)
      constants.push_back(
          {slot, 0, std::string(slot) == "element" ? "the constant" : fmt::format("its {}", slot), value->shape()});
  }
  for (size_t slot = 0; slot < c.layer.inputs.size(); ++slot) {
    const BlobInfo& blob = c.blobs.at(c.layer.inputs[slot]);
    if (!blob.value.empty() && IsFloat(blob.dtype) && blob.shape.NumElements() <= kMost)
      constants.push_back({"", slot, fmt::format("'{}'", c.layer.inputs[slot]), blob.shape});
  }
  return constants;
}

Proposal WithConstant(const ProposalContext& c, const ConstantAt& at, std::string computed,
                      const std::function<Result<Tensor>(const Tensor&)>& change) {
  Proposal proposal{std::move(computed), "as it is", c.layer, {}, "constant"};
  if (!at.resource.empty()) {
    auto changed = change(*c.layer.Resource(at.resource));
    if (changed.ok()) proposal.layer.resources[at.resource] = std::move(changed).value();
  } else {
    proposal.reads = [slot = at.slot, change](size_t read, const Tensor& input) -> Result<Tensor> {
      if (read != slot) return input;
      return change(input);
    };
  }
  return proposal;
}

Result<Tensor> Mapped(const Tensor& tensor, double (*y)(double)) {
  PLUMB_ASSIGN_OR_RETURN(Tensor mapped, tensor.Clone());
  for (int64_t i = 0; i < mapped.NumElements(); ++i) {
    const double value = y(mapped.ValueAt(i));
    if (mapped.dtype() == DType::kF64) mapped.data<double>()[i] = value;
    if (mapped.dtype() == DType::kF32) mapped.data<float>()[i] = static_cast<float>(value);
  }
  return mapped;
}

void OtherConstants(const ProposalContext& c, Proposals* proposals) {
  for (const ConstantAt& at : ConstantOperandsOf(c)) {
    for (const ValueChange& change : kValueChanges) {
      proposals->push_back(WithConstant(c, at, fmt::format(fmt::runtime(change.words), at.name),
                                        [y = change.y](const Tensor& tensor) { return Mapped(tensor, y); }));
    }
    const int rank = at.shape.rank();
    if (rank >= 2 && at.shape[rank - 1] == at.shape[rank - 2] && at.shape[rank - 1] > 1) {
      proposals->push_back(WithConstant(c, at, fmt::format("with {} transposed", at.name), [](const Tensor& tensor) {
        const int64_t n = tensor.shape()[tensor.shape().rank() - 1];
        return ElementsFrom(tensor, tensor.shape(),
                            [n](int64_t i) { return i / (n * n) * n * n + i % n * n + i / n % n; });
      }));
    }
    for (int axis = 0; axis < at.shape.rank(); ++axis) {
      if (at.shape[axis] < 2) continue;
      proposals->push_back(WithConstant(c, at, fmt::format("with {} in reverse along axis {}", at.name, axis),
                                        [axis](const Tensor& tensor) { return ReversedAlong(tensor, axis); }));
      for (const int64_t by : {1, -1}) {
        proposals->push_back(WithConstant(
            c, at, fmt::format("with {} shifted one {} along axis {}", at.name, by > 0 ? "further" : "earlier", axis),
            [axis, by](const Tensor& tensor) { return RolledAlong(tensor, axis, by); }));
      }
    }
  }
}

// 0 where it lets through, far below elsewhere.
bool LetsOrHides(const Tensor& tensor) {
  int64_t lets = 0, hides = 0;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) lets += tensor.ValueAt(i) == 0, hides += tensor.ValueAt(i) <= -1e3;
  return lets > 0 && hides > 0 && lets + hides == tensor.NumElements();
}

// A mask that is joined with itself one further along an axis: a window of one more, or one less.
Result<Tensor> Wider(const Tensor& mask, int axis, int64_t by, bool wider) {
  PLUMB_ASSIGN_OR_RETURN(Tensor joined, mask.Clone());
  const int64_t size = mask.shape()[axis], inner = mask.shape().CountFrom(axis + 1);
  for (int64_t i = 0; i < mask.NumElements(); ++i) {
    const int64_t at = i / inner % size + by;
    if (at < 0 || at >= size) continue;
    const double own = mask.ValueAt(i), other = mask.ValueAt(i + by * inner);
    const double value = wider ? std::max(own, other) : std::min(own, other);
    if (joined.dtype() == DType::kF64) joined.data<double>()[i] = value;
    if (joined.dtype() == DType::kF32) joined.data<float>()[i] = static_cast<float>(value);
  }
  return joined;
}

// A mask of [queries, keys] that begins at the first key in place of ending at the last, or the reverse; what comes in
// is hidden, or as the key beside it.
Result<Tensor> Aligned(const Tensor& mask, int64_t by, bool hidden) {
  const int64_t size = mask.shape()[mask.shape().rank() - 1];
  PLUMB_ASSIGN_OR_RETURN(Tensor aligned, ElementsFrom(mask, mask.shape(), [=](int64_t i) {
                           const int64_t at = i % size;
                           return i + std::clamp<int64_t>(at + by, 0, size - 1) - at;
                         }));
  double least = 0;
  for (int64_t i = 0; i < mask.NumElements(); ++i) least = std::min(least, mask.ValueAt(i));
  for (int64_t i = 0; i < mask.NumElements() && hidden; ++i) {
    if (i % size + by >= 0 && i % size + by < size) continue;
    if (aligned.dtype() == DType::kF64) aligned.data<double>()[i] = least;
    if (aligned.dtype() == DType::kF32) aligned.data<float>()[i] = static_cast<float>(least);
  }
  return aligned;
}

// The condition of a Where joined with itself one further along its last axis: a triangle with one diagonal more or
// less.
void OtherCondition(const ProposalContext& c, Proposals* proposals) {
  const size_t condition = c.layer.inputs.size() - 1;
  const BlobInfo& blob = c.blobs.at(c.layer.inputs[condition]);
  if (blob.dtype != DType::kBool || blob.value.empty() || blob.shape.rank() < 2) return;
  const int64_t size = blob.shape[blob.shape.rank() - 1];
  for (const bool more : {true, false}) {
    for (const int64_t by : {1, -1}) {
      Proposal proposal{fmt::format("with its condition one diagonal {}", more ? "wider" : "narrower"),
                        "otherwise",
                        c.layer,
                        {},
                        "condition"};
      proposal.reads = [=](size_t slot, const Tensor& input) -> Result<Tensor> {
        if (slot != condition || input.dtype() != DType::kBool) return input;
        PLUMB_ASSIGN_OR_RETURN(Tensor joined, input.Clone());
        for (int64_t i = 0; i < input.NumElements(); ++i) {
          const int64_t at = i % size + by;
          const bool own = input.ValueAt(i) != 0, other = at >= 0 && at < size ? input.ValueAt(i + by) != 0 : own;
          static_cast<uint8_t*>(joined.raw())[i] = more ? own || other : own && other;
        }
        return joined;
      };
      proposals->push_back(std::move(proposal));
    }
  }
}

void OtherMasks(const ProposalContext& c, Proposals* proposals) {
  const auto masks = [&](const ConstantAt& at) {
    const int rank = at.shape.rank();
    const auto with = [&](std::string words, std::function<Result<Tensor>(const Tensor&)> change) {
      proposals->push_back(WithConstant(c, at, std::move(words), change));
      proposals->back().family = "mask";
    };
    for (const bool wider : {true, false}) {
      for (const int64_t by : {1, -1}) {
        with(fmt::format("with the window of the mask {} one {}", at.name, wider ? "wider" : "narrower"),
             [=](const Tensor& tensor) { return Wider(tensor, rank - 1, by, wider); });
      }
    }
    const int64_t more = at.shape[rank - 1] - at.shape[rank - 2];
    for (const int64_t by : {more, -more}) {
      for (const bool hidden : {true, false}) {
        if (by == 0) continue;
        with(fmt::format("with the mask {} shifted by {} keys, to the other corner", at.name, std::abs(by)),
             [=](const Tensor& tensor) { return Aligned(tensor, by, hidden); });
      }
    }
  };
  for (size_t slot = 0; slot < c.layer.inputs.size(); ++slot) {
    const Tensor* value = c.value(slot);
    if (value == nullptr || value->shape().rank() < 2 || !IsFloat(value->dtype()) || !LetsOrHides(*value)) continue;
    masks({"", slot, fmt::format("'{}'", c.layer.inputs[slot]), value->shape()});
  }
  const Tensor* element = c.layer.Resource("element");
  if (element != nullptr && element->shape().rank() >= 2 && LetsOrHides(*element))
    masks({"element", 0, "the constant", element->shape()});
}

// What the layer reads of other layers, in reverse along an axis, or one further.
void MovedInputs(const ProposalContext& c, Proposals* proposals) {
  constexpr int kMaxRank = 5;
  for (size_t slot = 0; slot < c.layer.inputs.size(); ++slot) {
    const BlobInfo& blob = c.blobs.at(c.layer.inputs[slot]);
    if (!blob.value.empty() || !IsFloat(blob.dtype) || blob.shape.rank() > kMaxRank) continue;
    const auto with = [&](const std::string& words, std::function<Result<Tensor>(const Tensor&)> moved) {
      Proposal proposal{words, "as it is", c.layer, {}, "moved"};
      proposal.reads = [slot, moved = std::move(moved)](size_t read, const Tensor& input) -> Result<Tensor> {
        if (read != slot) return input;
        return moved(input);
      };
      proposals->push_back(std::move(proposal));
    };
    for (int axis = 0; axis < blob.shape.rank(); ++axis) {
      if (blob.shape[axis] < 2) continue;
      with(fmt::format("with '{}' in reverse along axis {}", c.layer.inputs[slot], axis),
           [axis](const Tensor& tensor) { return ReversedAlong(tensor, axis); });
      for (const int64_t by : {1, -1}) {
        with(fmt::format("with '{}' one {} along axis {}", c.layer.inputs[slot], by > 0 ? "further" : "earlier", axis),
             [axis, by](const Tensor& tensor) { return RolledAlong(tensor, axis, by); });
      }
    }
  }
}

template <class F>
void ForEachWhole(Tensor* tensor, F f) {
  for (int64_t i = 0; i < tensor->NumElements(); ++i) {
    if (tensor->dtype() == DType::kI64) tensor->data<int64_t>()[i] = f(tensor->data<int64_t>()[i]);
    if (tensor->dtype() == DType::kI32)
      tensor->data<int32_t>()[i] = static_cast<int32_t>(f(static_cast<int64_t>(tensor->data<int32_t>()[i])));
  }
}

// Indices below 0, which count from the end, as 0 or as their absolute value.
void OtherIndices(const ProposalContext& c, Proposals* proposals) {
  const size_t indices = c.layer.inputs.size() - 1;  // the data may be the layer's own
  for (const bool zero : {true, false}) {
    Proposal proposal{zero ? "with negative indices taken for 0" : "with negative indices as if they were positive",
                      "from the end",
                      c.layer,
                      {},
                      "indices"};
    proposal.reads = [zero, indices](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot != indices || IsFloat(input.dtype())) return input;
      PLUMB_ASSIGN_OR_RETURN(Tensor other, input.Clone());
      ForEachWhole(&other, [zero](int64_t i) { return zero ? std::max<int64_t>(i, 0) : i < 0 ? -1 - i : i; });
      return other;
    };
    proposals->push_back(std::move(proposal));
  }
}

// The diagonal of a triangle one to the right or to the left, where it is an input.
void OtherDiagonal(const ProposalContext& c, Proposals* proposals) {
  for (const int64_t by : {-1, 1}) {
    Proposal proposal{fmt::format("with its diagonal one to the {}", by > 0 ? "right" : "left"), "otherwise", c.layer};
    proposal.reads = [by](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot != 1 || IsFloat(input.dtype())) return input;
      PLUMB_ASSIGN_OR_RETURN(Tensor other, input.Clone());
      ForEachWhole(&other, [by](int64_t k) { return k + by; });
      return other;
    };
    proposals->push_back(std::move(proposal));
  }
}

void OtherGrid(const ProposalContext& c, Proposals* proposals) {
  const auto with = [&](const char* words, const std::function<int64_t(int64_t, int64_t, int64_t)>& from) {
    Proposal proposal{words, "otherwise", c.layer, {}, "moved"};
    const Shape shape = c.blobs.at(c.layer.inputs[1]).shape;
    const int64_t coordinates = shape[shape.rank() - 1], each = shape.CountFrom(1);
    proposal.reads = [=](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot != 1) return input;
      return ElementsFrom(input, input.shape(), [&](int64_t i) {
        return i / each * each + from(i % each / coordinates, i % coordinates, each / coordinates);
      });
    };
    proposals->push_back(std::move(proposal));
  };
  const Shape& grid = c.blobs.at(c.layer.inputs[1]).shape;
  const int64_t coordinates = grid[grid.rank() - 1];
  with("with the grid's x and y exchanged",
       [coordinates](int64_t point, int64_t at, int64_t) { return point * coordinates + coordinates - 1 - at; });
  with("with the grid's memory read as all x, then all y",
       [](int64_t point, int64_t at, int64_t points) { return at * points + point; });
}

// A float that becomes an integer rounded, or cut off to the other side.
void OtherCast(const ProposalContext& c, Proposals* proposals) {
  if (!IsFloat(c.blobs.at(c.layer.inputs[0]).dtype) || IsFloat(c.blobs.at(c.layer.outputs[0]).dtype)) return;
  const std::pair<const char*, double (*)(double)> roundings[] = {
      {"with rounding half to even", [](double x) { return std::nearbyint(x); }},
      {"with rounding half away from zero", [](double x) { return std::round(x); }},
      {"with rounding down", [](double x) { return std::floor(x); }},
      {"with rounding up", [](double x) { return std::ceil(x); }}};
  for (const auto& [words, round] : roundings) {
    Proposal proposal{words, "cutting off", c.layer, {}, "rounding"};
    proposal.reads = [round = round](size_t, const Tensor& input) { return Mapped(input, round); };
    proposals->push_back(std::move(proposal));
  }
}

}  // namespace

Result<Tensor> ReversedAlong(const Tensor& tensor, int axis) {
  const int64_t size = tensor.shape()[axis], inner = tensor.shape().CountFrom(axis + 1);
  return ElementsFrom(tensor, tensor.shape(),
                      [=](int64_t i) { return i + (size - 1 - 2 * (i / inner % size)) * inner; });
}

Result<Tensor> RolledAlong(const Tensor& tensor, int axis, int64_t by) {
  const int64_t size = tensor.shape()[axis], inner = tensor.shape().CountFrom(axis + 1);
  return ElementsFrom(tensor, tensor.shape(), [=](int64_t i) {
    const int64_t at = i / inner % size;
    return i + (((at + by) % size + size) % size - at) * inner;
  });
}

void ProposeOtherOperands(const ProposalContext& context, Proposals* proposals) {
  switch (context.layer.kind) {
    case OpKind::kGather:
    case OpKind::kPlumbGatherElements: return OtherIndices(context, proposals);
    case OpKind::kPlumbTrilu: return OtherDiagonal(context, proposals);
    case OpKind::kGridSample: OtherGrid(context, proposals); break;
    case OpKind::kWhere: OtherCondition(context, proposals); break;
    case OpKind::kCast:
    case OpKind::kPlumbCast: return OtherCast(context, proposals);
    default: break;
  }
  if (!context.cheap) return;
  if (context.layer.kind == OpKind::kAdd) OtherMasks(context, proposals);
  OtherConstants(context, proposals);
  MovedInputs(context, proposals);
}

}  // namespace plumb
