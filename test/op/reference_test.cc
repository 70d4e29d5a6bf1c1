// SPDX-License-Identifier: Apache-2.0
#include "op/reference_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "base/threads.h"
#include "reference/core/reference_op.h"
#include "util/guarded_tensor.h"
#include "util/op_graph.h"

namespace plumb {
namespace {

std::vector<const Tensor*> Pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

std::vector<Tensor> InStorage(const std::vector<Tensor>& tensors, DType storage) {
  std::vector<Tensor> converted;
  for (const Tensor& t : tensors) converted.push_back(IsFloat(t.dtype()) ? t.ConvertedTo(storage).value() : t);
  return converted;
}

// Outputs (and tau when `bound` asks for it) in guarded memory. Storage kF32: every blob has its own dtype.
struct Run {
  std::vector<GuardedTensor> outputs, taus;

  Run(const OpInstance& instance, DType storage) {
    for (const BlobInfo& out : instance.outputs) {
      outputs.emplace_back(IsFloat(out.dtype) && storage == DType::kF64 ? storage : out.dtype, out.shape);
      taus.emplace_back(DType::kF64, out.shape);
    }
  }
  const Tensor& out(size_t i) { return outputs[i].tensor(); }
  const Tensor& tau(size_t i) { return taus[i].tensor(); }

  Status Plain(const OpInstance& instance, const std::vector<Tensor>& inputs) {
    ReferenceArgs args{instance.layer(), Pointers(inputs), {}};
    for (GuardedTensor& out : outputs) args.outputs.push_back(&out.tensor());
    return GetReferenceOp(instance.layer().kind).run(args);
  }
  Status WithBound(const OpInstance& instance, const std::vector<Tensor>& inputs, int level,
                   const std::vector<Tensor>& input_tau) {
    ReferenceArgs args{instance.layer(), Pointers(inputs), {}};
    BoundArgs bound;
    bound.level = level;
    for (const Tensor& tau : input_tau) bound.input_tau.push_back(tau.empty() ? nullptr : &tau);
    for (GuardedTensor& out : outputs) args.outputs.push_back(&out.tensor());
    for (GuardedTensor& tau : taus) bound.tau.push_back(&tau.tensor());
    return GetReferenceOp(instance.layer().kind).run_with_bound(args, bound);
  }
  void ExpectIntact() const {
    for (const GuardedTensor& t : outputs) EXPECT_TRUE(t.intact()) << "the reference wrote outside its output";
    for (const GuardedTensor& t : taus) EXPECT_TRUE(t.intact()) << "the bound wrote outside its tau";
  }
};

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

// Equal value; NaN equals NaN whatever its bits.
bool SameValues(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (!IsFloat(a.dtype())) return SameBits(a, b);
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const double x = a.ValueAt(i), y = b.ValueAt(i);
    if (!(x == y || (std::isnan(x) && std::isnan(y)))) return false;
  }
  return true;
}

void ExpectValues(const OpCase::Expected& expected, const Tensor& out, const char* storage) {
  if (expected.shape) {
    EXPECT_EQ(out.shape().ToString(), expected.shape->ToString());
  }
  if (expected.values.empty()) return;
  ASSERT_EQ(out.NumElements(), static_cast<int64_t>(expected.values.size())) << "output is " << out.shape().ToString();
  for (int64_t i = 0; i < out.NumElements(); ++i) {
    const double want = expected.values[static_cast<size_t>(i)];
    const double got = out.ValueAt(i);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << storage << " element " << i << " is " << got;
    } else if (std::isinf(want)) {
      EXPECT_EQ(got, want) << storage << " element " << i;
    } else {
      EXPECT_LE(std::fabs(got - want), expected.tolerance * std::max(1.0, std::fabs(want)))
          << storage << " element " << i << " is " << got << ", expected " << want;
    }
  }
}

void CheckStorages(const OpCase& c, const OpInstance& instance, const std::vector<Tensor>& inputs, Run* exact) {
  Run single(instance, DType::kF32);
  const std::vector<Tensor> before = InStorage(instance.inputs, DType::kF64);
  ASSERT_TRUE(single.Plain(instance, instance.inputs).ok()) << single.Plain(instance, instance.inputs).ToString();
  ASSERT_TRUE(exact->Plain(instance, inputs).ok());
  single.ExpectIntact();
  exact->ExpectIntact();
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(SameValues(InStorage(instance.inputs, DType::kF64)[i], before[i])) << "input " << i << " was changed";
  }
  for (size_t i = 0; i < instance.outputs.size(); ++i) {
    const DType dtype = instance.outputs[i].dtype;
    EXPECT_TRUE(SameValues(single.out(i), exact->out(i).ConvertedTo(dtype).value()))
        << "output " << i << " in f32 is not the rounded output in f64";
    if (!instance.outputs[i].value.empty()) {
      EXPECT_TRUE(SameBits(instance.outputs[i].value, single.out(i)))
          << "output " << i << " is not the value known before the run";
    }
    if (i < c.expected.size()) {
      ExpectValues(c.expected[i], single.out(i), "f32");
      ExpectValues(c.expected[i], exact->out(i), "f64");
    }
  }
  EXPECT_LE(c.expected.size(), instance.outputs.size());
}

void CheckThreads(const OpInstance& instance, const std::vector<Tensor>& inputs, Run* exact) {
  Run other(instance, DType::kF64);
  const int threads = NumThreads();
  SetNumThreads(threads == 1 ? 3 : 1);
  EXPECT_TRUE(other.Plain(instance, inputs).ok());
  SetNumThreads(threads);
  for (size_t i = 0; i < instance.outputs.size(); ++i) {
    EXPECT_TRUE(SameBits(other.out(i), exact->out(i))) << "output " << i << " depends on the number of threads";
  }
}

void CheckBound(const OpInstance& instance, const std::vector<Tensor>& inputs, Run* exact) {
  const ReferenceOp& op = GetReferenceOp(instance.layer().kind);
  ASSERT_NE(op.run_with_bound, nullptr) << "the reference has no bound";
  std::vector<Tensor> last;
  for (int level = 0; level <= op.max_level; ++level) {
    Run run(instance, DType::kF64);
    const Status status = run.WithBound(instance, inputs, level, {});
    ASSERT_TRUE(status.ok()) << status.ToString();
    run.ExpectIntact();
    for (size_t i = 0; i < instance.outputs.size(); ++i) {
      EXPECT_TRUE(SameValues(run.out(i), exact->out(i)))
          << "output " << i << " with its bound is not the output without";
      for (int64_t k = 0; k < run.out(i).NumElements(); ++k) {
        const double tau = run.tau(i).data<double>()[k];
        const double value = run.out(i).ValueAt(k);
        if (!std::isfinite(value) || std::fabs(value) > 3e38) continue;
        EXPECT_TRUE(tau >= 0 && std::isfinite(tau))
            << "tau of element " << k << " is " << tau << " where y is " << value;
        const double narrower = level == 0 ? 0 : last[i].data<double>()[k];
        EXPECT_GE(tau, narrower * (1 - 1e-12)) << "level " << level << " is narrower at element " << k;
      }
    }
    last.clear();
    for (size_t i = 0; i < instance.outputs.size(); ++i) last.push_back(run.tau(i));
  }
}

// Every float input gets tau = 1e-3 |x| + 1e-6; moving each element by +-tau / 8 (one sigma) must stay inside the
// bound.
void CheckPropagation(const OpCase& c, const OpInstance& instance, const std::vector<Tensor>& inputs) {
  const ReferenceOp& op = GetReferenceOp(instance.layer().kind);
  if (!op.propagates || op.run_with_bound == nullptr) return;
  std::mt19937_64 random(c.seed);
  std::vector<Tensor> taus(inputs.size()), moved = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!IsFloat(inputs[i].dtype()) || c.inputs[i].constant) continue;
    taus[i] = Tensor::Create(DType::kF64, inputs[i].shape()).value();
    moved[i] = inputs[i].Clone().value();
    for (int64_t k = 0; k < inputs[i].NumElements(); ++k) {
      double& x = moved[i].data<double>()[k];
      if (!std::isfinite(x) || std::fabs(x) > 1e30) return;  // nothing to propagate through specials
      taus[i].data<double>()[k] = 1e-3 * std::fabs(x) + 1e-6;
      x += (random() % 2 == 0 ? 1 : -1) * taus[i].data<double>()[k] / 8;
    }
  }
  Run center(instance, DType::kF64), other(instance, DType::kF64);
  const Status status = center.WithBound(instance, inputs, 0, taus);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_TRUE(other.Plain(instance, moved).ok());
  for (size_t i = 0; i < instance.outputs.size(); ++i) {
    for (int64_t k = 0; k < center.out(i).NumElements(); ++k) {
      const double y = center.out(i).ValueAt(k), y_moved = other.out(i).ValueAt(k);
      if (!std::isfinite(y) || !std::isfinite(y_moved)) continue;
      EXPECT_LE(std::fabs(y - y_moved), center.tau(i).data<double>()[k] * (1 + 1e-9) + 1e-300)
          << "uncertain inputs move element " << k << " of output " << i << " from " << y << " to " << y_moved;
    }
  }
}

}  // namespace

void TestReference(const OpCase& c) {
  const Result<OpInstance> made = Instantiate(c);
  if (!c.refused.empty()) {
    ASSERT_FALSE(made.ok()) << "the layer was accepted";
    EXPECT_NE(made.status().message().find(c.refused), std::string::npos) << made.status().ToString();
    return;
  }
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const OpInstance& instance = *made;
  const std::vector<Tensor> inputs = InStorage(instance.inputs, DType::kF64);
  Run exact(instance, DType::kF64);
  ASSERT_NO_FATAL_FAILURE(CheckStorages(c, instance, inputs, &exact));
  CheckThreads(instance, inputs, &exact);
  ASSERT_NO_FATAL_FAILURE(CheckBound(instance, inputs, &exact));
  CheckPropagation(c, instance, inputs);
}

}  // namespace plumb
