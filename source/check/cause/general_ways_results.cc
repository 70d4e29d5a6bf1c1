// SPDX-License-Identifier: Apache-2.0
// Proposals for results: in reverse or one further along an axis, parts of a Concat in turn, a mean divided by another
// number, a term times a number; Softmax over several axes, PReLU along another one.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "check/cause/computed_otherwise.h"
#include "check/cause/general_ways.h"
#include "op/concat.h"
#include "op/pooling.h"
#include "op/softmax.h"

namespace plumb {
namespace {

// The step's only result where this layer makes it, and what the device made of it; null where it is another's.
const Tensor* ResultOf(const ProposalContext& c) {
  const ReplayedStep& step = c.step;
  const bool last = c.member + 1 == c.group.members.size() && c.layer.outputs.size() == 1;
  if (!last || step.replay.values.size() != 1 || step.device.size() != 1) return nullptr;
  const Tensor& y = step.replay.values[0];
  const bool floats = y.dtype() == DType::kF64 && IsFloat(step.device[0].dtype());
  return floats && y.NumElements() == step.device[0].NumElements() && y.NumElements() > 0 ? &y : nullptr;
}

void MovedResult(const ProposalContext& c, Proposals* proposals) {
  constexpr int kMaxRank = 5;
  const Shape& shape = c.blobs.at(c.layer.outputs[0]).shape;
  if (c.layer.outputs.size() != 1) return;  // others may have another shape
  if (!IsFloat(c.blobs.at(c.layer.outputs[0]).dtype) || shape.rank() > kMaxRank) return;
  // That of an operand of integers is what the step reads.
  const bool reads = c.layer.kind == OpKind::kPlumbDequantizeLinear && c.group.members.size() > 1;
  const std::string result = reads ? fmt::format("'{}'", c.layer.inputs[0]) : "its result";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t size = shape[axis], inner = shape.CountFrom(axis + 1);
    if (size < 2) continue;
    proposals->push_back(WithMoved(c, fmt::format("with {} in reverse along axis {}", result, axis), "as it is",
                                   [=](int64_t i) { return i + (size - 1 - 2 * (i / inner % size)) * inner; }));
    proposals->back().family = "moved";
    for (const int64_t by : {1, -1}) {
      proposals->push_back(WithMoved(
          c, fmt::format("with {} one {} along axis {}, around its end", result, by > 0 ? "further" : "earlier", axis),
          "as it is", [=](int64_t i) {
            const int64_t at = i / inner % size;
            return i + ((at + by + size) % size - at) * inner;
          }));
      proposals->back().family = "moved";
    }
  }
}

// Two parts of any length in each other's place, or the first behind all others.
void RotatedParts(const ProposalContext& c, Proposals* proposals) {
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  const auto axis = NormalizeAxis(ParamOf<ConcatParam>(c.layer).axis, out.rank());
  const size_t parts = c.layer.inputs.size();
  if (!axis.ok() || parts < 2) return;
  const int64_t size = out[*axis], inner = out.CountFrom(*axis + 1);
  const int64_t first = c.blobs.at(c.layer.inputs[0]).shape[*axis];
  const int64_t last = c.blobs.at(c.layer.inputs[parts - 1]).shape[*axis];
  const auto rotated = [&](const std::string& words, int64_t by) {
    proposals->push_back(WithMoved(c, words, "otherwise", [=](int64_t i) {
      const int64_t at = i / inner % size;
      return i + ((at + by) % size - at) * inner;
    }));
  };
  if (parts == 2)
    return rotated(fmt::format("with '{}' and '{}' exchanged", c.layer.inputs[0], c.layer.inputs[1]), first);
  rotated(fmt::format("with '{}' behind the others", c.layer.inputs[0]), first);
  rotated(fmt::format("with '{}' in front of the others", c.layer.inputs[parts - 1]), size - last);
}

constexpr double kSameNumber = 3e-6;  // of a number that is found from values of f32

bool IsNear(double found, double number) { return std::fabs(found - number) <= kSameNumber * std::fabs(number); }

// A number that a person may have written, or that counts make, next to the one found; nothing: there is none.
std::optional<std::string> WrittenNumber(double found, double* number) {
  if (!std::isfinite(found) || found == 0) return std::nullopt;
  for (const int digits : {1, 2, 3}) {
    *number = std::strtod(Number(found, digits).c_str(), nullptr);
    if (IsNear(found, *number)) return Number(*number, 6);
  }
  for (int below = 1; below <= 128; ++below) {
    const double above = std::nearbyint(found * below);
    *number = above / below;
    if (above != 0 && std::fabs(above) <= 4096 && IsNear(found, *number))
      return fmt::format("{} / {}", Number(above, 6), below);
  }
  const double square = std::nearbyint(found * found), inverse = std::nearbyint(1 / (found * found));
  for (const double root : {std::sqrt(square), 1 / std::sqrt(inverse)}) {
    *number = std::copysign(root, found);
    if (std::isfinite(root) && root != 0 && IsNear(found, *number)) return NumberOrRoot(*number);
  }
  return std::nullopt;
}

// How many elements of the input each of the result averages; 0: it is no mean.
int64_t AveragedBy(const ProposalContext& c) {
  bool mean = c.layer.kind == OpKind::kReduceMean;
  if (c.layer.kind == OpKind::kPooling) {
    const auto shape = ResolvePooling(c.layer, c.input);
    mean = shape.ok() && shape->average && shape->window.h.out * shape->window.w.out == 1;
  }
  const int64_t out = c.blobs.at(c.layer.outputs[0]).shape.NumElements();
  return mean && out > 0 && c.input.NumElements() % out == 0 ? c.input.NumElements() / out : 0;
}

// A mean whose sum is divided by another number: of a row that is padded, say.
void OtherDivisor(const ProposalContext& c, Proposals* proposals) {
  const Tensor* y = ResultOf(c);
  const auto count = static_cast<double>(AveragedBy(c));
  if (y == nullptr || count < 2) return;
  double both = 0, own = 0;
  for (int64_t i = 0; i < y->NumElements(); ++i) {
    const double value = y->data<double>()[i];
    both += value * c.step.device[0].ValueAt(i), own += value * value;
  }
  const double found = count * own / both, divisor = std::nearbyint(found);
  if (!IsNear(found, divisor) || divisor < 1 || divisor == count) return;
  Proposal proposal{fmt::format("divided by {}", Number(divisor, 9)), Number(count, 9), c.layer, {}, "divisor"};
  proposal.writes = [times = count / divisor](Tensor* values, Tensor* tau) {
    for (Tensor* tensor : {values, tau}) {
      if (tensor != nullptr) ForEachReal(tensor, [times](double v) { return times * v; });
    }
  };
  proposals->push_back(std::move(proposal));
}

// The operand that is known, over the shape of the result.
std::optional<Tensor> OverResult(const Tensor& operand, Shape shape, const Shape& out) {
  if (operand.NumElements() == 0 || shape.rank() > out.rank()) return std::nullopt;
  std::vector<int64_t> dims(static_cast<size_t>(out.rank()), 1);
  for (int i = 0; i < shape.rank(); ++i) dims[static_cast<size_t>(out.rank() - shape.rank() + i)] = shape[i];
  auto wide = Tensor::Create(DType::kF64, out);
  if (!wide.ok()) return std::nullopt;
  for (int axis = 0; axis < out.rank(); ++axis) {
    if (dims[static_cast<size_t>(axis)] != 1 && dims[static_cast<size_t>(axis)] != out[axis]) return std::nullopt;
  }
  for (int64_t i = 0; i < wide->NumElements(); ++i) {
    int64_t at = 0, rest = i;
    for (int axis = 0; axis < out.rank(); ++axis) {
      const int64_t inner = out.CountFrom(axis + 1), place = rest / inner;
      rest %= inner;
      at = at * dims[static_cast<size_t>(axis)] + (dims[static_cast<size_t>(axis)] == 1 ? 0 : place);
    }
    wide->data<double>()[i] = operand.ValueAt(at);
  }
  return std::move(wide).value();
}

// a + t b or t a + b: a residual that is scaled, a Gemm's alpha and beta.
void ScaledTerm(const ProposalContext& c, Proposals* proposals) {
  const Tensor* y = ResultOf(c);
  if (y == nullptr) return;
  const auto term = [&](const std::string& name, const std::string& other, const std::optional<Tensor>& b) {
    if (!b) return;
    double of_b = 0, b_b = 0, of_a = 0, a_a = 0;
    for (int64_t i = 0; i < y->NumElements(); ++i) {
      const double value = b->data<double>()[i], a = y->data<double>()[i] - value;
      const double device = c.step.device[0].ValueAt(i);
      of_b += (device - a) * value, b_b += value * value, of_a += (device - value) * a, a_a += a * a;
    }
    const auto propose = [&](const std::string& what, double found, bool of_term) {
      double number = 1;
      const auto words = WrittenNumber(found, &number);
      if (!words || number == 1) return;
      Proposal proposal{fmt::format("with {} times {}", what, *words), "once", c.layer, {}, "constant"};
      proposal.writes = [=, known = *b](Tensor* values, Tensor* tau) {
        for (int64_t i = 0; i < values->NumElements(); ++i) {
          double& value = values->data<double>()[i];
          const double own = known.data<double>()[i];
          value = of_term ? value + (number - 1) * own : number * (value - own) + own;
        }
        if (tau != nullptr) ForEachReal(tau, [number](double t) { return t * (1 + std::fabs(number)); });
      };
      proposals->push_back(std::move(proposal));
    };
    propose(name, of_b / b_b, true);
    propose(other, of_a / a_a, false);
  };
  const Shape& out = y->shape();
  if (const Tensor* element = c.layer.Resource("element"); element != nullptr && c.layer.inputs.size() == 1) {
    const auto shape = ConstantOperandShape(*element, c.input);
    if (shape.ok()) term("the constant", fmt::format("'{}'", c.layer.inputs[0]), OverResult(*element, *shape, out));
    return;
  }
  for (size_t slot = 0; slot < c.layer.inputs.size() && c.layer.inputs.size() == 2; ++slot) {
    const Tensor* value = c.value(slot);
    if (value == nullptr || value->dtype() != DType::kF64) continue;
    term(fmt::format("'{}'", c.layer.inputs[slot]), fmt::format("'{}'", c.layer.inputs[1 - slot]),
         OverResult(*value, value->shape(), out));
  }
}

// Softmax over all axes from its own on, as ONNX had it until opset 12.
void FlattenedSoftmax(const ProposalContext& c, Proposals* proposals) {
  const auto axis = NormalizeAxis(ParamOf<SoftmaxParam>(c.layer).axis, c.input.rank());
  if (!axis.ok() || *axis + 1 >= c.input.rank()) return;
  const bool log = c.layer.kind == OpKind::kLogSoftmax;
  const int64_t size = c.input.CountFrom(*axis);
  proposals->push_back(OfItsInput(c, fmt::format("over all axes from {} on (ONNX's before opset 13)", *axis),
                                  fmt::format("axis {} alone", *axis), "",
                                  [size, log](const Tensor& input, Tensor* values, Tensor* tau) {
                                    for (int64_t row = 0; row < input.NumElements() / size; ++row) {
                                      const double* x = input.data<double>() + row * size;
                                      double* y = values->data<double>() + row * size;
                                      const double largest = *std::max_element(x, x + size);
                                      double sum = 0;
                                      for (int64_t i = 0; i < size; ++i) sum += std::exp(x[i] - largest);
                                      for (int64_t i = 0; i < size; ++i) {
                                        y[i] = log ? x[i] - largest - std::log(sum) : std::exp(x[i] - largest) / sum;
                                        const double reach = log ? std::fabs(x[i]) + std::fabs(largest) + 1 : y[i];
                                        if (tau != nullptr) tau->data<double>()[row * size + i] = 64 * 0x1p-24 * reach;
                                      }
                                    }
                                  }));
}

// A PReLU whose slopes lie along another axis of their size.
void OtherSlopeAxis(const ProposalContext& c, Proposals* proposals) {
  const Tensor* slope = c.layer.Resource("slope");
  if (slope == nullptr || slope->NumElements() < 2) return;
  for (int axis = 0; axis < c.input.rank(); ++axis) {
    if (axis == 1 || c.input[axis] != slope->NumElements()) continue;
    const int64_t inner = c.input.CountFrom(axis + 1), size = c.input[axis];
    proposals->push_back(OfItsInput(c, fmt::format("with its slopes along axis {}", axis), "axis 1", "",
                                    [=, slopes = *slope](const Tensor& input, Tensor* values, Tensor* tau) {
                                      for (int64_t i = 0; i < input.NumElements(); ++i) {
                                        const double x = input.data<double>()[i];
                                        const double y = x < 0 ? slopes.ValueAt(i / inner % size) * x : x;
                                        values->data<double>()[i] = y;
                                        if (tau != nullptr) tau->data<double>()[i] = 8 * 0x1p-24 * std::fabs(y);
                                      }
                                    }));
  }
}

}  // namespace

void ProposeOtherResults(const ProposalContext& context, Proposals* proposals) {
  switch (context.layer.kind) {
    case OpKind::kConcat: RotatedParts(context, proposals); break;
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax: FlattenedSoftmax(context, proposals); break;
    case OpKind::kPReLU: OtherSlopeAxis(context, proposals); break;
    case OpKind::kAdd: ScaledTerm(context, proposals); break;
    default: break;
  }
  OtherDivisor(context, proposals);
  if (context.cheap) MovedResult(context, proposals);
}

}  // namespace plumb
