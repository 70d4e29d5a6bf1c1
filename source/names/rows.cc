// SPDX-License-Identifier: Apache-2.0
// Cells of operators that look at a row of elements: sums over axes, normalisations. What has no way of its own is a
// function of all that the operator reads, in its order.
#include <fmt/core.h>

#include <algorithm>

#include "names/trace.h"
#include "op/affine.h"
#include "op/arg_max.h"
#include "op/norm.h"
#include "op/pooling.h"
#include "op/reduce.h"
#include "op/softmax.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

// Where the elements of a tensor go that is reduced over some dims, which it keeps as 1.
struct ReducedPlaces {
  Shape shape;
  std::vector<int64_t> steps;  // in the reduced tensor, of each dim
  int64_t terms = 1;
};

ReducedPlaces PlacesOf(const Shape& shape, const std::vector<bool>& reduced) {
  ReducedPlaces places;
  places.shape = shape;
  places.steps.assign(reduced.size(), 0);
  int64_t size = 1;
  for (size_t d = reduced.size(); d-- > 0;) {
    if (reduced[d]) {
      places.terms *= shape.dims()[d];
      places.shape.dims()[d] = 1;
    } else {
      places.steps[d] = size;
      size *= shape.dims()[d];
    }
  }
  return places;
}

Result<Cells> SumOverPlaces(const Cells& x, const ReducedPlaces& places) {
  const std::vector<int64_t>& dims = x.shape().dims();
  PLUMB_ASSIGN_OR_RETURN(const Cells sums, CellsWhere(places.shape, x.scale, [](int64_t) { return Cell{0}; }));
  Tensor held = sums.cells;
  Cell* sum = held.data<Cell>();
  const Cell* from = x.data();
  std::vector<int64_t> at(dims.size(), 0);
  for (int64_t i = 0, count = x.count(), place = 0; i < count; ++i) {
    sum[place] = AddCells(sum[place], from[i]);
    for (size_t d = dims.size(); d-- > 0;) {
      place += places.steps[d];
      if (++at[d] < dims[d]) break;
      place -= places.steps[d] * dims[d];
      at[d] = 0;
    }
  }
  return sums;
}

Result<Cells> MeanOverPlaces(const Cells& x, const ReducedPlaces& places) {
  PLUMB_ASSIGN_OR_RETURN(Cells mean, SumOverPlaces(x, places));
  if (places.terms > 0) mean.scale /= static_cast<double>(places.terms);
  return mean;
}

// A function of the terms in any order.
Result<Cells> FunctionOverPlaces(const std::string& function, const Cells& x, const ReducedPlaces& places,
                                 ConstantTable* constants) {
  PLUMB_ASSIGN_OR_RETURN(const Cells terms, FunctionOfCells(function + " of", x, constants));
  PLUMB_ASSIGN_OR_RETURN(const Cells sum, SumOverPlaces(terms, places));
  return FunctionOfCells(function, sum, constants);
}

Result<Cells> ReducedCells(const std::string& type, const Cells& x, const std::vector<bool>& reduced, const Shape& out,
                           ConstantTable* constants) {
  const ReducedPlaces places = PlacesOf(x.shape(), reduced);
  Cells made;
  if (type == "ReduceSum") {
    PLUMB_ASSIGN_OR_RETURN(made, SumOverPlaces(x, places));
  } else if (type == "ReduceMean") {
    PLUMB_ASSIGN_OR_RETURN(made, MeanOverPlaces(x, places));
  } else if (type == "ReduceSumSquare" || type == "ReduceL2") {
    PLUMB_ASSIGN_OR_RETURN(const Cells squares, ProductOfCells(x, x, x.shape()));
    PLUMB_ASSIGN_OR_RETURN(made, SumOverPlaces(squares, places));
    if (type == "ReduceL2") {
      PLUMB_ASSIGN_OR_RETURN(made, FunctionOfCells("Sqrt", made, constants));
    }
  } else {
    PLUMB_ASSIGN_OR_RETURN(made, FunctionOverPlaces(type, x, places, constants));
  }
  PLUMB_ASSIGN_OR_RETURN(made.cells, made.cells.Reshaped(out));
  return made;
}

Result<Cells> SoftmaxCells(const Cells& x, int axis, ConstantTable* constants) {
  std::vector<bool> reduced(x.shape().dims().size(), false);
  PLUMB_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, x.shape().rank()));
  reduced[static_cast<size_t>(axis)] = true;
  PLUMB_ASSIGN_OR_RETURN(const Cells powers, FunctionOfCells("Exp", x, constants));
  PLUMB_ASSIGN_OR_RETURN(const Cells sum, SumOverPlaces(powers, PlacesOf(x.shape(), reduced)));
  PLUMB_ASSIGN_OR_RETURN(const Cells inverse, InverseOfCells(sum, constants));
  return ProductOfCells(powers, inverse, x.shape());
}

// (x - mean) / sqrt(variance + eps), as exporters write it.
Result<Cells> NormalisedCells(const Cells& x, const std::vector<bool>& reduced, double eps, ConstantTable* constants) {
  const ReducedPlaces places = PlacesOf(x.shape(), reduced);
  PLUMB_ASSIGN_OR_RETURN(Cells mean, MeanOverPlaces(x, places));
  mean.scale = -mean.scale;
  PLUMB_ASSIGN_OR_RETURN(const Cells centred, SumOfCells(x, mean, x.shape(), constants));
  PLUMB_ASSIGN_OR_RETURN(const Cells squares, ProductOfCells(centred, centred, x.shape()));
  PLUMB_ASSIGN_OR_RETURN(Cells variance, MeanOverPlaces(squares, places));
  PLUMB_ASSIGN_OR_RETURN(const Cells added, ConstantCells(eps, constants));
  PLUMB_ASSIGN_OR_RETURN(variance, SumOfCells(variance, added, variance.shape(), constants));
  PLUMB_ASSIGN_OR_RETURN(const Cells deviation, FunctionOfCells("Sqrt", variance, constants));
  PLUMB_ASSIGN_OR_RETURN(const Cells inverse, InverseOfCells(deviation, constants));
  return ProductOfCells(centred, inverse, x.shape());
}

Result<Cells> LayerNormCells(const TracedLayer& traced) {
  const auto& p = ParamOf<LayerNormParam>(traced.layer);
  const Cells& x = traced.inputs[0];
  std::vector<bool> reduced(x.shape().dims().size(), false);
  const size_t dims = std::min(reduced.size(), static_cast<size_t>(std::max(p.reduce_dims_size, 0)));
  std::fill(reduced.end() - static_cast<std::ptrdiff_t>(dims), reduced.end(), true);
  PLUMB_ASSIGN_OR_RETURN(Cells y, NormalisedCells(x, reduced, static_cast<double>(p.eps), traced.constants));
  const std::vector<int64_t>& all = x.shape().dims();
  const Shape row(std::vector<int64_t>(all.end() - static_cast<std::ptrdiff_t>(dims), all.end()));
  std::vector<Cells> parts(traced.inputs.begin() + 1, traced.inputs.end());  // gamma, beta
  for (Cells& part : parts) {
    PLUMB_ASSIGN_OR_RETURN(part.cells, part.cells.Reshaped(row));
  }
  if (!parts.empty()) {
    PLUMB_ASSIGN_OR_RETURN(y, ProductOfCells(y, parts[0], x.shape()));
  }
  if (parts.size() > 1) {
    PLUMB_ASSIGN_OR_RETURN(y, SumOfCells(y, parts[1], x.shape(), traced.constants));
  }
  return y;
}

Result<Cells> AffineCells(const TracedLayer& traced) {
  const Cells& x = traced.inputs[0];
  PLUMB_ASSIGN_OR_RETURN(const AffineShape affine, ResolveAffine(traced.layer, x.shape()));
  Cells y = x;
  if (affine.scale != nullptr) {
    PLUMB_ASSIGN_OR_RETURN(const Cells factor, PerChannel(*affine.scale, affine.inner, x.shape(), traced.constants));
    PLUMB_ASSIGN_OR_RETURN(y, ProductOfCells(x, factor, x.shape()));
  }
  return WithBias(y, affine.bias, affine.inner, traced.constants);
}

// The place of the largest of each row, by all that the row holds.
Result<Cells> ArgMaxCells(const TracedLayer& traced) {
  const auto& p = ParamOf<ArgMaxParam>(traced.layer);
  const Cells& x = traced.inputs[0];
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, x.shape().rank()));
  PLUMB_ASSIGN_OR_RETURN(const Cells baked, Baked(x, traced.constants));
  const Cell function = CellOfText(fmt::format("place {} {}", p.mode, p.select_last_index));
  const int64_t inner = x.shape().CountFrom(axis + 1), count = x.shape()[axis];
  const Cell* from = baked.data();
  return CellsWhere(traced.outputs[0].shape, 1, [=](int64_t i) {
    return MixCells(function, OrderedSum(from + i / inner * count * inner + i % inner, count, inner));
  });
}

bool IsGlobal(const PoolingShape& pool) {
  const auto whole = [](const WindowAxis& axis) {
    return axis.out == 1 && axis.kernel == axis.in && axis.pad_begin == 0 && axis.pad_end == 0;
  };
  return !pool.adaptive && whole(pool.window.h) && whole(pool.window.w);
}

}  // namespace

CellsMark MarkOfCells(const Cells& x, ConstantTable* constants) {
  CellsMark mark;
  mark.count = x.count();
  mark.shape = x.shape();
  const Cell factor = CellOfNumber(constants->Number(x.scale));
  const Cell base = PowerOfBase(1);
  const Cell* from = x.data();
  for (int64_t i = 0; i < mark.count; ++i) {
    const Cell cell = MultiplyCells(from[i], factor);
    mark.ordered = AddCells(MultiplyCells(mark.ordered, base), cell);
    mark.any_order = AddCells(mark.any_order, MixCells(1, cell));
  }
  return mark;
}

Result<std::vector<Cells>> TraceRows(const TracedLayer& traced) {
  const Layer& layer = traced.layer;
  const Cells& x = traced.inputs[0];
  std::vector<Cells> outputs;
  Result<Cells> made = Cells();
  switch (layer.kind) {
    case OpKind::kSoftmax: made = SoftmaxCells(x, ParamOf<SoftmaxParam>(layer).axis, traced.constants); break;
    case OpKind::kArgMaxOrMin: made = ArgMaxCells(traced); break;
    case OpKind::kLayerNorm: made = LayerNormCells(traced); break;
    case OpKind::kBatchNormCxx:
    case OpKind::kScale:
    case OpKind::kBiasAdd: made = AffineCells(traced); break;
#define PLUMB_REDUCE(name, ...) case OpKind::k##name:
#include "op/reduce.def"
#undef PLUMB_REDUCE
      {
        PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> reduced,
                               ReducedDims(ParamOf<ReduceParam>(layer), x.shape().rank()));
        made = ReducedCells(layer.type, x, reduced, traced.outputs[0].shape, traced.constants);
        break;
      }
    case OpKind::kPooling:
    case OpKind::kPlumbAveragePool: {
      PLUMB_ASSIGN_OR_RETURN(const PoolingShape pool, ResolvePooling(layer, x.shape()));
      if (!IsGlobal(pool) || x.shape().rank() != 4) return outputs;
      made = ReducedCells(pool.average ? "ReduceMean" : "ReduceMax", x, {false, false, true, true},
                          traced.outputs[0].shape, traced.constants);
      break;
    }
    default: return outputs;
  }
  PLUMB_RETURN_IF_ERROR(made.status());
  outputs.push_back(*made);
  return outputs;
}

Result<std::vector<Cells>> TraceWhole(const TracedLayer& traced) {
  Cell function = CellOfText(traced.layer.type);
  for (const auto& [name, value] : ListParams(traced.layer))
    function = MixCells(function, CellOfText(name + "=" + value));
  for (const auto& [slot, value] : traced.layer.resources)
    function = MixCells(MixCells(function, CellOfText(slot)), ContentOf(value));
  for (const Cells& x : traced.inputs) {
    for (const int64_t dim : x.shape().dims()) function = MixCells(function, static_cast<Cell>(dim));
    function = MixCells(function, MarkOfCells(x, traced.constants).ordered);
  }
  std::vector<Cells> outputs;
  for (const BlobInfo& info : traced.outputs) {
    const Cell output = MixCells(function, outputs.size());
    PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), CellsWhere(info.shape, 1, [=](int64_t i) {
                             return MixCells(output, static_cast<Cell>(i));
                           }));
  }
  return outputs;
}

}  // namespace plumb
