// SPDX-License-Identifier: Apache-2.0
#include "check/integer/stepwise.h"

#include <algorithm>
#include <cmath>

#include "op/core/op.h"
#include "op/pooling.h"
#include "op/quantize_linear.h"

namespace plumb {
namespace {

// MLAS's logistic: a rational function by FMAs. (MlasComputeLogistic's constants, which are Eigen's.)
float LogisticInF32(float given) {
  constexpr float kAlpha[] = {4.37031012579801e-11f, 1.15627324459942e-07f, 6.08574864600143e-05f,
                              8.51377133304701e-03f, 2.48287947061529e-01f};
  constexpr float kBeta[] = {6.10247389755681e-13f, 5.76102136993427e-09f, 6.29106785017040e-06f,
                             1.70198817374094e-03f, 1.16817656904453e-01f, 9.93151921023180e-01f};
  const float x = std::clamp(given, -18.0f, 18.0f), squared = x * x;
  float above = kAlpha[0], below = kBeta[0];
  for (size_t i = 1; i < std::size(kAlpha); ++i) above = std::fma(squared, above, kAlpha[i]);
  for (size_t i = 1; i < std::size(kBeta); ++i) below = std::fma(squared, below, kBeta[i]);
  above *= x;
  const float ratio = above / below;
  return std::clamp(ratio + 0.5f, 0.0f, 1.0f);
}

Status RunLogistic(const ReferenceArgs& args) {
  if (args.inputs[0]->dtype() != DType::kF64) return Status::NotSupported("no f64");
  const double* x = args.inputs[0]->data<double>();
  double* y = args.outputs[0]->data<double>();
  for (int64_t i = 0; i < args.outputs[0]->NumElements(); ++i)
    y[i] = static_cast<double>(LogisticInF32(static_cast<float>(x[i])));
  return Status::Ok();
}

// Row by row in one f32 sum, divided by the number of pixels.
Status RunSerialAverage(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape pool, ResolvePooling(args.layer, args.inputs[0]->shape()));
  if (!pool.average || pool.adaptive) return Status::NotSupported("no average");
  const WindowAxis &h = pool.window.h, &w = pool.window.w;
  const double* x = args.inputs[0]->data<double>();
  double* y = args.outputs[0]->data<double>();
  for (int64_t i = 0; i < args.outputs[0]->NumElements(); ++i) {
    const int64_t top = i / w.out % h.out * h.stride - h.pad_begin, left = i % w.out * w.stride - w.pad_begin;
    const int64_t h_begin = std::max<int64_t>(0, top), h_end = std::min(h.in, top + h.kernel);
    const int64_t w_begin = std::max<int64_t>(0, left), w_end = std::min(w.in, left + w.kernel);
    const double* plane = x + i / (h.out * w.out) * h.in * w.in;
    float sum = 0;
    for (int64_t row = h_begin; row < h_end; ++row) {
      for (int64_t column = w_begin; column < w_end; ++column) sum += static_cast<float>(plane[row * w.in + column]);
    }
    const int64_t count = pool.count_include_pad
                              ? h.kernel * w.kernel
                              : std::max<int64_t>(0, h_end - h_begin) * std::max<int64_t>(0, w_end - w_begin);
    y[i] = static_cast<double>(sum / static_cast<float>(count));
  }
  return Status::Ok();
}

// f32 arithmetic of x, scale and zero point, and then into the range.
template <double (*rounded)(float x, float scale, double zero)>
Status RunQuantizeInF32(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const QuantShape shape, ResolveQuant(args.layer, InfosOf(args)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scale, args.inputs[1]->ConvertedTo(DType::kF32));
  const double* x = args.inputs[0]->data<double>();
  int64_t* y = args.outputs[0]->data<int64_t>();
  for (int64_t i = 0; i < args.outputs[0]->NumElements(); ++i) {
    const int64_t at = shape.ScaleOf(i);
    const double zero = args.inputs.size() > 2 ? args.inputs[2]->ValueAt(at) : 0;
    const double value = rounded(static_cast<float>(x[i]), scale.data<float>()[at], zero);
    if (std::isnan(value)) return Status::NotSupported("NaN");
    y[i] = static_cast<int64_t>(std::clamp(value, static_cast<double>(shape.low), static_cast<double>(shape.high)));
  }
  return Status::Ok();
}

// round(x / scale + zero point), all in f32.
double RoundedBehindZero(float x, float scale, double zero) {
  return static_cast<double>(std::nearbyint(x / scale + static_cast<float>(zero)));
}

// round(x / scale) + zero point, or x times f32(1 / scale), halves away from zero or to even.
template <bool kDivides, bool kToEven>
double RoundedByF32(float x, float scale, double zero) {
  const float steps = kDivides ? x / scale : x * (1 / scale);
  return static_cast<double>(kToEven ? std::nearbyint(steps) : std::round(steps)) + zero;
}

// TNN's naive kernels: a half is added in f32 behind the zero point, and the rest cut off.
double CutOffByF32(float x, float scale, double zero) {
  const float steps = x / scale + static_cast<float>(zero);
  return static_cast<double>(std::trunc(steps + (steps >= 0 ? 0.5f : -0.5f)));
}

// ncnn and MNN, whose integers begin at -127.
double Above128ByF32(float x, float scale, double zero) {
  const double steps = RoundedByF32<false, false>(x, scale, zero);
  return steps < -127 ? -127 : steps;
}

// Operators whose f64 reference, rounded to f32 at the end, is what a correct f32 instruction gives.
bool RoundsCorrectly(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kNeg:
    case OpKind::kAbs:
    case OpKind::kSqrt:
    case OpKind::kReLU:
    case OpKind::kReLU6:
    case OpKind::kLeakyRelu:
    case OpKind::kPReLU:
    case OpKind::kClip:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kFloor:
    case OpKind::kCeil:
    case OpKind::kPlumbRound:
    case OpKind::kCast:
    case OpKind::kPlumbCast:
    case OpKind::kPlumbQuantizeLinear:
    case OpKind::kPlumbDequantizeLinear:
    case OpKind::kPlumbMatMulInteger: return true;
    default: return GetOp(kind).moves_data_only;
  }
}

bool RoundsCorrectly(const Layer& layer) {
  if (layer.kind == OpKind::kPooling) return ParamOf<PoolingParam>(layer).pool_type == kPoolMax;
  return RoundsCorrectly(layer.kind);
}

// Operators that make one value of one, or of two.
bool IsOfValues(OpKind kind) {
  switch (kind) {
#define PLUMB_UNARY(name, ...) case OpKind::k##name:
#include "op/unary.def"
#undef PLUMB_UNARY
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv: return true;
    default: return false;
  }
}

// Whether the group is a function of one integer of 8 bits, and not one that moves or limits it.
bool IsTable(const LayerGroup& group, const BlobTable& blobs) {
  bool computes = false;
  for (const Layer* member : group.members) {
    const bool grid = member->kind == OpKind::kPlumbQuantizeLinear || member->kind == OpKind::kPlumbDequantizeLinear;
    const bool plain = member->kind == OpKind::kReLU || member->kind == OpKind::kReLU6 || member->kind == OpKind::kClip;
    if (!grid && !IsOfValues(member->kind) && !GetOp(member->kind).moves_data_only) return false;
    computes = computes || (IsOfValues(member->kind) && !plain);
  }
  const std::string* read = nullptr;
  for (const LayerGroup::Port& port : group.inputs) {
    if (!blobs.at(port.blob).value.empty()) continue;
    if (read != nullptr && *read != port.blob) return false;
    read = &port.blob;
  }
  return computes && read != nullptr && group.members.back()->kind == OpKind::kPlumbQuantizeLinear;
}

void RoundToF32(Tensor* values, Tensor*) {
  if (values->dtype() != DType::kF64) return;
  double* v = values->data<double>();
  for (int64_t i = 0; i < values->NumElements(); ++i) v[i] = static_cast<double>(static_cast<float>(v[i]));
}

StepKernel KernelAsWritten(OpKind) { return nullptr; }

StepKernel KernelOfTables(OpKind kind) { return kind == OpKind::kSigmoid ? RunLogistic : nullptr; }

StepKernel KernelOfAverages(OpKind kind) {
  switch (kind) {
    case OpKind::kPooling:
    case OpKind::kPlumbAveragePool: return RunSerialAverage;
    case OpKind::kPlumbQuantizeLinear: return RunQuantizeInF32<RoundedBehindZero>;
    default: return nullptr;
  }
}

template <bool kDivides, bool kToEven>
StepKernel KernelOfQuantize(OpKind kind) {
  return kind == OpKind::kPlumbQuantizeLinear ? RunQuantizeInF32<RoundedByF32<kDivides, kToEven>> : nullptr;
}

StepKernel KernelOfCutOff(OpKind kind) {
  return kind == OpKind::kPlumbQuantizeLinear ? RunQuantizeInF32<CutOffByF32> : nullptr;
}

StepKernel KernelFrom127(OpKind kind) {
  return kind == OpKind::kPlumbQuantizeLinear ? RunQuantizeInF32<Above128ByF32> : nullptr;
}

}  // namespace

const std::vector<StepwiseRule>& StepwiseRules() {
  static const auto* rules = new std::vector<StepwiseRule>{
      {"the rule of f32 as written (each operation rounded once, round half to even)", KernelAsWritten},
      {"ONNX Runtime's rule for sigmoid (a table of its f32 function, round half to even)", KernelOfTables},
      {"ONNX Runtime's rule for average pools (one f32 sum, rounded with the zero point added)", KernelOfAverages},
      {"TFLite's rule for QUANTIZE (f32 divided by the scale, halves away from zero)", KernelOfQuantize<true, false>,
       true},
      {"TFLite's rule for QUANTIZE (f32 times 1 / scale, halves away from zero)", KernelOfQuantize<false, false>, true},
      {"XNNPACK's rule for QUANTIZE (f32 times 1 / scale, half to even)", KernelOfQuantize<false, true>, true},
      {"TFLite's rule for tables (the f32 function of each of 256 integers, halves away from zero)",
       KernelOfQuantize<false, false>, false, true},
      {"XNNPACK's rule for tables (the f32 function of each of 256 integers, half to even)",
       KernelOfQuantize<false, true>, false, true},
      {"TNN's rule for quantisation (f32 times 1 / scale, halves away from zero)", KernelOfQuantize<false, false>,
       true},
      {"ncnn's rule for quantisation (f32 times its scale, halves away from zero, from -127 on)", KernelFrom127},
      {"MNN's rule for quantisation (f32 times 1 / scale, halves away from zero, from -127 on)", KernelFrom127},
      {"TNN's naive rule of f32 as written (a half added in f32 and cut off)", KernelOfCutOff},
      {"TNN's naive rule for functions (the f32 function, a half added in f32 and cut off)", KernelOfCutOff, false,
       true},
  };
  return *rules;
}

Result<ReplayResult> ReplayStepwise(const StepwiseRule& rule, const LayerGroup& group,
                                    const std::vector<Tensor>& inputs, const BlobTable& blobs) {
  if (rule.is_table && !IsTable(group, blobs)) return Status::NotSupported("no function of one integer");
  ReplayExtra extra;
  for (size_t m = 0; m < group.members.size(); ++m) {
    const Layer& layer = *group.members[m];
    const StepKernel kernel = rule.kernel_of(layer.kind);
    const bool plain = layer.kind == OpKind::kPlumbQuantizeLinear || layer.kind == OpKind::kPlumbDequantizeLinear ||
                       GetOp(layer.kind).moves_data_only;
    if (rule.alone && !plain) return Status::NotSupported(layer.type + " is more than a quantisation");
    if (kernel == nullptr && !RoundsCorrectly(layer) && !rule.is_table)
      return Status::NotSupported(layer.type + " may be rounded in several ways");
    const bool rounds = !rule.is_table || layer.kind == OpKind::kPlumbDequantizeLinear ||
                        (m + 2 == group.members.size() && kernel == nullptr);
    MemberChange change{static_cast<int>(m), {}, {}, nullptr};
    if (rounds) change.writes = RoundToF32;
    if (kernel != nullptr) change.op.run = kernel;
    extra.changes.push_back(std::move(change));
  }
  return ReplayValues(group, inputs, blobs, extra);
}

}  // namespace plumb
