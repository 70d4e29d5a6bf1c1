// SPDX-License-Identifier: Apache-2.0
// ToleranceOf, and the bounds behind it.
#include "session/call_tolerance.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/core/inspect.h"
#include "check/numbers/arithmetic.h"
#include "check/numbers/stored_half.h"
#include "check/subject/judged_graph.h"
#include "check/subject/subject_steps.h"

namespace plumb {
namespace {

// A step's outputs with what may be off in each: at the widest level of its bound, which a right one may need.
Status AddTolerances(const Cone& cone, const BlobTable& blobs, const CallGraph& call, const CallArithmetic& way,
                     const CallOutputs& given, std::map<std::string, CallBound>* found) {
  const NumericModel& model = ModelOf(way.arithmetic);
  std::vector<Tensor> inputs;
  for (const LayerGroup::Port& port : cone.group.inputs) {
    const auto input = call.inputs.find(port.blob);
    Tensor value = input != call.inputs.end() ? input->second : blobs.at(port.blob).value;
    if (value.empty()) {
      PLUMB_ASSIGN_OR_RETURN(value, given.Load(port.blob));
    }
    PLUMB_ASSIGN_OR_RETURN(value, Widened(value));
    inputs.push_back(std::move(value));
  }
  Arithmetic arithmetic = ArithmeticFor(cone.group, model);
  ReplayExtra extra;
  if (way.narrow_sums) UseOtherProducts(cone.group, RoundingEachSum(model), &arithmetic, &extra);
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay,
                         ReplayWithBound(cone.group, inputs, blobs, arithmetic, MaxBoundLevel(cone.group), extra));
  for (size_t i = 0; i < cone.group.outputs.size(); ++i) {
    CallBound& bound = (*found)[cone.group.outputs[i].blob];
    CallTolerance& one = bound.stored;
    bound.values = one.expected = replay.values[i];
    bound.tau = one.tau = replay.tau[i];
    if (!model.is_half() || one.expected.dtype() != DType::kF64) continue;
    PLUMB_ASSIGN_OR_RETURN(const Tensor rounded, RoundedTo(model.blobs, one.expected));
    PLUMB_ASSIGN_OR_RETURN(const Tensor device, rounded.ConvertedTo(DType::kF32));
    PLUMB_RETURN_IF_ERROR(JudgeAsStored(model.blobs, device, &one.expected, &one.tau));
  }
  return Status::Ok();
}

// What allows least on average, of the pairs that allow every tau: the sum of atol and rtol times the mean is convex.
void FitPair(CallTolerance* one) {
  const int64_t count = one->expected.NumElements();
  std::vector<double> size, tau;
  double mean = 0, most = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double y = std::fabs(one->expected.ValueAt(i)), t = one->tau.ValueAt(i);
    if (!std::isfinite(y) || !std::isfinite(t)) continue;
    size.push_back(y);
    tau.push_back(t);
    mean += y;
    if (y > 0) most = std::max(most, t / y);
  }
  mean /= std::max<double>(1, static_cast<double>(size.size()));
  const auto atol = [&](double rtol) {
    double least = 0;
    for (size_t i = 0; i < size.size(); ++i) least = std::max(least, tau[i] - rtol * size[i]);
    return least;
  };
  constexpr int kSteps = 60;  // each leaves two thirds
  double low = 0, high = most;
  for (int step = 0; step < kSteps && high > low; ++step) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (atol(a) + a * mean <= atol(b) + b * mean ? high : low) = atol(a) + a * mean <= atol(b) + b * mean ? b : a;
  }
  constexpr double kUp = 1 + 1e-12;  // the test's own sum rounds, too
  one->rtol = high * kUp;
  one->atol = atol(high) * kUp;
}

}  // namespace

Result<std::vector<CallBound>> BoundsOf(const CallGraph& call, const CallOutputs& outputs,
                                        const CallArithmetic& arithmetic) {
  const JudgedGraph judged = MakeJudgedGraph(call.graph, call.record, outputs);
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(judged.graph));
  const auto known = [&](const std::string& blob) { return outputs.Has(blob) || call.inputs.count(blob) != 0; };
  std::map<std::string, CallBound> found;
  for (const Cone& cone : FindCones(judged.graph, blobs, known)) {
    PLUMB_RETURN_IF_ERROR(AddTolerances(cone, blobs, call, arithmetic, outputs, &found));
  }
  std::vector<CallBound> bounds;
  for (const std::string& name : call.graph.outputs) {
    if (found.count(name) == 0) return Status::NotSupported(fmt::format("output '{}' follows from constants", name));
    bounds.push_back(found.at(name));
  }
  return bounds;
}

Result<std::vector<CallTolerance>> ToleranceOf(const OperatorCall& call, const CallArithmetic& arithmetic,
                                               size_t num_outputs) {
  PLUMB_ASSIGN_OR_RETURN(const CallGraph made, MakeCallGraph(call, num_outputs));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(made.graph));
  std::vector<Tensor> any;  // outputs of the right shapes: which blobs are known decides what is one step
  for (const std::string& name : made.graph.outputs) {
    PLUMB_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Zeros(blobs.at(name).dtype, blobs.at(name).shape));
    any.push_back(std::move(zeros));
  }
  PLUMB_ASSIGN_OR_RETURN(const CallOutputs outputs, CallOutputs::Of(made, any));
  PLUMB_ASSIGN_OR_RETURN(std::vector<CallBound> bounds, BoundsOf(made, outputs, arithmetic));
  std::vector<CallTolerance> tolerances;
  for (CallBound& bound : bounds) {
    FitPair(&bound.stored);
    tolerances.push_back(std::move(bound.stored));
  }
  return tolerances;
}

}  // namespace plumb
