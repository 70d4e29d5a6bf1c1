// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "check/integer/cut_group.h"
#include "check/integer/step_reader.h"
#include "op/binary.h"
#include "op/concat.h"
#include "op/pooling.h"
#include "op/reduce.h"
#include "op/softmax.h"

namespace plumb {
namespace {

// How many places of a window lie inside.
int64_t CountOf(const WindowAxis& axis, int64_t at) {
  const int64_t begin = at * axis.stride - axis.pad_begin;
  return std::min(axis.in, begin + axis.kernel) - std::max<int64_t>(0, begin);
}

}  // namespace

Result<IntegerOperand> StepReader::ConstantOperand(const Tensor& values) const {
  PLUMB_ASSIGN_OR_RETURN(const WholeConstant constant, WholeConstantOf(scene_, values));
  const float* scale = constant.scale.data<float>();
  if (std::any_of(scale, scale + constant.scale.NumElements(), [&](float s) { return s != scale[0]; }))
    return Status::NotSupported("a constant of several scales");
  return IntegerOperand{constant.whole, scale[0], constant.zero, false};
}

Status StepReader::ReadPair(const Layer& base, IntegerForm form) {
  std::vector<IntegerOperand> read;
  const auto constant = [&](size_t slot) { return scene_.blobs->at(base.inputs[slot]).value; };
  if (base.inputs.size() == 2 && constant(0).empty() && constant(1).empty()) {
    PLUMB_ASSIGN_OR_RETURN(read, sources_.Take(base.inputs));
  } else {
    const Tensor* element = base.Resource("element");
    if (element == nullptr && base.inputs.size() != 2) return Status::NotSupported("one operand");
    int place = ParamOf<BinaryParam>(base).weight_input_index;
    if (element == nullptr) place = constant(0).empty() ? 1 : 0;
    const auto slot = static_cast<size_t>(place == 0 ? 0 : 1);
    PLUMB_ASSIGN_OR_RETURN(const IntegerOperand known, ConstantOperand(element != nullptr ? *element : constant(slot)));
    PLUMB_ASSIGN_OR_RETURN(read, sources_.Take({base.inputs[element != nullptr ? 0 : 1 - slot]}));
    read.insert(read.begin() + static_cast<std::ptrdiff_t>(slot), known);
  }
  for (IntegerOperand& operand : read) {
    operand.broadcast = operand.whole.NumElements() != step_.shape.NumElements();
    PLUMB_ASSIGN_OR_RETURN(operand.whole, BroadcastTo(operand.whole, step_.shape));
  }
  step_.operands = std::move(read);
  step_.form = form;
  return Status::Ok();
}

Result<Tensor> StepReader::BroadcastTo(const Tensor& tensor, const Shape& shape) const {
  if (tensor.NumElements() == shape.NumElements()) return tensor.Reshaped(shape);
  PLUMB_ASSIGN_OR_RETURN(Tensor all, Tensor::Create(DType::kF64, shape));
  const int missing = shape.rank() - tensor.shape().rank();
  if (missing < 0) return Status::NotSupported("more dims than the result");
  for (int64_t i = 0; i < all.NumElements(); ++i) {
    int64_t from = 0;
    for (int axis = 0; axis < tensor.shape().rank(); ++axis) {
      const int64_t dim = tensor.shape()[axis], at = i / shape.CountFrom(missing + axis + 1) % shape[missing + axis];
      if (dim != 1 && dim != shape[missing + axis]) return Status::NotSupported("it does not broadcast");
      from = from * dim + (dim == 1 ? 0 : at);
    }
    all.data<double>()[i] = tensor.data<double>()[from];
  }
  return all;
}

Status StepReader::ReadMean(const Layer& base) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<IntegerOperand> x, sources_.Take({base.inputs[0]}));
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape pool, ResolvePooling(base, x[0].whole.shape()));
  const WindowAxis &h = pool.window.h, &w = pool.window.w;
  const bool all = h.out == 1 && w.out == 1 && h.kernel == h.in && w.kernel == w.in && h.pad_begin + h.pad_end == 0 &&
                   w.pad_begin + w.pad_end == 0;
  if (!pool.average || pool.adaptive || (pool.count_include_pad && !all)) return Status::NotSupported("no mean");
  step_.count = h.in * w.in;
  step_.form = all ? IntegerForm::kMean : IntegerForm::kWindowMean;
  step_.window = pool.window;
  step_.x = x[0];
  PLUMB_RETURN_IF_ERROR(SumUp({&base}, {x[0].whole}));
  PLUMB_ASSIGN_OR_RETURN(x[0].whole, step_.sums.Clone());
  for (int64_t i = 0; i < x[0].whole.NumElements(); ++i) {
    const int64_t count = all ? step_.count : CountOf(h, i / w.out % h.out) * CountOf(w, i % w.out);
    if (!all) step_.counts.push_back(count);
    double& sum = x[0].whole.data<double>()[i];
    sum = std::nearbyint(sum * static_cast<double>(count));
  }
  step_.operands = std::move(x);
  return Status::Ok();
}

Status StepReader::ReadReduced(const Layer& base, IntegerForm form) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<IntegerOperand> x, sources_.Take({base.inputs[0]}));
  PLUMB_RETURN_IF_ERROR(SumUp({&base}, {x[0].whole}));
  const int64_t means = step_.sums.NumElements();
  if (base.inputs.size() != 1 || means < 1 || x[0].whole.NumElements() % means != 0)
    return Status::NotSupported("no sums of equal size");
  step_.count = x[0].whole.NumElements() / means;
  PLUMB_ASSIGN_OR_RETURN(x[0].whole, step_.sums.Clone());
  for (int64_t i = 0; i < means; ++i) {
    double& sum = x[0].whole.data<double>()[i];
    if (form == IntegerForm::kReduceMean) sum = std::nearbyint(sum * static_cast<double>(step_.count));
  }
  step_.operands = std::move(x);
  step_.form = form;
  return Status::Ok();
}

Status StepReader::ReadOfOne(const Layer& base, IntegerForm form) {
  if (base.inputs.size() != 1) return Status::NotSupported("several inputs");
  PLUMB_ASSIGN_OR_RETURN(step_.operands, sources_.Take({base.inputs[0]}));
  step_.base = base;
  step_.form = form;
  return Status::Ok();
}

Status StepReader::ReadPRelu(const Layer& base) {
  const Tensor* slope = base.Resource("slope");
  if (slope == nullptr) return Status::NotSupported("no slope");
  PLUMB_RETURN_IF_ERROR(ReadOfOne(base, IntegerForm::kElement));
  const auto constant = WholeConstantOf(scene_, *slope);
  if (!constant.ok()) return Status::Ok();
  const int64_t channels = slope->NumElements(), inner = step_.shape.CountFrom(2);
  if (channels != 1 && channels != step_.shape.DimOrOne(1)) return Status::NotSupported("other slopes");
  PLUMB_ASSIGN_OR_RETURN(Tensor all, Tensor::Create(DType::kF64, step_.shape));
  for (int64_t i = 0; i < all.NumElements(); ++i)
    all.data<double>()[i] = constant->whole.data<double>()[i / inner % channels];
  step_.operands.push_back({all, constant->scale.data<float>()[0], constant->zero, true});
  step_.form = IntegerForm::kPRelu;
  return Status::Ok();
}

Status StepReader::ReadSelectedPRelu(const Layer& base) {
  const Layer *times = MakerOf(base.inputs[0], OpKind::kMul), *less = MakerOf(base.inputs[2], OpKind::kLess);
  if (less == nullptr || times == nullptr) return Status::NotSupported("no PReLU");
  const bool of_x = less->inputs[0] == base.inputs[1] && times->inputs[0] == base.inputs[1];
  return of_x ? ReadPair(*times, IntegerForm::kPRelu) : Status::NotSupported("no PReLU");
}

Status StepReader::ReadSoftmax(const Layer& base, IntegerForm form) {
  std::string blob = base.inputs[0];
  if (const Layer* times = MakerOf(blob, OpKind::kMul)) {
    const Tensor* element = times->Resource("element");
    if (element == nullptr || times->inputs.size() != 1 || element->NumElements() != 1)
      return Status::NotSupported("several factors");
    step_.beta = static_cast<float>(element->ValueAt(0));
    blob = times->inputs[0];
  }
  PLUMB_ASSIGN_OR_RETURN(step_.operands, sources_.Take({blob}));
  PLUMB_ASSIGN_OR_RETURN(step_.axis, NormalizeAxis(ParamOf<SoftmaxParam>(base).axis, step_.shape.rank()));
  step_.form = form;
  return Status::Ok();
}

Status StepReader::ReadNorm(const Layer& base) {
  const Status none = Status::NotSupported("no norm");
  if (base.inputs.size() != 2) return none;
  const std::string& x = base.inputs[0];
  const Layer* least = MakerOf(base.inputs[1], OpKind::kMaximum);
  const Layer* root = least == nullptr ? nullptr : MakerOf(least->inputs[0], OpKind::kSqrt);
  const Layer* sum = root == nullptr ? nullptr : MakerOf(root->inputs[0], OpKind::kReduceSum);
  const Layer* square = sum == nullptr ? nullptr : MakerOf(sum->inputs[0], OpKind::kMul);
  if (square == nullptr || square->inputs != std::vector<std::string>{x, x}) return none;
  const auto& p = ParamOf<ReduceParam>(*sum);
  if (p.axes.size() != 1) return none;
  PLUMB_ASSIGN_OR_RETURN(step_.operands, sources_.Take({x}));
  PLUMB_ASSIGN_OR_RETURN(step_.axis, NormalizeAxis(p.axes[0], step_.shape.rank()));
  step_.form = IntegerForm::kNorm;
  return Status::Ok();
}

Status StepReader::ReadRequantised(const Layer& dequantize) {
  PLUMB_ASSIGN_OR_RETURN(step_.operands, sources_.Take({dequantize.outputs[0]}));
  step_.form = IntegerForm::kRequantise;
  return Status::Ok();
}

Status StepReader::ReadJoined(const Layer& base) {
  PLUMB_ASSIGN_OR_RETURN(step_.axis, NormalizeAxis(ParamOf<ConcatParam>(base).axis, step_.shape.rank()));
  for (const std::string& blob : base.inputs) {
    if (!scene_.blobs->at(blob).value.empty()) return Status::NotSupported("a constant part");
    PLUMB_ASSIGN_OR_RETURN(std::vector<IntegerOperand> read, sources_.Take({blob}));
    step_.operands.push_back(std::move(read[0]));
  }
  step_.form = IntegerForm::kJoin;
  return Status::Ok();
}

Status StepReader::ReadSquaredDifference(const Layer& base) {
  if (base.inputs.size() != 2 || base.inputs[0] != base.inputs[1]) return Status::NotFound("no square");
  const Layer* difference = MakerOf(base.inputs[0], OpKind::kSub);
  return difference == nullptr ? Status::NotFound("no difference")
                               : ReadPair(*difference, IntegerForm::kSquaredDifference);
}

}  // namespace plumb
