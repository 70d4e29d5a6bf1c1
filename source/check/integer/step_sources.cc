// SPDX-License-Identifier: Apache-2.0
#include "check/integer/step_sources.h"

#include <algorithm>
#include <cmath>

#include "check/integer/cut_group.h"
#include "check/integer/made_for.h"
#include "op/core/op.h"
#include "op/pad.h"
#include "op/pooling.h"

namespace plumb {
namespace {

constexpr int kMostMoves = 64;  // between a DequantizeLinear and its reader

// Whether the layer's output is elements of its first input, or zeros.
bool OnlyMoves(const Layer& layer) {
  if (layer.kind == OpKind::kPad) return ParamOf<PadParam>(layer).value == 0;
  if (layer.kind == OpKind::kPadV2) return layer.inputs.size() == 1 && ParamOf<PadV2Param>(layer).value == 0;
  if (layer.kind == OpKind::kPooling) return ParamOf<PoolingParam>(layer).pool_type == kPoolMax;
  if (layer.kind == OpKind::kReLU) return true;
  if (!GetOp(layer.kind).moves_data_only || layer.inputs.empty()) return false;
  for (size_t slot = 1; slot < layer.inputs.size(); ++slot) {
    if (HoldsMoved(layer, slot)) return false;
  }
  return true;
}

// A DequantizeLinear of scale 1.
Result<Tensor> OnesForScale(size_t slot, const Tensor& input) {
  if (slot != 1) return input;
  PLUMB_ASSIGN_OR_RETURN(Tensor ones, Tensor::Create(input.dtype(), input.shape()));
  for (int64_t i = 0; i < ones.NumElements(); ++i) {
    if (ones.dtype() == DType::kF64) ones.data<double>()[i] = 1;
    if (ones.dtype() == DType::kF32) ones.data<float>()[i] = 1;
  }
  return ones;
}

}  // namespace

std::optional<double> OneNumber(const Scene& scene, const std::string& blob) {
  const auto it = scene.blobs->find(blob);
  if (it == scene.blobs->end() || it->second.value.empty() || it->second.value.NumElements() != 1) return std::nullopt;
  return it->second.value.ValueAt(0);
}

std::optional<double> SameNumber(const Scene& scene, const std::string& blob) {
  const auto it = scene.blobs->find(blob);
  if (it == scene.blobs->end() || it->second.value.empty()) return std::nullopt;
  const Tensor& value = it->second.value;
  for (int64_t i = 1; i < value.NumElements(); ++i) {
    if (value.ValueAt(i) != value.ValueAt(0)) return std::nullopt;
  }
  return value.ValueAt(0);
}

std::vector<float> ChannelScalesOf(const Scene& scene, const std::string& blob) {
  const auto it = scene.blobs->find(blob);
  if (MadeForOf(scene) != MadeFor::kTnn || it == scene.blobs->end() || it->second.value.NumElements() < 2) return {};
  std::vector<float> scales;
  for (int64_t i = 0; i < it->second.value.NumElements(); ++i) {
    scales.push_back(static_cast<float>(it->second.value.ValueAt(i)));
    if (!(scales.back() > 0) || !std::isfinite(scales.back())) return {};
  }
  return scales;
}

Result<IntegerOperand> StepSources::ScaleBy(const Layer& dequantizer) const {
  std::vector<float> scales = ChannelScalesOf(scene_, dequantizer.inputs[1]);
  const auto scale = scales.empty() ? OneNumber(scene_, dequantizer.inputs[1]) : static_cast<double>(scales[0]);
  const auto zero =
      dequantizer.inputs.size() > 2 ? SameNumber(scene_, dequantizer.inputs[2]) : std::optional<double>(0);
  constexpr double kLargestZero = 0x1p31;
  if (!scale.has_value() || !zero.has_value() || !(*scale > 0) || !std::isfinite(*scale) ||
      !(std::fabs(*zero) <= kLargestZero))
    return Status::NotSupported("a scale that is not one number");
  IntegerOperand operand;
  operand.scale = static_cast<float>(*scale);
  operand.zero = static_cast<int64_t>(*zero);
  operand.scales = std::move(scales);
  return operand;
}

Result<IntegerOperand> StepSources::ScaleOf(const std::string& blob) const {
  std::string at = blob;
  bool channels_stay = true;
  for (int moves = 0; moves < kMostMoves; ++moves) {
    const int maker = MakerIn(group_, at);
    if (maker < 0) {
      const Layer* outside = DequantizerOf(scene_, at);
      if (outside == nullptr) break;
      PLUMB_ASSIGN_OR_RETURN(IntegerOperand operand, ScaleBy(*outside));
      if (!channels_stay && !operand.scales.empty()) break;
      return operand;
    }
    const Layer& layer = *group_.members[static_cast<size_t>(maker)];
    if (layer.kind == OpKind::kPlumbDequantizeLinear) {
      PLUMB_ASSIGN_OR_RETURN(IntegerOperand operand, ScaleBy(layer));
      if (!channels_stay && !operand.scales.empty()) break;
      return operand;
    }
    if (!OnlyMoves(layer)) break;
    channels_stay = channels_stay && (layer.kind == OpKind::kPooling || layer.kind == OpKind::kReLU);
    at = layer.inputs[0];
  }
  return Status::NotSupported("no DequantizeLinear made '" + blob + "'");
}

Result<Tensor> StepSources::Counted(const Tensor& values, const std::string& blob) const {
  const Layer* outside = DequantizerOf(scene_, blob);
  if (outside == nullptr) return Status::NotSupported("no DequantizeLinear made '" + blob + "'");
  PLUMB_ASSIGN_OR_RETURN(const IntegerOperand by, ScaleBy(*outside));
  PLUMB_ASSIGN_OR_RETURN(Tensor whole, values.Clone());
  if (!by.scales.empty() && whole.shape().DimOrOne(1) != static_cast<int64_t>(by.scales.size()))
    return Status::NotSupported("'" + blob + "' has other channels");
  for (int64_t i = 0; i < whole.NumElements(); ++i) {
    double& value = whole.data<double>()[i];
    const auto scale = static_cast<double>(ScaleAt(by.scales, by.scale, whole.shape(), i));
    const double steps = std::nearbyint(value / scale);
    if (static_cast<float>(steps * scale) != static_cast<float>(value))  // NaN, too
      return Status::NotSupported("'" + blob + "' is not what its DequantizeLinear makes");
    value = steps;
  }
  return whole;
}

Result<std::vector<IntegerOperand>> StepSources::Take(const std::vector<std::string>& blobs) const {
  std::vector<IntegerOperand> operands;
  for (const std::string& blob : blobs) {
    PLUMB_ASSIGN_OR_RETURN(IntegerOperand operand, ScaleOf(blob));
    operands.push_back(std::move(operand));
  }
  CutGroup cut = CutTo(group_, inputs_, blobs);
  for (size_t i = 0; i < cut.inputs.size(); ++i) {
    const std::string& blob = cut.group.inputs[i].blob;
    if (cut.inputs[i].dtype() != DType::kF64 || !scene_.blobs->at(blob).value.empty()) continue;
    PLUMB_ASSIGN_OR_RETURN(cut.inputs[i], Counted(cut.inputs[i], blob));
  }
  ReplayExtra extra;
  for (size_t m = 0; m < cut.group.members.size(); ++m) {
    if (cut.group.members[m]->kind == OpKind::kPlumbDequantizeLinear)
      extra.changes.push_back({static_cast<int>(m), {}, OnesForScale, {}});
  }
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayValues(cut.group, cut.inputs, *scene_.blobs, extra));
  size_t made = 0;
  for (size_t i = 0; i < blobs.size(); ++i) {
    const Tensor* outside = ReadFromOutside(group_, inputs_, blobs[i]);
    if (outside == nullptr) {
      operands[i].whole = replay.values[made++];
    } else {
      PLUMB_ASSIGN_OR_RETURN(operands[i].whole, Counted(*outside, blobs[i]));
    }
    if (operands[i].whole.dtype() != DType::kF64) return Status::NotSupported("no floats");
  }
  return operands;
}

}  // namespace plumb
