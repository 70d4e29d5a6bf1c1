// SPDX-License-Identifier: Apache-2.0
// Cells of products: of matrices, of a matrix and weights, and convolutions. The bias and the activation that a layer
// holds are steps behind it. A convolution of one pixel is a product of matrices.
#include <algorithm>

#include "names/trace.h"
#include "op/convolution.h"
#include "op/inner_product.h"
#include "op/matmul.h"

namespace plumb {
namespace {

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

// An image one pixel wide or high is a row, whatever the axis is called.
void OneDimensionLast(Window2D* window) {
  const auto one = [](const WindowAxis& axis) {
    return axis.in == 1 && axis.kernel == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  };
  if (one(window->w)) std::swap(window->h, window->w);
  if (one(window->h)) window->h.stride = window->h.dilation = 1;
}

bool IsPointwise(const ConvolutionShape& shape) {
  const auto one = [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  };
  return shape.group == 1 && one(shape.window.h) && one(shape.window.w);
}

// A convolution of one pixel is the product of weights and channels at each pixel.
Result<Cells> PointwiseCells(const TracedLayer& traced, const ConvolutionShape& shape, const Tensor& weight) {
  Cells x = traced.inputs[0];
  PLUMB_ASSIGN_OR_RETURN(x.cells, x.cells.Reshaped({shape.batch, shape.in_channels, x.shape().CountFrom(2)}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor shaped, weight.Reshaped({shape.out_channels, shape.in_channels}));
  PLUMB_ASSIGN_OR_RETURN(const Cells constant, traced.constants->CellsOf(shaped));
  PLUMB_ASSIGN_OR_RETURN(Cells y, MatrixProduct(constant, x, {shape.batch, shape.out_channels, x.shape()[2]}));
  PLUMB_ASSIGN_OR_RETURN(y.cells, y.cells.Reshaped(traced.outputs[0].shape));
  return y;
}

Result<Cells> FinishConvolution(const TracedLayer& traced, const ConvolutionShape& shape, const Cells& product) {
  const Tensor* bias = shape.bias ? traced.layer.Resource("bias") : nullptr;
  PLUMB_ASSIGN_OR_RETURN(const Cells y, WithBias(product, bias, product.shape().CountFrom(2), traced.constants));
  if (shape.activation == kActivationReLU) return ClippedCells(0, 1e30, y, traced.constants);
  if (shape.activation == kActivationReLU6) return ClippedCells(0, 6, y, traced.constants);
  return shape.activation == kActivationSwish ? SwishOfCells(y, traced.constants) : y;
}

Result<Cells> ConvolutionCells(const TracedLayer& traced) {
  const Cells& x = traced.inputs[0];
  const Tensor* weight = traced.layer.Resource("weight");
  PLUMB_ASSIGN_OR_RETURN(ConvolutionShape shape, ResolveConvolution(traced.layer, x.shape()));
  OneDimensionLast(&shape.window);
  if (weight == nullptr) return Status::Internal("a convolution has no weights");
  const Tensor standing = traced.constants->Standing(*weight);
  if (IsPointwise(shape)) {
    PLUMB_ASSIGN_OR_RETURN(const Cells y, PointwiseCells(traced, shape, standing));
    return FinishConvolution(traced, shape, y);
  }
  Cell function = MixCells(CellOfText("convolution"), ContentOf(standing));
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
  return FinishConvolution(traced, shape, y);
}

}  // namespace

Cell OrderedSum(const Cell* cells, int64_t count, int64_t step) {
  const Cell base = PowerOfBase(1);
  Cell sum = 0;
  for (int64_t i = 0; i < count; ++i) sum = AddCells(MultiplyCells(sum, base), cells[i * step]);
  return sum;
}

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

Result<std::vector<Cells>> TraceProducts(const TracedLayer& traced) {
  std::vector<Cells> outputs;
  switch (traced.layer.kind) {
    case OpKind::kMatMul: {
      PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), MatMulCells(traced));
      break;
    }
    case OpKind::kInnerProduct: {
      PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), InnerProductCells(traced));
      break;
    }
    case OpKind::kConvolution:
    case OpKind::kConvolution1D: {
      PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), ConvolutionCells(traced));
      break;
    }
    default: break;
  }
  return outputs;
}

}  // namespace plumb
