#include "check/arithmetic.h"

#include <algorithm>

#include "base/words.h"
#include "op/convolution.h"

namespace plumb {
namespace {

struct Row {
  SubjectArithmetic arithmetic;
  const char* name;
};
constexpr Row kArithmeticRows[] = {{SubjectArithmetic::kFp32, "fp32"},
                                   {SubjectArithmetic::kWinograd, "fp32+winograd"},
                                   {SubjectArithmetic::kTf32, "tf32"},
                                   {SubjectArithmetic::kFp16, "fp16"},
                                   {SubjectArithmetic::kBf16, "bf16"},
                                   {SubjectArithmetic::kStoredF16, "fp32+f16-storage"},
                                   {SubjectArithmetic::kStoredBf16, "fp32+bf16-storage"},
                                   {SubjectArithmetic::kInt8, "int8"}};

bool MayBe3x3(const Layer& layer) {
  if (layer.kind != OpKind::kConvolution) return false;
  const auto& p = static_cast<const ConvolutionParam&>(*layer.param);
  return p.kernel_h == 3 && p.kernel_w == 3 && p.stride_h == 1 && p.stride_w == 1 && p.dilation_h == 1 &&
         p.dilation_w == 1 && p.group == 1;
}

}  // namespace

Result<SubjectArithmetic> ParseArithmetic(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : kArithmeticRows) {
    if (name == row.name) return row.arithmetic;
    names.emplace_back(row.name);
  }
  return Status::InvalidArgument(UnknownWord("SessionOptions::arithmetic", name, names));
}

const char* ArithmeticName(SubjectArithmetic arithmetic) {
  for (const Row& row : kArithmeticRows) {
    if (row.arithmetic == arithmetic) return row.name;
  }
  return "fp32";
}

const char* Int8WeightsName(Int8Weights weights) {
  if (weights == Int8Weights::kPerChannel) return "weights rounded to 127 steps of max|w| per output channel";
  if (weights == Int8Weights::kPerTensor) return "weights rounded to 127 steps of max|w| per tensor";
  return "weights of unknown scale, counted as noise";
}

DType StorageOf(SubjectArithmetic arithmetic) {
  switch (arithmetic) {
    case SubjectArithmetic::kFp16:
    case SubjectArithmetic::kStoredF16: return DType::kF16;
    case SubjectArithmetic::kBf16:
    case SubjectArithmetic::kStoredBf16: return DType::kBF16;
    case SubjectArithmetic::kInt8: return DType::kI8;
    default: return DType::kF32;
  }
}

bool RoundsWeights(SubjectArithmetic arithmetic) {
  return arithmetic == SubjectArithmetic::kFp16 || arithmetic == SubjectArithmetic::kBf16;
}

Arithmetic ArithmeticFor(const LayerGroup& group, SubjectArithmetic arithmetic) {
  Arithmetic result;
  result.any_winograd = arithmetic == SubjectArithmetic::kWinograd;
  const bool product = std::any_of(group.members.begin(), group.members.end(), [](const Layer* member) {
    return member->kind == OpKind::kConvolution || member->kind == OpKind::kConvolution1D ||
           member->kind == OpKind::kDeconvolution || member->kind == OpKind::kInnerProduct ||
           member->kind == OpKind::kMatMul;
  });
  if (arithmetic == SubjectArithmetic::kTf32 && product) result.u = 0x1p-11;
  // Nobody knows whether such a runtime rounded gamma, beta, mean and variance or what they were folded into: their
  // roundings reach 5 units of the larger term, and the bound of BatchNormCxx is 24 u.
  const bool folded = std::any_of(group.members.begin(), group.members.end(),
                                  [](const Layer* member) { return member->kind == OpKind::kBatchNormCxx; });
  const DType storage = StorageOf(arithmetic);
  if (folded && RoundsWeights(arithmetic)) result.u = (storage == DType::kF16 ? 0x1p-11 : 0x1p-8) / 4;
  return result;
}

bool MayBeWinograd(const LayerGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(), [](const Layer* member) { return MayBe3x3(*member); });
}

}  // namespace plumb
