// SPDX-License-Identifier: Apache-2.0
// Cells of operators that look at more than one element: products, sums over axes, normalisations. What is here nothing
// of its own is a function of all that the operator reads, in its order.
#include <algorithm>

#include "op/affine.h"
#include "op/convolution.h"
#include "op/inner_product.h"
#include "op/matmul.h"
#include "op/norm.h"
#include "op/pooling.h"
#include "op/reduce.h"
#include "op/softmax.h"
#include "plumb/tool/support.h"
#include "session/name_trace.h"

namespace plumb {
namespace {

// The sum over `count` cells, `step` apart, each times a power of the base: their order counts.
Cell OrderedSum(const Cell* cells, int64_t count, int64_t step) {
  const Cell base = PowerOfBase(1);
  Cell sum = 0;
  for (int64_t i = 0; i < count; ++i) sum = AddCells(MultiplyCells(sum, base), cells[i * step]);
  return sum;
}

// For each element, which element of the reduced tensor it belongs to; the tensor keeps the reduced dims as 1.
struct ReducedPlaces {
  Shape shape;
  std::vector<int64_t> place;
  int64_t terms = 1;
};

ReducedPlaces PlacesOf(const Shape& shape, const std::vector<bool>& reduced) {
  ReducedPlaces places;
  places.shape = shape;
  std::vector<int64_t> step(reduced.size(), 0);
  int64_t size = 1;
  for (size_t d = reduced.size(); d-- > 0;) {
    if (reduced[d]) {
      places.terms *= shape.dims()[d];
      places.shape.dims()[d] = 1;
    } else {
      step[d] = size;
      size *= shape.dims()[d];
    }
  }
  places.place.assign(static_cast<size_t>(shape.NumElements()), 0);
  for (size_t i = 0; i < places.place.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (size_t d = reduced.size(); d-- > 0; rest /= shape.dims()[d])
      places.place[i] += rest % shape.dims()[d] * step[d];
  }
  return places;
}

Result<Cells> SumOverPlaces(const Cells& x, const ReducedPlaces& places) {
  Cells out;
  out.scale = x.scale;
  PLUMB_ASSIGN_OR_RETURN(out.cells, NewCells(places.shape));
  Cell* sums = out.cells.data<Cell>();
  std::fill(sums, sums + out.count(), Cell{0});
  const Cell* from = x.data();
  for (const int64_t place : places.place) sums[place] = AddCells(sums[place], *from++);
  return out;
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
  if (traced.inputs.size() > 1) {
    PLUMB_ASSIGN_OR_RETURN(y, ProductOfCells(y, traced.inputs[1], x.shape()));
  }
  if (traced.inputs.size() > 2) {
    PLUMB_ASSIGN_OR_RETURN(y, SumOfCells(y, traced.inputs[2], x.shape(), traced.constants));
  }
  return y;
}

// Constants that the channels of a tensor share.
Result<Cells> PerChannel(const Tensor& value, int64_t inner, const Shape& shape, ConstantTable* constants) {
  PLUMB_ASSIGN_OR_RETURN(const Cells cells, constants->CellsOf(value));
  const Cell* from = cells.data();
  const int64_t channels = cells.count();
  return CellsWhere(shape, cells.scale, [=](int64_t i) { return from[i / inner % channels]; });
}

Result<Cells> WithBias(const Cells& x, const Tensor* bias, int64_t inner, ConstantTable* constants) {
  if (bias == nullptr || bias->NumElements() == 0) return x;
  PLUMB_ASSIGN_OR_RETURN(const Cells added, PerChannel(*bias, inner, x.shape(), constants));
  return SumOfCells(x, added, x.shape(), constants);
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

// One element for each row of x and column of y.
Result<Cells> MatrixProduct(const Cells& x, const Cells& y, const Shape& out) {
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ResolveMatMul(x.shape(), y.shape()));
  Cells made;
  made.scale = x.scale * y.scale;
  PLUMB_ASSIGN_OR_RETURN(made.cells, NewCells(out));
  const int64_t matrix = shape.m * shape.n;
  std::vector<Cell> rows(static_cast<size_t>(shape.m)), columns(static_cast<size_t>(shape.n));
  const Cell function = CellOfText("product");
  for (size_t b = 0; b < shape.first_matrix.size(); ++b) {
    const Cell* first = x.data() + shape.first_matrix[b] * shape.m * shape.k;
    const Cell* second = y.data() + shape.second_matrix[b] * shape.k * shape.n;
    for (int64_t i = 0; i < shape.m; ++i) rows[static_cast<size_t>(i)] = OrderedSum(first + i * shape.k, shape.k, 1);
    for (int64_t i = 0; i < shape.n; ++i) columns[static_cast<size_t>(i)] = OrderedSum(second + i, shape.k, shape.n);
    Cell* cells = made.cells.data<Cell>() + static_cast<int64_t>(b) * matrix;
    for (int64_t i = 0; i < matrix; ++i) {
      const Cell row = rows[static_cast<size_t>(i / shape.n)], column = columns[static_cast<size_t>(i % shape.n)];
      cells[i] = MixCells(function, MultiplyCells(row, column));
    }
  }
  return made;
}

Result<Cells> MatMulCells(const TracedLayer& traced) {
  const Tensor* weight = traced.layer.Resource("weight");
  if (traced.inputs.size() > 1) return MatrixProduct(traced.inputs[0], traced.inputs[1], traced.outputs[0].shape);
  if (weight == nullptr) return Status::Internal("a matrix product has one operand");
  PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(traced.layer, {traced.infos[0].shape}));
  const bool first = ParamOf<MatMulParam>(traced.layer).weight_position == 0;
  PLUMB_ASSIGN_OR_RETURN(const Tensor shaped, weight->Reshaped(first ? operands.first : operands.second));
  PLUMB_ASSIGN_OR_RETURN(const Cells constant, traced.constants->CellsOf(shaped));
  const Cells& x = traced.inputs[0];
  return MatrixProduct(first ? constant : x, first ? x : constant, traced.outputs[0].shape);
}

Result<Cells> InnerProductCells(const TracedLayer& traced) {
  const auto& p = ParamOf<InnerProductParam>(traced.layer);
  const Tensor* weight = traced.layer.Resource("weight");
  Cells x = traced.inputs[0];
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, std::max(x.shape().rank(), 1)));
  const int64_t rows = x.shape().Count(0, axis), terms = x.shape().CountFrom(axis);
  if (weight == nullptr || weight->NumElements() != p.num_output * terms)
    return Status::Internal("a product's weights do not fit");
  PLUMB_ASSIGN_OR_RETURN(x.cells, x.cells.Reshaped({rows, terms}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor shaped, weight->Reshaped({p.num_output, terms}));
  PLUMB_ASSIGN_OR_RETURN(const Cells constant, traced.constants->CellsOf(shaped));
  const Cell* from = constant.data();
  const int64_t width = p.num_output;
  PLUMB_ASSIGN_OR_RETURN(const Cells turned, CellsWhere({terms, width}, constant.scale, [=](int64_t i) {
                           return from[i % width * terms + i / width];
                         }));
  PLUMB_ASSIGN_OR_RETURN(const Cells product, MatrixProduct(x, turned, {rows, p.num_output}));
  PLUMB_ASSIGN_OR_RETURN(Cells y, WithBias(product, traced.layer.Resource("bias"), 1, traced.constants));
  PLUMB_ASSIGN_OR_RETURN(y.cells, y.cells.Reshaped(traced.outputs[0].shape));
  return y;
}

// What an image holds with its pads, as one number: a pad in front and one of the convolution's own are the same.
Cell PaddedImage(const Cell* image, int64_t channels, const Window2D& window) {
  const int64_t height = window.h.in + window.h.pad_begin + window.h.pad_end;
  const int64_t width = window.w.in + window.w.pad_begin + window.w.pad_end;
  const Cell base = PowerOfBase(1);
  Cell sum = MixCells(static_cast<Cell>(height), static_cast<Cell>(width));
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t h = 0; h < window.h.in; ++h) {
      const int64_t at = (c * height + h + window.h.pad_begin) * width + window.w.pad_begin;
      Cell power = PowerOfBase(static_cast<uint64_t>(at));
      for (int64_t w = 0; w < window.w.in; ++w, power = MultiplyCells(power, base))
        sum = AddCells(sum, MultiplyCells(power, *image++));
    }
  }
  return sum;
}

Result<Cells> ConvolutionCells(const TracedLayer& traced) {
  const Cells& x = traced.inputs[0];
  const Tensor* weight = traced.layer.Resource("weight");
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(traced.layer, x.shape()));
  if (weight == nullptr) return Status::Internal("a convolution has no weights");
  Cell function = MixCells(CellOfText("convolution"), traced.constants->ContentOf(*weight));
  for (const int64_t number : {shape.group, shape.window.h.kernel, shape.window.w.kernel, shape.window.h.stride,
                               shape.window.w.stride, shape.window.h.dilation, shape.window.w.dilation})
    function = MixCells(function, static_cast<Cell>(number));
  Cells y;
  y.scale = x.scale;
  PLUMB_ASSIGN_OR_RETURN(y.cells, NewCells(traced.outputs[0].shape));
  const int64_t in = x.count() / std::max<int64_t>(shape.batch, 1), out = y.count() / std::max<int64_t>(shape.batch, 1);
  Cell* cells = y.cells.data<Cell>();
  for (int64_t n = 0; n < shape.batch; ++n) {
    const Cell image = MixCells(function, PaddedImage(x.data() + n * in, shape.in_channels, shape.window));
    for (int64_t i = 0; i < out; ++i) cells[n * out + i] = MixCells(image, static_cast<Cell>(i));
  }
  const int64_t inner = out / std::max<int64_t>(shape.out_channels, 1);
  PLUMB_ASSIGN_OR_RETURN(y, WithBias(y, shape.bias ? traced.layer.Resource("bias") : nullptr, inner, traced.constants));
  if (shape.activation == kActivationReLU) return ClippedCells(0, 1e30, y, traced.constants);
  if (shape.activation == kActivationReLU6) return ClippedCells(0, 6, y, traced.constants);
  return shape.activation == kActivationSwish ? SwishOfCells(y, traced.constants) : y;
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
    case OpKind::kMatMul: made = MatMulCells(traced); break;
    case OpKind::kInnerProduct: made = InnerProductCells(traced); break;
    case OpKind::kConvolution:
    case OpKind::kConvolution1D: made = ConvolutionCells(traced); break;
    case OpKind::kSoftmax: made = SoftmaxCells(x, ParamOf<SoftmaxParam>(layer).axis, traced.constants); break;
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
    function = MixCells(MixCells(function, CellOfText(slot)), traced.constants->ContentOf(value));
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
