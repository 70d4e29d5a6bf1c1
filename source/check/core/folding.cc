// SPDX-License-Identifier: Apache-2.0
#include "check/core/folding.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace plumb {
namespace {

bool IsScaleOrShift(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kScale:
    case OpKind::kBatchNormCxx:
    case OpKind::kBiasAdd: return true;
    default: return false;
  }
}

Tensor Filled(const Shape& shape, double value) {
  auto tensor = Tensor::Create(DType::kF64, shape);
  if (!tensor.ok()) return {};
  std::fill_n(tensor->data<double>(), tensor->NumElements(), value);
  return std::move(tensor).value();
}

Tensor Copied(const Tensor& tensor) {
  auto copy = tensor.Clone();
  return copy.ok() ? std::move(copy).value() : Tensor();
}

}  // namespace

bool ScaleOrShift(const Layer& layer, const std::string& blob, const BlobTable& blobs, Tensor* value) {
  if (!IsScaleOrShift(layer.kind) || layer.outputs.size() != 1) return false;
  if (blobs.at(layer.outputs[0]).shape != value->shape()) return false;  // the constant is spread over more elements
  ReferenceArgs args{layer, {}, {}};
  std::vector<Tensor> constants(layer.inputs.size());
  int variable = 0;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const Tensor& constant = blobs.at(layer.inputs[i]).value;
    if (constant.empty() && layer.inputs[i] != blob) return false;
    variable += constant.empty();
    auto wide = constant.empty() ? Result<Tensor>(*value) : constant.ConvertedTo(DType::kF64);
    if (!wide.ok()) return false;
    constants[i] = *wide;
    if (constants[i].NumElements() > value->NumElements()) return false;
    args.inputs.push_back(&constants[i]);
  }
  auto result = Tensor::Create(DType::kF64, value->shape());
  if (variable != 1 || !result.ok()) return false;
  args.outputs.push_back(&*result);
  if (!GetReferenceOp(layer.kind).run(args).ok()) return false;
  *value = *result;
  return true;
}

ScaleAndShift ScaleAndShiftOf(const Layer& layer, const std::string& blob, const BlobTable& blobs) {
  const BlobInfo& info = blobs.at(blob);
  if (!IsScaleOrShift(layer.kind) || info.dtype != DType::kF32) return {};
  Tensor shift = Filled(info.shape, 0), scale = Filled(info.shape, 1);
  if (shift.empty() || scale.empty()) return {};
  if (!ScaleOrShift(layer, blob, blobs, &shift) || !ScaleOrShift(layer, blob, blobs, &scale)) return {};
  for (int64_t i = 0; i < scale.NumElements(); ++i) scale.data<double>()[i] -= shift.data<double>()[i];
  return {scale, shift};
}

bool MayFold(const LayerGroup& group) {
  for (size_t m = 1; m < group.members.size(); ++m) {
    if (IsScaleOrShift(group.members[m - 1]->kind) && IsScaleOrShift(group.members[m]->kind)) return true;
  }
  return false;
}

bool Folding::Note(const Layer& layer, const std::string& blob, const BlobTable& blobs, const Tensor& values,
                   const Tensor* tau) {
  const ScaleAndShift by = ScaleAndShiftOf(layer, blob, blobs);
  if (by.scale.empty() || values.dtype() != DType::kF64) return false;
  const auto found = runs_.find(blob);
  if (found != runs_.end()) {
    noted_ = found->second;
    noted_.scale = Copied(noted_.scale), noted_.shift = Copied(noted_.shift), noted_.spread = Copied(noted_.spread);
  } else {
    noted_ = {0,
              Copied(values),
              tau != nullptr ? Copied(*tau) : Tensor(),
              Filled(values.shape(), 1),
              Filled(values.shape(), 0),
              Filled(values.shape(), 0)};
  }
  if (noted_.x.empty() || noted_.scale.empty() || noted_.shift.empty() || noted_.spread.empty()) return false;
  const double *x = noted_.x.data<double>(), *a = by.scale.data<double>(), *b = by.shift.data<double>();
  double *scale = noted_.scale.data<double>(), *shift = noted_.shift.data<double>();
  double* spread = noted_.spread.data<double>();
  for (int64_t i = 0; i < values.NumElements(); ++i) {
    scale[i] *= a[i], shift[i] = a[i] * shift[i] + b[i], spread[i] *= a[i] * a[i];
    if (noted_.members > 0) spread[i] += scale[i] * x[i] * scale[i] * x[i] + shift[i] * shift[i];
  }
  ++noted_.members;
  return true;
}

void Folding::Widen(const std::string& output, const Tensor& values, const Arithmetic& arithmetic, Tensor* tau) {
  Run& run = runs_[output] = std::move(noted_);
  noted_ = {};
  if (run.members < 2 || tau == nullptr) return;
  const double u2 = 64 * arithmetic.u * arithmetic.u, out2 = 64 * arithmetic.u_out * arithmetic.u_out;
  const double *y = values.data<double>(), *scale = run.scale.data<double>(), *spread = run.spread.data<double>();
  const double* inherited = run.tau.empty() ? nullptr : run.tau.data<double>();
  for (int64_t i = 0; i < values.NumElements(); ++i) {
    const double carried = inherited == nullptr ? 0 : scale[i] * inherited[i];
    const double folded = std::sqrt(u2 * spread[i] + out2 * y[i] * y[i] + carried * carried);
    if (folded > tau->data<double>()[i]) tau->data<double>()[i] = folded;
  }
}

}  // namespace plumb
