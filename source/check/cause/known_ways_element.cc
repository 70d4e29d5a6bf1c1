// SPDX-License-Identifier: Apache-2.0
// Proposals for element-wise layers: the layer left out (a fused activation, a bias, gamma, a mask, a scale that got
// lost), another constant (epsilon, the scale of attention), an operand along another axis, a mask that is one off.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "check/cause/known_ways_util.h"
#include "check/numbers/int8.h"
#include "op/binary.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

bool IsFloatBlob(const ProposalContext& c, const std::string& blob) { return IsFloat(c.blobs.at(blob).dtype); }

Layer Forwarding(const Layer& layer, size_t slot) {
  Layer altered = layer;
  altered.kind = OpKind::kIdentity;
  altered.param = GetOp(OpKind::kIdentity).make_param();
  altered.resources.clear();
  altered.inputs = {layer.inputs[slot]};
  return altered;
}

std::string WithoutWords(const Layer& layer, size_t kept) {
  const std::string other = layer.inputs.size() == 2 ? fmt::format("'{}'", layer.inputs[1 - kept]) : "the constant";
  switch (layer.kind) {
    case OpKind::kAdd: return "without adding " + other;
    case OpKind::kSub: return "without subtracting " + other;
    case OpKind::kMul: return "without multiplying by " + other;
    case OpKind::kDiv: return "without dividing by " + other;
    default: return fmt::format("without '{}' ({})", layer.name, layer.type);
  }
}

// One of its inputs in place of the layer's result.
void LeftOut(const ProposalContext& c, Proposals* proposals) {
  const BlobInfo& out = c.blobs.at(c.layer.outputs[0]);
  for (size_t slot = 0; slot < c.layer.inputs.size(); ++slot) {
    const BlobInfo& in = c.blobs.at(c.layer.inputs[slot]);
    const bool only_first = c.layer.kind == OpKind::kSub || c.layer.kind == OpKind::kDiv;
    if (in.dtype != out.dtype || in.shape != out.shape || !in.value.empty() || (only_first && slot > 0)) continue;
    proposals->push_back({WithoutWords(c.layer, slot), "with it", Forwarding(c.layer, slot), {}, "operator"});
  }
}

// An operand of a binary layer, wherever it stands.
struct BinaryOperandAt {
  bool resource = false;  // the layer's own constant
  size_t slot = 0;
  Tensor value;  // empty: not known
  Shape shape;
  std::string name;
  bool constant = false;
};

std::vector<BinaryOperandAt> OperandsOf(const ProposalContext& c) {
  std::vector<BinaryOperandAt> operands;
  for (size_t slot = 0; slot < c.layer.inputs.size(); ++slot) {
    const std::string& blob = c.layer.inputs[slot];
    const Tensor* value = c.value(slot);
    operands.push_back({false, slot, value == nullptr ? Tensor() : *value, c.blobs.at(blob).shape,
                        fmt::format("'{}'", blob), !c.blobs.at(blob).value.empty()});
  }
  const Tensor* element = c.layer.Resource("element");
  if (c.layer.inputs.size() != 1 || element == nullptr) return operands;
  const auto shape = ConstantOperandShape(*element, c.input);
  if (shape.ok()) operands.push_back({true, 0, *element, *shape, "the constant", true});
  return operands;
}

// The layer with `change` made to the operand.
Proposal WithOperand(const ProposalContext& c, const BinaryOperandAt& operand, std::string computed, std::string says,
                     const std::function<Result<Tensor>(const Tensor&)>& change) {
  Proposal proposal{std::move(computed), std::move(says), c.layer};
  if (operand.resource) {
    auto changed = change(operand.value);
    if (changed.ok()) proposal.layer.resources["element"] = std::move(changed).value();
  } else {
    const size_t slot = operand.slot;
    proposal.reads = [slot, change](size_t at, const Tensor& input) -> Result<Tensor> {
      if (at != slot) return input;
      return change(input);
    };
  }
  return proposal;
}

Result<Tensor> Filled(const Tensor& like, double value) {
  PLUMB_ASSIGN_OR_RETURN(Tensor filled, like.Clone());
  for (int64_t i = 0; i < filled.NumElements(); ++i) {
    if (filled.dtype() == DType::kF64) filled.data<double>()[i] = static_cast<double>(static_cast<float>(value));
    if (filled.dtype() == DType::kF32) filled.data<float>()[i] = static_cast<float>(value);
  }
  return filled;
}

// Whether the step takes a root of the layer's result: then a small constant added to it is an epsilon.
bool RootFollows(const ProposalContext& c) {
  return std::any_of(c.group.members.begin(), c.group.members.end(), [&](const Layer* member) {
    const bool root = member->kind == OpKind::kSqrt || member->kind == OpKind::kRsqrt ||
                      member->kind == OpKind::kPower || member->kind == OpKind::kPlumbPow;
    return root && member->inputs[0] == c.layer.outputs[0];
  });
}

// A constant of one element that is another one.
void OtherConstant(const ProposalContext& c, Proposals* proposals) {
  if (!c.cheap) return;
  for (const BinaryOperandAt& operand : OperandsOf(c)) {
    if (!operand.constant || operand.value.NumElements() != 1 || !IsFloat(operand.value.dtype())) continue;
    const double own = operand.value.ValueAt(0);
    if (own == 0 || !std::isfinite(own)) continue;
    const bool epsilon = c.layer.kind == OpKind::kAdd && own > 0 && own < 0.1 && RootFollows(c);
    const std::string name = epsilon ? "epsilon " : "the constant ";
    const auto with = [&](double value) {
      const double signed_value = std::copysign(value, own);
      return WithOperand(c, operand,
                         fmt::format("with {}{}", name, epsilon ? Number(value, 6) : NumberOrRoot(signed_value)),
                         epsilon ? Number(own, 6) : NumberOrRoot(own),
                         [signed_value](const Tensor& tensor) { return Filled(tensor, signed_value); });
    };
    const double size = std::fabs(own);
    SearchValue(c, epsilon ? "epsilon" : "operator", size, epsilon ? 1e-12 : size * 1e-4, epsilon ? 1 : size * 1e4,
                with, proposals);
  }
}

// Dims of the operand as the output's rank sees them.
std::vector<int64_t> AlignedDims(const Shape& operand, const Shape& out) {
  std::vector<int64_t> dims(static_cast<size_t>(out.rank()), 1);
  for (int i = 0; i < operand.rank() && i < out.rank(); ++i)
    dims[static_cast<size_t>(out.rank() - operand.rank() + i)] = operand[i];
  return dims;
}

// A vector that is meant for one axis along another one of the same size; a square matrix transposed.
void OtherBroadcast(const ProposalContext& c, Proposals* proposals) {
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  for (const BinaryOperandAt& operand : OperandsOf(c)) {
    if (operand.shape.rank() > out.rank() || operand.shape.NumElements() == out.NumElements()) continue;
    std::vector<int64_t> dims = AlignedDims(operand.shape, out);
    std::vector<int> own;
    for (int axis = 0; axis < out.rank(); ++axis) {
      if (dims[static_cast<size_t>(axis)] != 1) own.push_back(axis);
    }
    if (own.size() != 1) continue;
    const int64_t size = out[own[0]];
    for (int axis = 0; axis < out.rank(); ++axis) {
      if (axis == own[0] || out[axis] != size) continue;
      std::vector<int64_t> other(dims.size(), 1);
      other[static_cast<size_t>(axis)] = size;
      proposals->push_back(WithOperand(c, operand, fmt::format("with {} along axis {}", operand.name, axis),
                                       "axis " + std::to_string(own[0]),
                                       [other](const Tensor& tensor) { return tensor.Reshaped(Shape(other)); }));
    }
  }
}

// Some values that leave the others alone, some that put out what they are added to.
bool IsMask(const Tensor& tensor) {
  if (!IsFloat(tensor.dtype())) return tensor.dtype() == DType::kBool;
  bool lets = false, hides = false;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const double v = tensor.ValueAt(i);
    lets = lets || v == 0;
    hides = hides || v <= -1e3;
    if (v != 0 && v > -1e3) return false;
  }
  return lets && hides;
}

// What comes in at the end of a mask that is moved.
enum class Incoming { kLastAgain, kHidden, kSeen };

// Element i along the axis is element i + by.
Result<Tensor> ShiftedAlong(const Tensor& tensor, int axis, int64_t by, Incoming incoming) {
  const int64_t size = tensor.shape()[axis], inner = tensor.shape().CountFrom(axis + 1);
  PLUMB_ASSIGN_OR_RETURN(Tensor shifted, ElementsFrom(tensor, tensor.shape(), [=](int64_t i) {
                           const int64_t at = i / inner % size, from = std::clamp<int64_t>(at + by, 0, size - 1);
                           return i + (from - at) * inner;
                         }));
  if (incoming == Incoming::kLastAgain) return shifted;
  double least = 0;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) least = std::min(least, tensor.ValueAt(i));
  const double fill = incoming == Incoming::kHidden ? least : 0;
  for (int64_t i = 0; i < shifted.NumElements(); ++i) {
    const int64_t from = i / inner % size + by;
    if (from >= 0 && from < size) continue;
    if (shifted.dtype() == DType::kF64) shifted.data<double>()[i] = fill;
    if (shifted.dtype() == DType::kF32) shifted.data<float>()[i] = static_cast<float>(fill);
  }
  return shifted;
}

// A mask that is added, also one that is made inside of the step.
void ShiftedMask(const ProposalContext& c, Proposals* proposals) {
  for (const BinaryOperandAt& operand : OperandsOf(c)) {
    const bool known = !operand.value.empty();
    if (known ? !IsMask(operand.value) : !c.cheap) continue;
    for (int axis = std::max(0, operand.shape.rank() - 2); axis < operand.shape.rank(); ++axis) {
      if (operand.shape[axis] < 2) continue;
      for (const int64_t by : {-1, 1}) {
        for (const Incoming incoming : {Incoming::kLastAgain, Incoming::kHidden, Incoming::kSeen}) {
          const auto shifted = [=](const Tensor& tensor) -> Result<Tensor> {
            if (!known && !IsMask(tensor)) return Status::NotSupported("no mask");
            return ShiftedAlong(tensor, axis, by, incoming);
          };
          proposals->push_back(WithOperand(
              c, operand,
              fmt::format("with the mask {} one {} along axis {}", operand.name, by > 0 ? "earlier" : "later", axis),
              "otherwise", shifted));
          proposals->back().family = "mask";  // of a causal one either axis may be meant
        }
      }
    }
  }
}

// A constant of several elements that is read one further or earlier, from its other end on.
void ShiftedConstant(const ProposalContext& c, Proposals* proposals) {
  for (const BinaryOperandAt& operand : OperandsOf(c)) {
    if (!operand.constant || operand.value.empty() || !IsFloat(operand.value.dtype())) continue;
    const Shape shape = operand.shape;
    for (int axis = std::max(0, shape.rank() - 2); axis < shape.rank(); ++axis) {
      if (shape[axis] < 3) continue;
      const int64_t size = shape[axis], inner = shape.CountFrom(axis + 1);
      for (const int64_t by : {1, -1}) {
        const std::string words =
            fmt::format("with {} shifted one {} along axis {}", operand.name, by > 0 ? "further" : "earlier", axis);
        proposals->push_back(WithOperand(c, operand, words, "otherwise", [=](const Tensor& tensor) {
          return ElementsFrom(tensor, tensor.shape(), [=](int64_t i) {
            const int64_t at = i / inner % size;
            return i + ((at + by + size) % size - at) * inner;
          });
        }));
        proposals->back().family = "operand";
        if (axis != PlacesOf(shape) || operand.resource) continue;
        const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
        const int same = axis + out.rank() - shape.rank();  // of the result
        if (same < 0 || out[same] != size) continue;
        proposals->push_back(
            WithOperand(c, operand, words, "otherwise", [by](const Tensor& tensor) { return NextPlaces(tensor, by); }));
        proposals->back().writes = WidenedAtEnd(size, out.CountFrom(same + 1), by);
        proposals->back().family = "operand";
      }
    }
  }
}

constexpr OpKind kOfOneVariable[] = {
#define PLUMB_UNARY(name, ...) OpKind::k##name,
#include "op/unary.def"
#undef PLUMB_UNARY
};

// What the layer makes of numbers around 0, by its own reference; empty: it takes more than them.
std::vector<double> SampleOfFunction(const Layer& layer, const std::vector<double>& at) {
  const Shape shape{static_cast<int64_t>(at.size())};
  auto x = Tensor::Create(DType::kF64, shape), y = Tensor::Create(DType::kF64, shape);
  if (!x.ok() || !y.ok()) return {};
  std::copy(at.begin(), at.end(), x->data<double>());
  const ReferenceArgs args{layer, {&*x}, {&*y}};
  if (!GetReferenceOp(layer.kind).run(args).ok()) return {};
  return {y->data<double>(), y->data<double>() + at.size()};
}

// A function of one variable in front of a product: its family's others. Those at a step's end are found by its values
// (computed_otherwise.cc).
void OtherFunctions(const ProposalContext& c, Proposals* proposals) {
  const auto& members = c.group.members;
  const bool in_front = std::any_of(members.begin() + static_cast<int64_t>(c.member), members.end(),
                                    [](const Layer* other) { return IsProduct(*other); });
  if (!in_front || c.layer.inputs.size() != 1) return;
  if (std::find(std::begin(kOfOneVariable), std::end(kOfOneVariable), c.layer.kind) == std::end(kOfOneVariable)) return;
  const std::vector<double> at = {-7.5, -3.25, -1.5, -0.75, -0.125, 0.125, 0.75, 1.5, 3.25, 7.5, 200};
  const std::vector<double> own = SampleOfFunction(c.layer, at);
  const auto is_own = [&](const FunctionVariant& f) {
    for (size_t i = 0; i < own.size(); ++i) {
      const double y = f.y(at[i]);
      if (!(std::fabs(y - own[i]) <= 1e-9 * std::max(1.0, std::fabs(y)))) return false;
    }
    return !own.empty();
  };
  const auto& variants = FunctionVariants();
  const auto says = std::find_if(variants.begin(), variants.end(), is_own);
  for (const FunctionVariant& other : variants) {
    if (says == variants.end() || &other == &*says || other.family != std::string(says->family)) continue;
    if (other.approximate && !c.cheap) continue;
    proposals->push_back({fmt::format("with '{}' as {}", c.layer.name, other.name), says->name, c.layer, other.op,
                          fmt::format("function {}", c.member)});
  }
}

constexpr OpKind kWithOperands[] = {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv};

}  // namespace

void ProposeForElements(const ProposalContext& context, Proposals* proposals) {
  const Layer& layer = context.layer;
  if (layer.outputs.size() != 1 || !IsFloatBlob(context, layer.outputs[0])) return;
  const bool does_something = layer.kind != OpKind::kIdentity && layer.kind != OpKind::kDropout &&
                              !GetOp(layer.kind).moves_data_only && !IsProduct(layer);
  if (does_something) LeftOut(context, proposals);
  OtherFunctions(context, proposals);
  if (std::find(std::begin(kWithOperands), std::end(kWithOperands), layer.kind) == std::end(kWithOperands)) return;
  OtherConstant(context, proposals);
  OtherBroadcast(context, proposals);
  if (layer.kind == OpKind::kAdd) ShiftedMask(context, proposals);
  ShiftedConstant(context, proposals);
}

}  // namespace plumb
