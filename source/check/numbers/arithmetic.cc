// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/arithmetic.h"

#include <fmt/core.h>

#include <algorithm>

#include "check/numbers/int8.h"
#include "op/convolution.h"
#include "plumb/tool/printing.h"
#include "reference/sum/winograd.h"

namespace plumb {
namespace {

using A = SubjectArithmetic;
constexpr DType kF32 = DType::kF32, kF16 = DType::kF16, kBF16 = DType::kBF16;

Numerics AnyWinograd() {
  Numerics numerics;
  numerics.algorithm = Numerics::kWinograd;
  return numerics;
}

Numerics RoundedOperands(DType storage) {
  Numerics numerics;
  numerics.storage = storage;
  return numerics;
}

// blobs, weights, chains, products, u_products
const std::vector<NumericModel>& Models() {
  static const auto* models = new std::vector<NumericModel>{
      {A::kFp32, "fp32"},
      {A::kWinograd, "fp32+winograd", kF32, kF32, false, AnyWinograd()},
      {A::kTf32, "tf32", kF32, kF32, false, {}, 0x1p-11},
      {A::kFp16, "fp16", kF16, kF16},
      {A::kBf16, "bf16", kBF16, kBF16},
      {A::kChainedF16, "fp16+f32-chains", kF16, kF16, true},
      {A::kChainedBf16, "bf16+f32-chains", kBF16, kBF16, true},
      {A::kStoredF16, "fp32+f16-storage", kF16, kF32, true},
      {A::kStoredBf16, "fp32+bf16-storage", kBF16, kF32, true},
      {A::kF16Products, "fp32+f16-products", kF32, kF32, false, RoundedOperands(kF16)},
      {A::kBf16Products, "fp32+bf16-products", kF32, kF32, false, RoundedOperands(kBF16)},
      {A::kNarrowProducts, "fp32+narrow-products"},
      {A::kInt8, "int8", DType::kI8},
  };
  return *models;
}

double RoundoffOf(DType accumulator) {
  if (accumulator == kF16) return 0x1p-11;
  return accumulator == kBF16 ? 0x1p-8 : 0x1p-24;
}

bool MayBeWinograd(const Layer& layer) {
  if (layer.kind != OpKind::kConvolution) return false;
  const auto& p = static_cast<const ConvolutionParam&>(*layer.param);
  return p.stride_h == 1 && p.stride_w == 1 && p.dilation_h == 1 && p.dilation_w == 1 &&
         (p.group == 1 || p.in_channels_per_group > 1) && reference::IsWinogradKernel(p.kernel_h, p.kernel_w);
}

}  // namespace

const NumericModel& ModelOf(SubjectArithmetic arithmetic) {
  for (const NumericModel& model : Models()) {
    if (model.arithmetic == arithmetic) return model;
  }
  return Models()[0];
}

Result<SubjectArithmetic> ParseArithmetic(const std::string& name) {
  std::vector<std::string> names;
  for (const NumericModel& model : Models()) {
    if (name == model.name) return model.arithmetic;
    names.emplace_back(model.name);
  }
  return Status::InvalidArgument(UnknownWord("SessionOptions::arithmetic", name, names));
}

const char* ArithmeticName(SubjectArithmetic arithmetic) { return ModelOf(arithmetic).name; }

const Layer* ProductLayerOf(const LayerGroup& group) {
  for (const Layer* member : group.members) {
    if (IsProduct(*member)) return member;
  }
  return nullptr;
}

std::string ProductOf(const LayerGroup& group) {
  const Layer* product = ProductLayerOf(group);
  return product == nullptr ? "" : product->type;
}

Arithmetic ArithmeticFor(const LayerGroup& group, const NumericModel& model) {
  Arithmetic result;
  if (!ProductOf(group).empty()) result.u = model.u_products;
  // Nobody knows whether such a runtime rounded gamma, beta, mean and variance or what they were folded into: their
  // roundings reach 5 units of the larger term, and the bound of BatchNormCxx is 24 u.
  const bool folded = std::any_of(group.members.begin(), group.members.end(),
                                  [](const Layer* member) { return member->kind == OpKind::kBatchNormCxx; });
  if (folded && model.weights != kF32) result.u = (model.weights == kF16 ? 0x1p-11 : 0x1p-8) / 4;
  return result;
}

void UseNumerics(const Numerics& numerics, Arithmetic* arithmetic, ReplayExtra* extra) {
  arithmetic->products = numerics;
  arithmetic->u = std::max(arithmetic->u, RoundoffOf(numerics.accumulator));
  extra->operands = numerics.storage;
}

bool UseOtherProducts(const LayerGroup& group, const NumericModel& model, Arithmetic* arithmetic, ReplayExtra* extra) {
  const bool winograd = model.products.algorithm == Numerics::kWinograd, sums = model.products.accumulator != kF32;
  const bool operands = model.products.storage != kF32 && !ProductOf(group).empty();
  if (winograd ? !MayBeWinograd(group) : !operands && !sums) return false;
  UseNumerics(model.products, arithmetic, extra);
  return true;
}

bool MayBeWinograd(const LayerGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const Layer* member) { return MayBeWinograd(*member); });
}

NumericModel RoundingEachSum(const NumericModel& half) {
  NumericModel model = half;
  model.products.accumulator = model.products.storage = half.blobs;
  return model;
}

void ProductEvidence::Note(const std::string& type, bool beyond, bool explained) {
  Count& count = counts_[type];
  ++count.possible;
  count.beyond += beyond;
  count.explained += explained;
}

int ProductEvidence::possible() const {
  int sum = 0;
  for (const auto& entry : counts_) sum += entry.second.possible;
  return sum;
}

int ProductEvidence::explained() const {
  int sum = 0;
  for (const auto& entry : counts_) sum += entry.second.explained;
  return sum;
}

bool ProductEvidence::hopeless(int beyond) const {
  constexpr int kPatience = 6;
  return beyond > 2 * explained() + kPatience;
}

bool ProductEvidence::found(int beyond) const {
  if (explained() < 2 || 2 * explained() <= beyond) return false;
  return sums() || 2 * explained() > possible() || (winograd() && explained() >= 3);
}

bool ProductEvidence::adopts(const std::string& type) const {
  const auto it = counts_.find(type);
  if (it == counts_.end()) return false;
  const Count& count = it->second;
  if (sums()) return 2 * count.explained > count.beyond && (count.explained > 1 || count.possible == 1);
  return winograd() || 2 * count.explained > count.possible;
}

std::string ProductEvidence::What() const {
  if (sums()) return fmt::format("sums in {}", DTypeName(model_.products.accumulator));
  return fmt::format("sums of products of {} operands", DTypeName(model_.products.storage));
}

std::vector<ComputedAs> ProductEvidence::Computed() const {
  std::vector<ComputedAs> computed;
  const DType format = sums() ? model_.products.accumulator : model_.products.storage;
  for (const auto& [type, count] : counts_) {
    if (winograd() || count.explained == 0 || !adopts(type)) continue;
    // Operands of 11 bits are either: f16 alone is coarser below 2^-14.
    const char* name = format == kF16 && !sums() ? "f16 or tf32" : DTypeName(format);
    const std::string what = fmt::format("{} {}", name, sums() ? "sums" : "operands");
    computed.push_back({what, {DTypeName(format)}, type, count.explained, count.possible});
  }
  return computed;
}

std::string ProductEvidence::Because(int beyond) const {
  std::string text = fmt::format("{} of {} layers that are beyond {} are not beyond ", explained(), beyond,
                                 sums() ? model_.name : ModelOf(A::kFp32).name);
  if (winograd()) return text + "Winograd's algorithm";
  text += What() + ": ";
  std::string types;
  for (const auto& [type, count] : counts_) {
    if (count.explained == 0) continue;
    types += fmt::format("{}{} of {} {}", types.empty() ? "" : ", ", count.explained, count.possible, type);
  }
  return text + types;
}

}  // namespace plumb
