// SPDX-License-Identifier: Apache-2.0
#include "check/integer/step_reader.h"

#include <algorithm>
#include <cmath>

#include "check/integer/cut_group.h"
#include "op/activation.h"
#include "op/convolution.h"
#include "op/pooling.h"
#include "op/quantize_linear.h"
#include "plumb/model.h"

namespace plumb {

Result<IntegerStep> StepReader::Read(const std::string& blob) {
  const int maker = MakerIn(group_, blob);
  if (maker < 0 || MemberAt(maker).kind != OpKind::kPlumbQuantizeLinear)
    return Status::NotSupported("no QuantizeLinear makes it");
  PLUMB_RETURN_IF_ERROR(ReadResult(MemberAt(maker)));
  PLUMB_ASSIGN_OR_RETURN(const Layer* base, ReadTail(MemberAt(maker).inputs[0]));
  step_.shape = scene_.blobs->at(base->outputs[0]).shape;
  // What the file says as one operator is read as that.
  if (scene_.record != nullptr) {
    for (const Layer& whole : scene_.record->wholes.layers) {
      if (whole.outputs.size() == 1 && whole.outputs[0] == base->outputs[0]) base = &whole;
    }
  }
  PLUMB_RETURN_IF_ERROR(ReadForm(*base));
  return std::move(step_);
}

Status StepReader::ReadResult(const Layer& quantize) {
  step_.channel_scales = ChannelScalesOf(scene_, quantize.inputs[1]);
  const auto scale = step_.channel_scales.empty() ? OneNumber(scene_, quantize.inputs[1])
                                                  : std::optional<double>(step_.channel_scales[0]);
  const auto zero = quantize.inputs.size() > 2 ? SameNumber(scene_, quantize.inputs[2]) : std::optional<double>(0);
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

float StepReader::Limit(float value) const {
  const double steps = std::nearbyint(static_cast<double>(value / step_.scale));
  return static_cast<float>(
      std::clamp(steps, static_cast<double>(step_.low - step_.zero), static_cast<double>(step_.high - step_.zero)));
}

std::optional<Layer> StepReader::InSteps(const Layer& layer) const {
  Layer copy = layer;
  const bool one_scale = step_.channel_scales.empty();
  if (!one_scale && layer.kind != OpKind::kReLU && layer.kind != OpKind::kPooling) return std::nullopt;
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

Result<const Layer*> StepReader::ReadTail(std::string blob) {
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

Status StepReader::ReadForm(const Layer& base) {
  const Tensor* bias = base.Resource("bias");
  switch (base.kind) {
    case OpKind::kConvolution: return ReadConvolution(base);
    case OpKind::kDeconvolution:
      if (ParamOf<ConvolutionParam>(base).activation != kActivationNone || ParamOf<ConvolutionParam>(base).group != 1)
        break;
      return ReadProduct(base, bias);
    case OpKind::kConvolution1D:
      if (ParamOf<Convolution1DParam>(base).activation != kActivationNone) break;
      return ReadProduct(base, bias);
    case OpKind::kInnerProduct: return ReadProduct(base, bias);
    case OpKind::kMatMul: return base.inputs.size() == 2 ? ReadProductOfTwo(base) : ReadProduct(base, bias);
    case OpKind::kBiasAdd:
    case OpKind::kPadV2: return ReadSpreadProduct(base);
    case OpKind::kSoftmax: return ReadSoftmax(base, IntegerForm::kSoftmax);
    case OpKind::kLogSoftmax: return ReadSoftmax(base, IntegerForm::kLogSoftmax);
    case OpKind::kSigmoid:
    case OpKind::kTanh:
    case OpKind::kHardSwish:
    case OpKind::kLeakyRelu: return ReadOfOne(base, IntegerForm::kElement);
    case OpKind::kPReLU: return ReadPRelu(base);
    case OpKind::kWhere: return ReadSelectedPRelu(base);
    case OpKind::kPlumbDequantizeLinear: return ReadRequantised(base);
    case OpKind::kConcat: return ReadJoined(base);
    case OpKind::kUpsample:
    case OpKind::kPlumbResize: return ReadOfOne(base, IntegerForm::kResize);
    default: return ReadSumForm(base);
  }
  return Status::NotSupported("no form of " + base.type);
}

Status StepReader::ReadConvolution(const Layer& base) {
  const int activation = ParamOf<ConvolutionParam>(base).activation;
  Layer plain = base;
  if (activation == kActivationReLU || activation == kActivationReLU6) {
    auto param = std::make_shared<ConvolutionParam>(ParamOf<ConvolutionParam>(base));
    param->activation = kActivationNone;
    plain.param = param;
    step_.activated = true;
    step_.type_low = step_.low, step_.type_high = step_.high;
    step_.low = std::max(step_.low, step_.zero);
    if (activation == kActivationReLU6 && !step_.channel_scales.empty())
      return Status::NotSupported("a limit of each channel");
    if (activation == kActivationReLU6) step_.high = std::min(step_.high, step_.zero + static_cast<int64_t>(Limit(6)));
  } else if (activation != kActivationNone) {
    return Status::NotSupported("another activation");
  }
  return ReadProduct(plain, plain.Resource("bias"));
}

Status StepReader::ReadSumForm(const Layer& base) {
  switch (base.kind) {
    case OpKind::kAdd: {
      Status product = ReadSpreadProduct(base);
      if (product.code() == StatusCode::kNotFound) product = ReadProductAndAdd(base);
      return product.code() == StatusCode::kNotFound ? ReadPair(base, IntegerForm::kSum) : product;
    }
    case OpKind::kSub: step_.subtracts = true; return ReadPair(base, IntegerForm::kSum);
    case OpKind::kMul:
      if (ReadScaledSums(base).ok() || ReadSquaredDifference(base).ok()) return Status::Ok();
      return ReadPair(base, IntegerForm::kTimes);
    case OpKind::kPooling:
    case OpKind::kPlumbAveragePool: return ReadMean(base);
    case OpKind::kReduceMean: return ReadReduced(base, IntegerForm::kReduceMean);
    case OpKind::kReduceSum: return ReadReduced(base, IntegerForm::kReduceSum);
    case OpKind::kDiv: return ReadNorm(base);
    default: return Status::NotSupported("no form of " + base.type);
  }
}

const Layer* StepReader::MakerOf(const std::string& blob, OpKind kind) const {
  const int maker = MakerIn(group_, blob);
  return maker >= 0 && MemberAt(maker).kind == kind ? &MemberAt(maker) : nullptr;
}

Result<IntegerStep> ReadIntegerStep(const Scene& scene, const LayerGroup& group, const std::vector<Tensor>& inputs,
                                    const std::string& blob) {
  return StepReader(scene, group, inputs).Read(blob);
}

}  // namespace plumb
