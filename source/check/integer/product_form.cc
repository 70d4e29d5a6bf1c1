// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "check/integer/cut_group.h"
#include "check/integer/made_for.h"
#include "check/integer/step_reader.h"
#include "op/convolution.h"
#include "op/matmul.h"
#include "op/pad.h"

namespace plumb {

Status StepReader::ReadScaledSums(const Layer& base) {
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

Status StepReader::ReadFactors(const Tensor& scale) {
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

Status StepReader::ReadProduct(const Layer& base, const Tensor* bias, const std::vector<const Layer*>& behind) {
  const Tensor* weight = base.Resource("weight");
  if (weight == nullptr || base.inputs.size() != 1) return Status::NotSupported("no constant weights");
  PLUMB_ASSIGN_OR_RETURN(const WholeConstant whole, WholeConstantOf(scene_, *weight));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<IntegerOperand> x, sources_.Take({base.inputs[0]}));
  Layer plain = base;
  PLUMB_ASSIGN_OR_RETURN(plain.resources["weight"], whole.whole.ConvertedTo(DType::kF32));
  const Tensor* own = base.Resource("bias");
  if (own != nullptr) {
    PLUMB_ASSIGN_OR_RETURN(plain.resources["bias"], Tensor::Zeros(own->dtype(), own->shape()));
  }
  std::vector<const Layer*> layers = {&plain};
  layers.insert(layers.end(), behind.begin(), behind.end());
  PLUMB_RETURN_IF_ERROR(SumUp(layers, {x[0].whole}));
  PLUMB_RETURN_IF_ERROR(ReadWeightScales(base, whole, x[0].scale));
  const int64_t known = whole.product.empty() ? 0 : whole.product.NumElements();
  const bool one = known == 1;
  if (one || known == static_cast<int64_t>(step_.scales.size())) {
    for (size_t c = 0; c < step_.scales.size(); ++c) {
      step_.scales[c] = whole.product.data<float>()[one ? 0 : c];
      step_.exact_scales[c] = static_cast<double>(step_.scales[c]);
    }
  }
  step_.knows_terms = true;
  for (const Layer* layer : behind) step_.behind.push_back(*layer);
  ReadWindow(base, x[0].whole.shape());
  step_.product = plain;
  step_.weight_zero = whole.zero;
  step_.x = x[0];
  return bias == nullptr ? Status::Ok() : AddBias(*bias);
}

void StepReader::ReadWindow(const Layer& base, const Shape& x) {
  if (x.rank() != 4) return;
  if (base.kind == OpKind::kConvolution) {
    const auto shape = ResolveConvolution(base, x);
    if (shape.ok()) step_.window = shape->window;
    return;
  }
  const std::vector<Layer>& cuts = step_.behind.empty() ? step_.tail_layers : step_.behind;
  if (base.kind == OpKind::kDeconvolution && !cuts.empty() && cuts[0].kind == OpKind::kPadV2) {
    const auto& pads = ParamOf<PadV2Param>(cuts[0]);
    if (pads.begins.size() != 4 || pads.ends.size() != 4) return;
    step_.window.h.pad_begin = pads.begins[2], step_.window.h.pad_end = pads.ends[2];
    step_.window.w.pad_begin = pads.begins[3], step_.window.w.pad_end = pads.ends[3];
  }
}

Status StepReader::ReadSpreadProduct(const Layer& base) {
  std::vector<const Layer*> behind;
  const Tensor* bias = nullptr;
  std::string blob = base.inputs[0];
  if (base.kind == OpKind::kPadV2) {
    behind.push_back(&base);
  } else {
    bias = base.Resource(base.kind == OpKind::kBiasAdd ? "bias" : "element");
    if (bias == nullptr || base.inputs.size() != 1) return Status::NotFound("no bias");
    const Layer* padded = MakerOf(blob, OpKind::kPadV2);
    if (padded != nullptr) behind.push_back(padded);
  }
  for (const Layer* pad : behind) {
    if (pad->inputs.size() != 1 || ParamOf<PadV2Param>(*pad).value != 0) return Status::NotFound("no product");
    blob = pad->inputs[0];
  }
  for (const OpKind kind : {OpKind::kDeconvolution, OpKind::kMatMul}) {
    const Layer* product = MakerOf(blob, kind);
    if (product == nullptr || product->inputs.size() != 1 || product->Resource("bias") != nullptr) continue;
    if (kind == OpKind::kDeconvolution && ParamOf<ConvolutionParam>(*product).group != 1) continue;
    return ReadProduct(*product, bias, behind);
  }
  return Status::NotFound("no product");
}

Status StepReader::ReadProductAndAdd(const Layer& add) {
  const bool sums = MadeForOf(scene_) == MadeFor::kTnn && add.inputs.size() == 2;
  for (size_t slot = 0; slot < 2 && sums; ++slot) {
    const Layer* relu = MakerOf(add.inputs[slot], OpKind::kReLU);
    const Layer* product = MakerOf(relu != nullptr ? relu->inputs[0] : add.inputs[slot], OpKind::kConvolution);
    if (product == nullptr) continue;
    const int activation = ParamOf<ConvolutionParam>(*product).activation;
    if (activation != kActivationNone && activation != kActivationReLU) continue;
    auto added = sources_.Take({add.inputs[1 - slot]});
    if (!added.ok() || (*added)[0].whole.NumElements() != step_.shape.NumElements()) continue;
    Layer plain = *product;
    auto param = std::make_shared<ConvolutionParam>(ParamOf<ConvolutionParam>(*product));
    param->activation = kActivationNone;
    plain.param = param;
    step_.operands = std::move(added).value();
    step_.rectified = relu != nullptr || activation == kActivationReLU;
    return ReadProduct(plain, plain.Resource("bias"));
  }
  return Status::NotFound("no convolution in front");
}

Status StepReader::ReadProductOfTwo(const Layer& base) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<IntegerOperand> x, sources_.Take(base.inputs));
  PLUMB_RETURN_IF_ERROR(SumUp({&base}, {x[0].whole, x[1].whole}));
  step_.scales = {x[0].scale * x[1].scale};
  step_.exact_scales = {static_cast<double>(x[0].scale) * static_cast<double>(x[1].scale)};
  return Status::Ok();
}

Status StepReader::SumUp(const std::vector<const Layer*>& layers, const std::vector<Tensor>& inputs) {
  LayerGroup group;
  group.members = layers;
  for (size_t i = 0; i < inputs.size(); ++i) group.inputs.push_back({0, static_cast<int>(i), layers[0]->inputs[i]});
  group.outputs = {{static_cast<int>(layers.size()) - 1, 0, layers.back()->outputs[0]}};
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayValues(group, inputs, *scene_.blobs));
  step_.sums = replay.values[0];
  return step_.sums.dtype() == DType::kF64 ? Status::Ok() : Status::NotSupported("no f64 sums");
}

Status StepReader::ReadWeightScales(const Layer& base, const WholeConstant& weight, float scale_of_x) {
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
    step_.weight_scales.push_back(own);
    step_.scales.push_back(scale_of_x * own);
    step_.exact_scales.push_back(static_cast<double>(scale_of_x) * static_cast<double>(own));
  }
  return Status::Ok();
}

Status StepReader::AddBias(const Tensor& bias) {
  if (bias.NumElements() != static_cast<int64_t>(step_.scales.size())) return Status::NotSupported("another bias");
  constexpr double kSameScale = 0x1p-20;
  const auto whole = WholeConstantOf(scene_, bias);
  std::vector<double>& steps = step_.bias;
  for (size_t c = 0; c < step_.scales.size(); ++c) {
    const auto scale = static_cast<double>(step_.scales[c]);
    const auto at = static_cast<int64_t>(c);
    step_.real_bias.push_back(static_cast<float>(bias.ValueAt(at)));
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

}  // namespace plumb
