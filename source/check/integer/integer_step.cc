// SPDX-License-Identifier: Apache-2.0
#include "check/integer/integer_step.h"

#include <algorithm>
#include <cmath>

#include "check/integer/cut_group.h"
#include "check/integer/step_sources.h"
#include "check/integer/whole_constants.h"
#include "op/activation.h"
#include "op/binary.h"
#include "op/convolution.h"
#include "op/matmul.h"
#include "op/pooling.h"
#include "op/quantize_linear.h"
#include "op/softmax.h"

namespace plumb {
namespace {

class StepReader {
 public:
  StepReader(const Scene& scene, const LayerGroup& group, const std::vector<Tensor>& inputs)
      : scene_(scene), group_(group), inputs_(inputs), sources_(scene, group, inputs) {}

  Result<IntegerStep> Read(const std::string& blob) {
    const int maker = MakerIn(group_, blob);
    if (maker < 0 || MemberAt(maker).kind != OpKind::kPlumbQuantizeLinear)
      return Status::NotSupported("no QuantizeLinear makes it");
    PLUMB_RETURN_IF_ERROR(ReadResult(MemberAt(maker)));
    PLUMB_ASSIGN_OR_RETURN(const Layer* const base, ReadTail(MemberAt(maker).inputs[0]));
    step_.shape = scene_.blobs->at(base->outputs[0]).shape;
    PLUMB_RETURN_IF_ERROR(ReadForm(*base));
    return std::move(step_);
  }

 private:
  const Layer& MemberAt(int i) const { return *group_.members[static_cast<size_t>(i)]; }

  Status ReadResult(const Layer& quantize) {
    const auto scale = OneNumber(scene_, quantize.inputs[1]);
    const auto zero = quantize.inputs.size() > 2 ? OneNumber(scene_, quantize.inputs[2]) : std::optional<double>(0);
    if (!scale.has_value() || !zero.has_value() || !(*scale > 0) || !std::isfinite(*scale))
      return Status::NotSupported("a scale that is not one number");
    std::vector<BlobInfo> infos;
    for (const std::string& blob : quantize.inputs) infos.push_back(scene_.blobs->at(blob));
    PLUMB_ASSIGN_OR_RETURN(const QuantShape range, ResolveQuant(quantize, infos));
    if (*zero < static_cast<double>(range.low) || *zero > static_cast<double>(range.high))
      return Status::NotSupported("a zero point outside of its range");
    step_.scale = static_cast<float>(*scale);
    step_.zero = static_cast<int64_t>(*zero);
    step_.low = range.low;
    step_.high = range.high;
    return Status::Ok();
  }

  // A limit in steps of the result.
  float Limit(float value) const {
    const double steps = std::nearbyint(static_cast<double>(value / step_.scale));
    return static_cast<float>(
        std::clamp(steps, static_cast<double>(step_.low - step_.zero), static_cast<double>(step_.high - step_.zero)));
  }

  // The layer, where it commutes with rounding: what moves values, takes the largest or limits them.
  std::optional<Layer> InSteps(const Layer& layer) const {
    Layer copy = layer;
    const auto limited = [&](float low, float high) {
      auto param = std::make_shared<ClipParam>();
      param->min = Limit(low), param->max = Limit(high);
      copy.kind = OpKind::kClip;
      copy.param = param;
    };
    switch (layer.kind) {
      case OpKind::kReLU: return copy;
      case OpKind::kReLU6: limited(0, 6); return copy;
      case OpKind::kClip: {
        const auto& p = ParamOf<ClipParam>(layer);
        if (std::isnan(p.min) || std::isnan(p.max)) return std::nullopt;
        limited(p.min, p.max);
        return copy;
      }
      case OpKind::kPooling:
        return ParamOf<PoolingParam>(layer).pool_type == kPoolMax ? std::optional<Layer>(copy) : std::nullopt;
      default: break;
    }
    if (!GetOp(layer.kind).moves_data_only || layer.inputs.empty()) return std::nullopt;
    for (size_t slot = 1; slot < layer.inputs.size(); ++slot) {
      if (HoldsMoved(layer, slot) || MakerIn(group_, layer.inputs[slot]) >= 0) return std::nullopt;
    }
    return copy;
  }

  // Fills the tail; the operator in front of it.
  Result<const Layer*> ReadTail(std::string blob) {
    std::vector<int> members;
    int maker = MakerIn(group_, blob);
    for (; maker >= 0; maker = MakerIn(group_, blob)) {
      std::optional<Layer> moved = InSteps(MemberAt(maker));
      if (!moved.has_value()) break;
      step_.tail_layers.insert(step_.tail_layers.begin(), std::move(*moved));
      members.insert(members.begin(), maker);
      blob = MemberAt(maker).inputs[0];
    }
    if (maker < 0) return Status::NotSupported("no operator");
    for (size_t t = 0; t < members.size(); ++t) {
      if (t == 0) step_.tail.inputs.push_back({0, 0, blob}), step_.tail_inputs.emplace_back();
      for (size_t i = 0; i < group_.inputs.size(); ++i) {
        LayerGroup::Port port = group_.inputs[i];
        if (port.member != members[t]) continue;
        port.member = static_cast<int>(t);
        step_.tail.inputs.push_back(port);
        step_.tail_inputs.push_back(inputs_[i]);
      }
    }
    if (!members.empty())
      step_.tail.outputs = {{static_cast<int>(members.size()) - 1, 0, step_.tail_layers.back().outputs[0]}};
    return &MemberAt(maker);
  }

  Status ReadForm(const Layer& base) {
    switch (base.kind) {
      case OpKind::kConvolution:
        if (ParamOf<ConvolutionParam>(base).activation != kActivationNone) break;
        return ReadProduct(base);
      case OpKind::kDeconvolution:
        if (ParamOf<ConvolutionParam>(base).activation != kActivationNone || ParamOf<ConvolutionParam>(base).group != 1)
          break;
        return ReadProduct(base);
      case OpKind::kConvolution1D:
        if (ParamOf<Convolution1DParam>(base).activation != kActivationNone) break;
        return ReadProduct(base);
      case OpKind::kInnerProduct: return ReadProduct(base);
      case OpKind::kMatMul: return base.inputs.size() == 2 ? ReadProductOfTwo(base) : ReadProduct(base);
      case OpKind::kAdd: return ReadPair(base, IntegerForm::kSum);
      case OpKind::kSub: step_.subtracts = true; return ReadPair(base, IntegerForm::kSum);
      case OpKind::kMul: return ReadScaledSums(base).ok() ? Status::Ok() : ReadPair(base, IntegerForm::kTimes);
      case OpKind::kPooling:
      case OpKind::kPlumbAveragePool: return ReadMean(base);
      case OpKind::kReduceMean: return ReadReducedMean(base);
      case OpKind::kSoftmax: return ReadSoftmax(base);
      case OpKind::kSigmoid:
      case OpKind::kTanh:
      case OpKind::kHardSwish:
      case OpKind::kLeakyRelu: return ReadOfOne(base, IntegerForm::kElement);
      case OpKind::kPReLU: return ReadPRelu(base);
      case OpKind::kWhere: return ReadSelectedPRelu(base);
      case OpKind::kUpsample:
      case OpKind::kPlumbResize: return ReadOfOne(base, IntegerForm::kResize);
      default: break;
    }
    return Status::NotSupported("no form of " + base.type);
  }

  // sums (integers) as f32 times constant scales, as the QLinear operators of products are imported.
  Status ReadScaledSums(const Layer& base) {
    const Tensor* element = base.Resource("element");
    Tensor scale = element != nullptr ? *element : Tensor();
    int cast = -1;
    for (const std::string& blob : base.inputs) {
      const int maker = MakerIn(group_, blob);
      const bool casts =
          maker >= 0 && (MemberAt(maker).kind == OpKind::kCast || MemberAt(maker).kind == OpKind::kPlumbCast);
      if (casts && !IsFloat(scene_.blobs->at(MemberAt(maker).inputs[0]).dtype)) cast = maker;
      if (!casts) scale = scene_.blobs->at(blob).value;
    }
    if (cast < 0 || scale.empty() || scale.dtype() != DType::kF32) return Status::NotSupported("no sums of integers");
    const CutGroup cut = CutTo(group_, inputs_, {MemberAt(cast).inputs[0]});
    if (cut.group.outputs.size() != 1) return Status::NotSupported("no sums of integers");
    PLUMB_RETURN_IF_ERROR(ReadFactors(scale));
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayValues(cut.group, cut.inputs, *scene_.blobs));
    if (replay.values[0].NumElements() != step_.shape.NumElements()) return Status::NotSupported("another shape");
    PLUMB_ASSIGN_OR_RETURN(step_.sums, replay.values[0].ConvertedTo(DType::kF64));
    step_.form = IntegerForm::kProduct;
    return Status::Ok();
  }

  // One factor, or one for each entry of an axis.
  Status ReadFactors(const Tensor& scale) {
    step_.scales.assign(scale.data<float>(), scale.data<float>() + scale.NumElements());
    step_.exact_scales.clear();
    step_.inner = 1;
    if (scale.NumElements() == 1) return Status::Ok();
    const Shape& given = scale.shape();
    const int missing = step_.shape.rank() - given.rank();
    for (int axis = 0; axis < given.rank(); ++axis) {
      if (given[axis] == 1) continue;
      if (given[axis] != scale.NumElements() || missing + axis < 0 || step_.shape[missing + axis] != given[axis]) break;
      step_.inner = step_.shape.CountFrom(missing + axis + 1);
      return Status::Ok();
    }
    return Status::NotSupported("scales along several axes");
  }

  // A product of x and constant weights, both dequantised.
  Status ReadProduct(const Layer& base) {
    const Tensor* weight = base.Resource("weight");
    if (weight == nullptr || base.inputs.size() != 1) return Status::NotSupported("no constant weights");
    PLUMB_ASSIGN_OR_RETURN(const WholeConstant whole, WholeConstantOf(scene_, *weight));
    PLUMB_ASSIGN_OR_RETURN(const std::vector<IntegerOperand> x, sources_.Take({base.inputs[0]}));
    Layer plain = base;
    PLUMB_ASSIGN_OR_RETURN(plain.resources["weight"], whole.whole.ConvertedTo(DType::kF32));
    const Tensor* bias = base.Resource("bias");
    if (bias != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(plain.resources["bias"], Tensor::Zeros(bias->dtype(), bias->shape()));
    }
    PLUMB_RETURN_IF_ERROR(SumUp(plain, {x[0].whole}));
    PLUMB_RETURN_IF_ERROR(ReadWeightScales(base, whole, x[0].scale));
    step_.knows_terms = base.kind != OpKind::kDeconvolution;  // whose faults are others
    step_.product = plain;
    step_.x = x[0];
    return bias == nullptr ? Status::Ok() : AddBias(*bias);
  }

  Status ReadProductOfTwo(const Layer& base) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<IntegerOperand> x, sources_.Take(base.inputs));
    PLUMB_RETURN_IF_ERROR(SumUp(base, {x[0].whole, x[1].whole}));
    step_.scales = {x[0].scale * x[1].scale};
    step_.exact_scales = {static_cast<double>(x[0].scale) * static_cast<double>(x[1].scale)};
    return Status::Ok();
  }

  // The layer on whole numbers, exactly: f64 holds such sums.
  Status SumUp(const Layer& layer, const std::vector<Tensor>& inputs) {
    LayerGroup group;
    group.members = {&layer};
    for (size_t i = 0; i < inputs.size(); ++i) group.inputs.push_back({0, static_cast<int>(i), layer.inputs[i]});
    group.outputs = {{0, 0, layer.outputs[0]}};
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayValues(group, inputs, *scene_.blobs));
    step_.sums = replay.values[0];
    return step_.sums.dtype() == DType::kF64 ? Status::Ok() : Status::NotSupported("no f64 sums");
  }

  // Of each output channel: one for all its weights.
  Status ReadWeightScales(const Layer& base, const WholeConstant& weight, float scale_of_x) {
    const Shape& w = weight.whole.shape();
    const bool columns = base.kind == OpKind::kMatMul, second = base.kind == OpKind::kDeconvolution;
    if (columns && ParamOf<MatMulParam>(base).weight_position != 1) return Status::NotSupported("weights first");
    if (second && w.rank() < 2) return Status::NotSupported("weights of one dim");
    const int64_t channels = columns ? (w.rank() < 2 ? 1 : w[w.rank() - 1]) : w[second ? 1 : 0];
    // So many weights of one channel lie side by side.
    const int64_t each = columns  ? 1
                         : second ? w.CountFrom(2)
                                  : weight.whole.NumElements() / std::max<int64_t>(1, channels);
    std::vector<float> scales(static_cast<size_t>(channels), 0);
    const float* scale = weight.scale.data<float>();
    for (int64_t i = 0; i < weight.scale.NumElements(); ++i) {
      float& own = scales[static_cast<size_t>(i / each % channels)];
      if (own != 0 && own != scale[i]) return Status::NotSupported("several scales in one channel");
      own = scale[i];
    }
    step_.inner = columns ? 1 : step_.shape.CountFrom(2);
    for (const float own : scales) {
      step_.scales.push_back(scale_of_x * own);
      step_.exact_scales.push_back(static_cast<double>(scale_of_x) * static_cast<double>(own));
    }
    return Status::Ok();
  }

  // Whole steps of x times weights: those of its own DequantizeLinear, else rounded, as ONNX Runtime does it.
  Status AddBias(const Tensor& bias) {
    if (bias.NumElements() != static_cast<int64_t>(step_.scales.size())) return Status::NotSupported("another bias");
    constexpr double kSameScale = 0x1p-20;
    const auto whole = WholeConstantOf(scene_, bias);
    std::vector<double>& steps = step_.bias;
    for (size_t c = 0; c < step_.scales.size(); ++c) {
      const auto scale = static_cast<double>(step_.scales[c]);
      const auto at = static_cast<int64_t>(c);
      if (bias.ValueAt(at) == 0) {
        steps.push_back(0);  // of any scale
      } else if (whole.ok()) {
        const auto own = static_cast<double>(whole->scale.data<float>()[c]);
        if (!(std::fabs(own - scale) <= kSameScale * scale)) return Status::NotSupported("a bias of another scale");
        steps.push_back(whole->whole.data<double>()[c]);
      } else {
        steps.push_back(static_cast<double>(std::nearbyint(static_cast<float>(bias.ValueAt(at)) / step_.scales[c])));
      }
    }
    PLUMB_ASSIGN_OR_RETURN(step_.sums, step_.sums.Clone());
    for (int64_t i = 0; i < step_.sums.NumElements(); ++i) step_.sums.data<double>()[i] += steps[step_.scale_index(i)];
    return Status::Ok();
  }

  // Both operands of Add or Mul, broadcast.
  Status ReadPair(const Layer& base, IntegerForm form) {
    std::vector<IntegerOperand> read;
    Layer sum = base;
    if (base.inputs.size() == 2) {
      PLUMB_ASSIGN_OR_RETURN(read, sources_.Take(base.inputs));
    } else {
      const Tensor* element = base.Resource("element");
      if (element == nullptr) return Status::NotSupported("one operand");
      PLUMB_ASSIGN_OR_RETURN(const WholeConstant constant, WholeConstantOf(scene_, *element));
      const float* scale = constant.scale.data<float>();
      if (std::any_of(scale, scale + constant.scale.NumElements(), [&](float s) { return s != scale[0]; }))
        return Status::NotSupported("a constant of several scales");
      PLUMB_ASSIGN_OR_RETURN(read, sources_.Take({base.inputs[0]}));
      const int place = ParamOf<BinaryParam>(base).weight_input_index;
      read.insert(read.begin() + (place == 0 ? 0 : 1), IntegerOperand{constant.whole, scale[0], constant.zero, false});
    }
    for (IntegerOperand& operand : read) {
      operand.broadcast = operand.whole.NumElements() != step_.shape.NumElements();
      PLUMB_ASSIGN_OR_RETURN(operand.whole, BroadcastTo(operand.whole, step_.shape));
    }
    step_.operands = std::move(read);
    step_.form = form;
    return Status::Ok();
  }

  static Result<Tensor> BroadcastTo(const Tensor& tensor, const Shape& shape) {
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

  // The mean of whole planes or of windows: their sums.
  Status ReadMean(const Layer& base) {
    PLUMB_ASSIGN_OR_RETURN(std::vector<IntegerOperand> x, sources_.Take({base.inputs[0]}));
    PLUMB_ASSIGN_OR_RETURN(const PoolingShape pool, ResolvePooling(base, x[0].whole.shape()));
    const WindowAxis &h = pool.window.h, &w = pool.window.w;
    const bool all = h.out == 1 && w.out == 1 && h.kernel == h.in && w.kernel == w.in && h.pad_begin + h.pad_end == 0 &&
                     w.pad_begin + w.pad_end == 0;
    if (!pool.average || pool.adaptive || (pool.count_include_pad && !all)) return Status::NotSupported("no mean");
    step_.count = h.in * w.in;
    step_.form = all ? IntegerForm::kMean : IntegerForm::kWindowMean;
    PLUMB_RETURN_IF_ERROR(SumUp(base, {x[0].whole}));
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

  Status ReadReducedMean(const Layer& base) {
    PLUMB_ASSIGN_OR_RETURN(std::vector<IntegerOperand> x, sources_.Take({base.inputs[0]}));
    PLUMB_RETURN_IF_ERROR(SumUp(base, {x[0].whole}));
    const int64_t means = step_.sums.NumElements();
    if (base.inputs.size() != 1 || means < 1 || x[0].whole.NumElements() % means != 0)
      return Status::NotSupported("no mean");
    step_.count = x[0].whole.NumElements() / means;
    PLUMB_ASSIGN_OR_RETURN(x[0].whole, step_.sums.Clone());
    for (int64_t i = 0; i < means; ++i) {
      double& sum = x[0].whole.data<double>()[i];
      sum = std::nearbyint(sum * static_cast<double>(step_.count));
    }
    step_.operands = std::move(x);
    step_.form = IntegerForm::kReduceMean;
    return Status::Ok();
  }

  // How many places of a window lie inside.
  static int64_t CountOf(const WindowAxis& axis, int64_t at) {
    const int64_t begin = at * axis.stride - axis.pad_begin;
    return std::min(axis.in, begin + axis.kernel) - std::max<int64_t>(0, begin);
  }

  Status ReadOfOne(const Layer& base, IntegerForm form) {
    if (base.inputs.size() != 1) return Status::NotSupported("several inputs");
    PLUMB_ASSIGN_OR_RETURN(step_.operands, sources_.Take({base.inputs[0]}));
    step_.base = base;
    step_.form = form;
    return Status::Ok();
  }

  // One slope, as LEAKY_RELU has it, is no integer.
  Status ReadPRelu(const Layer& base) {
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

  // x < 0 ? x slope : x, as slopes that are not one for each channel are imported.
  Status ReadSelectedPRelu(const Layer& base) {
    const int less = MakerIn(group_, base.inputs[0]), times = MakerIn(group_, base.inputs[1]);
    if (less < 0 || times < 0 || MemberAt(less).kind != OpKind::kLess || MemberAt(times).kind != OpKind::kMul)
      return Status::NotSupported("no PReLU");
    const bool of_x = MemberAt(less).inputs[0] == base.inputs[2] && MemberAt(times).inputs[0] == base.inputs[2];
    return of_x ? ReadPair(MemberAt(times), IntegerForm::kPRelu) : Status::NotSupported("no PReLU");
  }

  Status ReadSoftmax(const Layer& base) {
    PLUMB_ASSIGN_OR_RETURN(step_.operands, sources_.Take({base.inputs[0]}));
    PLUMB_ASSIGN_OR_RETURN(step_.axis, NormalizeAxis(ParamOf<SoftmaxParam>(base).axis, step_.shape.rank()));
    step_.form = IntegerForm::kSoftmax;
    return Status::Ok();
  }

  const Scene& scene_;
  const LayerGroup& group_;
  const std::vector<Tensor>& inputs_;
  const StepSources sources_;
  IntegerStep step_;
};

}  // namespace

Result<IntegerStep> ReadIntegerStep(const Scene& scene, const LayerGroup& group, const std::vector<Tensor>& inputs,
                                    const std::string& blob) {
  return StepReader(scene, group, inputs).Read(blob);
}

Result<Tensor> BehindTail(const IntegerStep& step, const BlobTable& blobs, const std::vector<int64_t>& integers) {
  PLUMB_ASSIGN_OR_RETURN(Tensor whole, Tensor::Create(DType::kF64, step.shape));
  for (size_t i = 0; i < integers.size(); ++i) whole.data<double>()[i] = static_cast<double>(integers[i] - step.zero);
  if (!step.tail_layers.empty()) {
    LayerGroup tail = step.tail;
    for (const Layer& layer : step.tail_layers) tail.members.push_back(&layer);
    std::vector<Tensor> inputs = step.tail_inputs;
    inputs[0] = whole;
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayValues(tail, inputs, blobs));
    whole = replay.values[0];
  }
  if (whole.dtype() != DType::kF64) return Status::NotSupported("no floats");
  PLUMB_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kI64, whole.shape()));
  for (int64_t i = 0; i < whole.NumElements(); ++i) {
    const double value = whole.data<double>()[i];
    if (!(std::fabs(value) < 0x1p40)) return Status::NotSupported("no integer");
    result.data<int64_t>()[i] = static_cast<int64_t>(value) + step.zero;
  }
  return result;
}

}  // namespace plumb
