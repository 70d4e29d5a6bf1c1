// SPDX-License-Identifier: Apache-2.0
#include "check/cause/overflow.h"

#include <fmt/core.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>

#include "check/numbers/int8.h"

namespace plumb {
namespace {

bool Beyond(double value) { return std::isfinite(value) && value > static_cast<double>(FLT_MAX); }

double LargestOf(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const double x = std::fabs(tensor.ValueAt(i));
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  return largest;
}

// Values that only the device has not finite.
int64_t CountLost(const ReplayedStep& step) {
  int64_t lost = 0;
  for (size_t o = 0; o < step.device.size(); ++o) {
    const Tensor &device = step.device[o], &reference = step.replay.values[o];
    if (!IsFloat(device.dtype()) || device.NumElements() != reference.NumElements()) continue;
    for (int64_t i = 0; i < device.NumElements(); ++i) {
      lost += !std::isfinite(device.ValueAt(i)) && std::isfinite(static_cast<float>(reference.ValueAt(i)));
    }
  }
  return lost;
}

// "" unless all infinities that only the reference has are f32's largest value at the device, of the same sign.
std::string DescribeHeld(const ReplayedStep& step) {
  int64_t held = 0;
  for (size_t o = 0; o < step.device.size(); ++o) {
    const Tensor &device = step.device[o], &reference = step.replay.values[o];
    if (device.dtype() != DType::kF32 || device.NumElements() != reference.NumElements()) continue;
    for (int64_t i = 0; i < device.NumElements(); ++i) {
      const float found = device.data<float>()[i], right = static_cast<float>(reference.ValueAt(i));
      if (!std::isinf(right) || !std::isfinite(found)) continue;
      if (found != (right > 0 ? FLT_MAX : -FLT_MAX)) return "";
      ++held;
    }
  }
  if (held == 0) return "";
  return fmt::format("clamped to f32's range: {}{} held at its largest, 3.4e+38, where the layer gives infinity", held,
                     held == 1 ? " value is" : " values are");
}

// How many values of the input go into one of the output, at most.
double TermsOf(const Layer& layer, const Tensor& x, double outputs) {
  if (layer.kind == OpKind::kPlumbCumSum) return static_cast<double>(x.NumElements());
  const Tensor* weight = layer.Resource("weight");
  if (weight != nullptr && IsProduct(layer))
    return static_cast<double>(weight->NumElements()) /
           std::max<double>(1, static_cast<double>(weight->shape().DimOrOne(0)));
  if (IsProduct(layer)) return static_cast<double>(x.shape().rank() == 0 ? 1 : x.shape()[x.shape().rank() - 1]);
  return std::max(1.0, static_cast<double>(x.NumElements()) / std::max(1.0, outputs));
}

// What the sums inside of the layer may reach, and in words what they are.
double SumsInside(const Layer& layer, const std::vector<Tensor>& inputs, double outputs, const char** what) {
  if (inputs.empty()) return 0;
  const double x = LargestOf(inputs[0]), terms = TermsOf(layer, inputs[0], outputs);
  if (GetOp(layer.kind).sums == Sums::kSquares) {
    *what = "the squares that it sums";
    return x * x * terms;
  }
  *what = "the terms that it sums";
  if (GetOp(layer.kind).sums == Sums::kTerms) return x * terms;
  if (!IsProduct(layer)) return 0;
  *what = "the products that it sums";
  const Tensor* weight = layer.Resource("weight");
  return x * terms * (weight != nullptr ? LargestOf(*weight) : inputs.size() > 1 ? LargestOf(inputs[1]) : 0);
}

std::string Sentence(const std::string& what, double reach, int64_t lost) {
  char number[32];
  std::snprintf(number, sizeof(number), "%.2g", reach);
  return fmt::format("overflow: {} reach {}, beyond f32's 3.4e+38; {}{} infinite or NaN for it", what, number, lost,
                     lost == 1 ? " value is" : " values are");
}

// The values of a member's inputs or outputs, which stand inside of the group.
class Inside {
 public:
  explicit Inside(const ReplayedStep& step) : step_(step) {}

  Result<std::vector<Tensor>> OutputsOf(size_t m) const {
    LayerGroup part = step_.group;
    part.members.resize(m + 1);
    part.inputs.clear();
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < step_.group.inputs.size(); ++i) {
      if (step_.group.inputs[i].member > static_cast<int>(m)) continue;
      part.inputs.push_back(step_.group.inputs[i]);
      inputs.push_back(step_.inputs[i]);
    }
    part.outputs.clear();
    const std::vector<std::string>& outputs = part.members[m]->outputs;
    for (size_t slot = 0; slot < outputs.size(); ++slot)
      part.outputs.push_back({static_cast<int>(m), static_cast<int>(slot), outputs[slot]});
    PLUMB_ASSIGN_OR_RETURN(ReplayResult replay, ReplayValues(part, inputs, step_.blobs));
    return std::move(replay.values);
  }

  Result<std::vector<Tensor>> InputsOf(size_t m) const {
    const Layer& layer = *step_.group.members[m];
    std::vector<Tensor> values(layer.inputs.size());
    for (size_t i = 0; i < step_.group.inputs.size(); ++i) {
      const LayerGroup::Port& port = step_.group.inputs[i];
      if (port.member == static_cast<int>(m)) values[static_cast<size_t>(port.slot)] = step_.inputs[i];
    }
    for (size_t slot = 0; slot < values.size(); ++slot) {
      for (size_t from = 0; from < m && values[slot].empty(); ++from) {
        const auto& made = step_.group.members[from]->outputs;
        const auto at = std::find(made.begin(), made.end(), layer.inputs[slot]);
        if (at == made.end()) continue;
        PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, OutputsOf(from));
        values[slot] = outputs[static_cast<size_t>(at - made.begin())];
      }
    }
    return values;
  }

 private:
  const ReplayedStep& step_;
};

}  // namespace

std::string DescribeOverflow(const ReplayedStep& step) {
  const int64_t lost = CountLost(step);
  if (lost == 0) return DescribeHeld(step);
  const Inside inside(step);
  for (size_t m = 0; m < step.group.members.size(); ++m) {
    const Layer& layer = *step.group.members[m];
    const std::string name = fmt::format("'{}' ({})", layer.name, layer.type);
    const auto inputs = inside.InputsOf(m);
    const auto outputs = inside.OutputsOf(m);
    if (!inputs.ok() || !outputs.ok()) continue;
    double made = 0, count = 0;
    for (const Tensor& output : *outputs) {
      if (IsFloat(output.dtype())) made = std::max(made, LargestOf(output));
      count += static_cast<double>(output.NumElements());
    }
    const char* what = "";
    const double sums = SumsInside(layer, *inputs, count, &what);
    if (Beyond(sums)) return Sentence(fmt::format("in {} {}", name, what), sums, lost);
    if (Beyond(made)) return Sentence("the values of " + name, made, lost);
  }
  return "";
}

}  // namespace plumb
