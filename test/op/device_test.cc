// SPDX-License-Identifier: Apache-2.0
#include "op/device_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#include "check/judge/judge.h"
#include "check/numbers/arithmetic.h"
#include "check/numbers/stored_half.h"
#include "device/device.h"
#include "op/guard_kernel.h"
#include "plumb/plumb.h"
#include "reference/core/reference_op.h"
#include "util/op_graph.h"

namespace plumb {
namespace {

struct Reference {
  std::vector<Tensor> outputs, taus;
};

Result<Reference> Compute(const OpInstance& instance, const Numerics& numerics) {
  Reference reference;
  std::vector<Tensor> inputs;
  ReferenceArgs args{instance.layer(), {}, {}};
  BoundArgs bound;
  ReplayExtra extra;
  UseNumerics(numerics, &bound.arithmetic, &extra);
  for (const Tensor& t : instance.inputs) inputs.push_back(IsFloat(t.dtype()) ? t.ConvertedTo(DType::kF64).value() : t);
  for (const Tensor& t : inputs) args.inputs.push_back(&t);
  for (const BlobInfo& out : instance.outputs) {
    reference.outputs.push_back(Tensor::Zeros(IsFloat(out.dtype) ? DType::kF64 : out.dtype, out.shape).value());
    reference.taus.push_back(Tensor::Zeros(DType::kF64, out.shape).value());
  }
  for (Tensor& t : reference.outputs) args.outputs.push_back(&t);
  for (Tensor& t : reference.taus) bound.tau.push_back(&t);
  const ReferenceOp& op = GetReferenceOp(instance.layer().kind);
  bound.level = op.max_level;
  PLUMB_RETURN_IF_ERROR(op.run_with_bound(args, bound));
  return reference;
}

// How much finer than tau, which is that of f32, f64 must be: 2^-44 where f32's unit roundoff is 2^-24.
constexpr double kDoubleSlack = 0x1p-20;

// The largest E and R of a device and the case that reached them.
struct Worst {
  int cases = 0;
  double e = 0, r = 0;
  std::string e_case, r_case;
};
std::map<std::string, Worst>& WorstOf() {
  static auto* worst = new std::map<std::string, Worst>;
  return *worst;
}

void Note(const std::string& device, const std::string& name, double e, double r) {
  Worst& worst = WorstOf()[device];
  ++worst.cases;
  if (e > worst.e) worst.e = e, worst.e_case = name;
  if (r > worst.r) worst.r = r, worst.r_case = name;
}

// One element: NaN and infinities by class, else E = |error| / tau.
void Judge(double want, double tau, float got, int64_t index, double* worst, double* squares) {
  const float rounded = static_cast<float>(want);
  if (!std::isfinite(rounded)) {
    const bool same = std::isnan(rounded) ? std::isnan(got) : got == rounded;
    EXPECT_TRUE(same) << "element " << index << " is " << got << ", expected " << rounded;
    return;
  }
  const double error = tau == 0 ? static_cast<double>(got) - rounded : static_cast<double>(got) - want;
  const double excess = error == 0 ? 0 : std::fabs(error) / tau;  // infinite for tau = 0
  if (!(excess <= 1)) {
    ADD_FAILURE() << "element " << index << " is " << got << ", expected " << want << " +- " << tau;
  }
  *worst = std::max(*worst, excess);
  *squares += 64 * excess * excess;
}

void CompareFloats(const Tensor& want, const Tensor& tau, const Tensor& got, const std::string& device,
                   const std::string& name) {
  double worst = 0, squares = 0;
  for (int64_t i = 0; i < got.NumElements() && !testing::Test::HasFailure(); ++i) {
    Judge(want.ValueAt(i), tau.ValueAt(i), got.data<float>()[i], i, &worst, &squares);
  }
  const double r = std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, got.NumElements())));
  Note(device, name, worst, r);
  EXPECT_LE(r, 2) << "rms of the errors; the worst element reaches E = " << worst;
}

// model_check's own verdict, which also looks at each channel ("not tested": a constant output that agrees).
void ExpectAligned(const Tensor& got, const Tensor& want, const Tensor& tau) {
  if (got.dtype() != DType::kF32 && got.dtype() != DType::kI32 && got.dtype() != DType::kI64) return;
  OutputReport report;
  report.dtype = got.dtype();
  report.shape = got.shape();
  Judge({got, want, tau}, &report);
  EXPECT_TRUE(report.verdict == Verdict::kAligned || report.verdict == Verdict::kNotTested)
      << "model_check would say " << VerdictName(report.verdict) << ": " << report.reason << ", E " << report.excess
      << ", R " << report.rms_excess << ", R of a channel " << report.channel_excess;
}

// Every tensor alone between guard zones: nothing is written outside, no input is changed, and not a bit is different.
void ExpectSameInGuardedMemory(const OpInstance& instance, const std::string& device, Precision precision,
                               const std::vector<Tensor>& got) {
  const auto guarded = RunOnDevice(instance, device, GuardedKernels(), precision);
  ASSERT_TRUE(guarded.ok()) << guarded.status().ToString();
  for (size_t i = 0; i < got.size(); ++i) {
    const Tensor& other = (*guarded)[i];
    ASSERT_EQ(other.bytes(), got[i].bytes());
    if (other.bytes() > 0) {
      EXPECT_EQ(std::memcmp(other.raw(), got[i].raw(), other.bytes()), 0)
          << "output " << i << " differs when the kernel runs in guarded memory: it reads what it did not write";
    }
  }
}

// Inputs as a device that stores f16 sees them. Constants that decide a shape stay.
void RoundInputsToHalf(OpInstance* instance) {
  const OpKind kind = instance->layer().kind;
  const bool shapes = kind == OpKind::kUpsample || kind == OpKind::kRange;
  for (size_t i = 0; i < instance->inputs.size(); ++i) {
    const auto constant = instance->graph.constants.find(instance->layer().inputs[i]);
    const bool known = constant != instance->graph.constants.end();
    if (instance->inputs[i].dtype() != DType::kF32 || (known && shapes)) continue;
    instance->inputs[i] = RoundedTo(DType::kF16, instance->inputs[i]).value();
    if (known) constant->second = instance->inputs[i];
  }
}

}  // namespace

Result<std::vector<Tensor>> RunOnDevice(const OpInstance& instance, const std::string& device,
                                        const std::vector<KernelRow>& kernels_in_front, Precision precision,
                                        DeviceFacts* facts) {
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<Device> opened, OpenDevice(device));
  opened->kernels_in_front = kernels_in_front;
  NetworkOptions options;
  options.precision = precision;
  options.num_threads = 2;
  PLUMB_ASSIGN_OR_RETURN(auto network, Network::Create(std::make_shared<Graph>(instance.graph), opened, options));
  for (const GraphInput& input : instance.graph.inputs) {
    const auto& names = instance.layer().inputs;
    const size_t at = static_cast<size_t>(std::find(names.begin(), names.end(), input.name) - names.begin());
    PLUMB_RETURN_IF_ERROR(network->SetInput(input.name, instance.inputs[at]));
  }
  PLUMB_RETURN_IF_ERROR(network->Forward());
  std::vector<Tensor> outputs;
  for (const std::string& name : instance.layer().outputs) {
    PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), network->GetOutput(name));
  }
  if (facts == nullptr) return outputs;
  facts->halves.assign(outputs.size(), false);
  for (const StepInfo* step : network->steps()) {
    for (size_t i = 0; i < step->outputs.size(); ++i) facts->halves[i] = step->outputs[i].stored == DType::kF16;
    facts->numerics = step->numerics;
  }
  return outputs;
}

void PrintWorstCases() {
  for (const auto& [device, worst] : WorstOf()) {
    std::printf("%s: %d float outputs, largest E %.2f (%s), largest R %.2f (%s)\n", device.c_str(), worst.cases,
                worst.e, worst.e_case.c_str(), worst.r, worst.r_case.c_str());
  }
}

void TestOnDevice(const OpCase& op_case, const std::string& device, Precision precision) {
  if (!op_case.refused.empty()) return;
  auto instance = Instantiate(op_case);
  ASSERT_TRUE(instance.ok()) << instance.status().ToString();
  const bool half = precision != Precision::kHigh;
  if (half) RoundInputsToHalf(&*instance);
  DeviceFacts facts;
  auto got = RunOnDevice(*instance, device, {}, precision, &facts);
  if (!got.ok() && got.status().code() == StatusCode::kNotSupported) GTEST_SKIP() << got.status().message();
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  auto want = Compute(*instance, facts.numerics);
  ASSERT_TRUE(want.ok()) << want.status().ToString();
  ExpectSameInGuardedMemory(*instance, device, precision, *got);
  for (size_t i = 0; i < got->size(); ++i) {
    const Tensor& out = (*got)[i];
    ASSERT_EQ(out.shape().ToString(), want->outputs[i].shape().ToString());
    if (half && facts.halves[i] && out.dtype() == DType::kF32) {
      ASSERT_TRUE(JudgeAsStored(DType::kF16, out, &want->outputs[i], &want->taus[i]).ok());
    }
    ExpectAligned(out, want->outputs[i], want->taus[i]);
    if (out.dtype() == DType::kF32) {
      CompareFloats(want->outputs[i], want->taus[i], out, half ? device + " " + PrecisionName(precision) : device,
                    op_case.op + "/" + op_case.name);
      continue;
    }
    for (int64_t k = 0; k < out.NumElements(); ++k) {
      const double is = out.ValueAt(k), expected = want->outputs[i].ValueAt(k);
      const double slack = out.dtype() == DType::kF64 ? want->taus[i].ValueAt(k) * kDoubleSlack : 0;
      ASSERT_TRUE(is == expected || std::fabs(is - expected) <= slack || (std::isnan(is) && std::isnan(expected)))
          << "element " << k << " is " << is << ", expected " << expected;
    }
  }
}

}  // namespace plumb
