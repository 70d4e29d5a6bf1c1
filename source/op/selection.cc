// SPDX-License-Identifier: Apache-2.0
#include "op/selection.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "op/core/strided.h"

namespace plumb {
namespace {

constexpr int64_t kMaxSelected = 1 << 20;  // elements that are searched before the network runs

Status RequireKnown(const BlobInfo& blob, const char* what) {
  if (blob.value.empty()) {
    return Status::NotSupported(fmt::format(
        "the size of the output depends on {} {}, which is not known before the network runs: give it as a constant",
        what, blob.shape.ToString()));
  }
  if (blob.shape.NumElements() <= kMaxSelected) return Status::Ok();
  return Status::NotSupported(
      fmt::format("{} has {} elements, at most {} are searched", what, blob.shape.NumElements(), kMaxSelected));
}

Result<Tensor> Indices(const std::vector<int64_t>& values, Shape shape) {
  PLUMB_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(DType::kI64, std::move(shape)));
  std::copy(values.begin(), values.end(), t.data<int64_t>());
  return t;
}

Result<std::vector<Tensor>> NonZero(const BlobInfo& in) {
  const int rank = in.shape.rank();
  PLUMB_ASSIGN_OR_RETURN(const Tensor truth, in.value.ConvertedTo(DType::kBool));
  std::vector<int64_t> found;
  for (int64_t i = 0; i < truth.NumElements(); ++i) {
    if (truth.data<bool>()[i]) found.push_back(i);
  }
  std::vector<int64_t> coordinates;
  for (int d = 0; d < rank; ++d) {
    for (const int64_t i : found) coordinates.push_back(i / in.shape.CountFrom(d + 1) % in.shape[d]);
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor out, Indices(coordinates, {rank, static_cast<int64_t>(found.size())}));
  return std::vector<Tensor>{out};
}

// Slice i along the axis as comparable numbers; i64 stays exact.
template <class T>
std::vector<std::vector<T>> Slices(const Tensor& x, int64_t outer, int64_t size, int64_t inner) {
  std::vector<std::vector<T>> slices(static_cast<size_t>(size));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < size; ++i) {
      const T* from = x.data<T>() + (o * size + i) * inner;
      slices[static_cast<size_t>(i)].insert(slices[static_cast<size_t>(i)].end(), from, from + inner);
    }
  }
  return slices;
}

struct Distinct {
  std::vector<int64_t> first, inverse, counts;
};

template <class T>
Distinct FindDistinct(const std::vector<std::vector<T>>& slices, bool sorted) {
  std::vector<int64_t> order(slices.size());
  std::iota(order.begin(), order.end(), 0);
  const auto slice = [&](int64_t i) -> const std::vector<T>& { return slices[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return slice(a) < slice(b); });
  std::vector<std::vector<int64_t>> groups;  // equal slices, each group in order of appearance
  for (const int64_t i : order) {
    if (groups.empty() || slice(groups.back()[0]) != slice(i)) groups.emplace_back();
    groups.back().push_back(i);
  }
  if (!sorted) std::sort(groups.begin(), groups.end());
  Distinct d;
  d.inverse.resize(slices.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    d.first.push_back(groups[g][0]);
    d.counts.push_back(static_cast<int64_t>(groups[g].size()));
    for (const int64_t i : groups[g]) d.inverse[static_cast<size_t>(i)] = static_cast<int64_t>(g);
  }
  return d;
}

Result<std::vector<Tensor>> Unique(const UniqueParam& p, const BlobInfo& in) {
  int64_t outer = 1, size = in.shape.NumElements(), inner = 1;
  Shape out{0};
  int axis = 0;
  if (p.has_axis) {
    PLUMB_ASSIGN_OR_RETURN(axis, NormalizeAxis(p.axis, in.shape.rank()));
    outer = in.shape.Count(0, axis);
    size = in.shape[axis];
    inner = in.shape.CountFrom(axis + 1);
    out = in.shape;
  }
  Distinct d;
  if (IsFloat(in.dtype)) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor wide, in.value.ConvertedTo(DType::kF64));
    d = FindDistinct(Slices<double>(wide, outer, size, inner), p.sorted);
  } else {
    PLUMB_ASSIGN_OR_RETURN(const Tensor wide, in.value.ConvertedTo(DType::kI64));
    d = FindDistinct(Slices<int64_t>(wide, outer, size, inner), p.sorted);
  }
  const auto count = static_cast<int64_t>(d.first.size());
  out[axis] = count;
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(in.dtype, out));
  const size_t bytes = static_cast<size_t>(inner) * DTypeSize(in.dtype);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<char*>(y.raw()) + static_cast<size_t>(o * count + i) * bytes,
                  static_cast<const char*>(in.value.raw()) +
                      static_cast<size_t>(o * size + d.first[static_cast<size_t>(i)]) * bytes,
                  bytes);
    }
  }
  std::vector<Tensor> outputs = {y};
  PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), Indices(d.first, {count}));
  PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), Indices(d.inverse, {size}));
  PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), Indices(d.counts, {count}));
  return outputs;
}

struct Box {
  double y0, x0, y1, x1;
  double Area() const { return (y1 - y0) * (x1 - x0); }
};

Box BoxAt(const double* b, bool center) {
  if (center) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

double Overlap(const Box& a, const Box& b) {
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0) return 0;
  return height * width / (a.Area() + b.Area() - height * width);
}

struct Thresholds {
  int64_t most = 0;
  double overlap = 0, score = -INFINITY;
};

// The boxes of one class that stay, best first.
std::vector<int64_t> KeepBest(const std::vector<Box>& boxes, const double* scores, const Thresholds& limit) {
  std::vector<int64_t> order, kept;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (scores[i] > limit.score) order.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (const int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= limit.most) break;
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](int64_t k) {
      return Overlap(boxes[static_cast<size_t>(k)], boxes[static_cast<size_t>(i)]) > limit.overlap;
    });
    if (!covered) kept.push_back(i);
  }
  return kept;
}

Result<std::vector<Tensor>> Suppress(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const Shape &boxes = inputs[0].shape, &scores = inputs[1].shape;
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2]) {
    return Status::InvalidArgument(
        fmt::format("expects boxes [batch, boxes, 4] and scores [batch, classes, boxes], found {} and {}",
                    boxes.ToString(), scores.ToString()));
  }
  Thresholds limit;
  for (size_t i = 2; i < inputs.size(); ++i) {
    if (inputs[i].shape.NumElements() != 1) {
      return Status::InvalidArgument("a threshold must be one number, found " + inputs[i].shape.ToString());
    }
  }
  if (inputs.size() > 2) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor most, inputs[2].value.ConvertedTo(DType::kI64));  // saturates
    limit.most = *most.data<int64_t>();
  }
  if (inputs.size() > 3) limit.overlap = inputs[3].value.ValueAt(0);
  if (inputs.size() > 4) limit.score = inputs[4].value.ValueAt(0);
  PLUMB_ASSIGN_OR_RETURN(const Tensor corners, inputs[0].value.ConvertedTo(DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor all_scores, inputs[1].value.ConvertedTo(DType::kF64));
  const bool center = ParamOf<NonMaxSuppressionParam>(layer).center_point_box;
  std::vector<int64_t> chosen;
  for (int64_t n = 0; n < boxes[0]; ++n) {
    std::vector<Box> candidates;
    for (int64_t i = 0; i < boxes[1]; ++i)
      candidates.push_back(BoxAt(corners.data<double>() + (n * boxes[1] + i) * 4, center));
    for (int64_t c = 0; c < scores[1]; ++c) {
      const double* of_class = all_scores.data<double>() + (n * scores[1] + c) * scores[2];
      for (const int64_t i : KeepBest(candidates, of_class, limit)) chosen.insert(chosen.end(), {n, c, i});
    }
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor out, Indices(chosen, {static_cast<int64_t>(chosen.size() / 3), 3}));
  return std::vector<Tensor>{out};
}

Status InferSelection(ShapeContext& context) {
  const bool boxes = context.layer.kind == OpKind::kPlumbNonMaxSuppression;
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    const char* names[] = {"the boxes", "the scores", "the largest number of boxes", "the IoU threshold",
                           "the score threshold"};
    PLUMB_RETURN_IF_ERROR(RequireKnown(context.inputs[i], boxes ? names[i] : "the values of the input"));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, Select(context.layer, context.inputs));
  for (size_t i = 0; i < outputs.size() && i < context.outputs.size(); ++i) {
    context.outputs[i] = {outputs[i].dtype(), outputs[i].shape(), outputs[i]};
  }
  return Status::Ok();
}

Status InferCompress(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const CompressShape s, ResolveCompress(context.layer, context.inputs));
  context.SetAll(context.inputs[0].dtype, s.out);
  return Status::Ok();
}

OpDef DefineSelection(std::shared_ptr<OpParam> (*make_param)(), Status (*infer)(ShapeContext&)) {
  OpDef op;
  op.make_param = make_param;
  op.infer = infer;
  return op;
}

}  // namespace

Result<std::vector<Tensor>> Select(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  if (layer.kind == OpKind::kPlumbNonZero) return NonZero(inputs[0]);
  if (layer.kind == OpKind::kPlumbUnique) return Unique(ParamOf<UniqueParam>(layer), inputs[0]);
  return Suppress(layer, inputs);
}

Result<CompressShape> ResolveCompress(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const auto& p = ParamOf<CompressParam>(layer);
  const Shape& in = inputs[0].shape;
  PLUMB_RETURN_IF_ERROR(RequireKnown(inputs[1], "the condition"));
  PLUMB_ASSIGN_OR_RETURN(const Tensor truth, inputs[1].value.ConvertedTo(DType::kBool));
  CompressShape s;
  s.size = in.NumElements();
  s.out = Shape{0};
  int axis = 0;
  if (p.has_axis) {
    PLUMB_ASSIGN_OR_RETURN(axis, NormalizeAxis(p.axis, in.rank()));
    s.outer = in.Count(0, axis);
    s.size = in[axis];
    s.inner = in.CountFrom(axis + 1);
    s.out = in;
  }
  for (int64_t i = 0; i < truth.NumElements(); ++i) {
    if (truth.data<bool>()[i]) s.kept.push_back(i);
  }
  if (!s.kept.empty() && s.kept.back() >= s.size) {
    return Status::InvalidArgument(fmt::format("the condition {} is longer than the {} slices of {}",
                                               inputs[1].shape.ToString(), s.size, in.ToString()));
  }
  s.out[axis] = static_cast<int64_t>(s.kept.size());
  return s;
}

OpDef DefinePlumbNonZero() { return DefineSelection(MakeParam<NoParam>, InferSelection); }
OpDef DefinePlumbCompress() {
  OpDef op = DefineSelection(MakeParam<CompressParam>, InferCompress);
  op.moves_data_only = true;
  return op;
}
OpDef DefinePlumbUnique() { return DefineSelection(MakeParam<UniqueParam>, InferSelection); }
OpDef DefinePlumbNonMaxSuppression() { return DefineSelection(MakeParam<NonMaxSuppressionParam>, InferSelection); }

}  // namespace plumb
