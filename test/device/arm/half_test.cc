// SPDX-License-Identifier: Apache-2.0
// Precision NORMAL and LOW on ARM: blobs of f16 where the CPU computes in it, chosen at run time, and HIGH elsewhere.
// platforms/linux/arm64.sh runs this on a CPU with f16 arithmetic and on one without.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/cpu.h"
#include "op/concat.h"
#include "plumb/plumb.h"
#include "util/attention_graph.h"
#include "util/network_builder.h"

namespace plumb {
namespace {

// A first layer of few channels, a residual sum, a join, maps whose rows leave rests of a tile, more factors than a
// run.
Builder Small() {
  Builder b(2, 3, 13);
  const std::string first = b.Conv("x", 3, 16, 3, 1, 1, 1);
  const std::string wide = b.Conv(first, 16, 40, 3, 2);
  const std::string depthwise = b.Conv(wide, 40, 40, 3, 1, 40, 2);
  const std::string sum = b.Simple("Add", {b.Conv(depthwise, 40, 40, 1), wide});
  const std::string joined = b.Simple("Concat", {sum, depthwise});
  const std::string pooled = b.Pool(joined, 1, 3, 2);
  b.FullyConnected(b.Conv(pooled, 80, 21, 3, 1), 21 * 4 * 4, 11);
  return b;
}

struct Ran {
  std::unique_ptr<Network> network;
  Tensor output;
};

Ran RunAs(const Builder& builder, Precision precision, int threads = 2) {
  NetworkOptions options;
  options.precision = precision;
  options.num_threads = threads;
  Ran ran;
  ran.network = CreateNetwork(builder.graph, "ARM", options).value();
  EXPECT_TRUE(ran.network->SetInput("x", Random(builder.graph->inputs[0].shape, 7, 1)).ok());
  for (int forward = 0; forward < 2; ++forward) {
    const Status status = ran.network->Forward();
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  ran.output = ran.network->GetOutput(builder.graph->outputs[0]).value();
  return ran;
}

double FurthestApart(const Tensor& a, const Tensor& b) {
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    worst = std::max(worst, std::fabs(a.ValueAt(i) - b.ValueAt(i)));
    largest = std::max(largest, std::fabs(b.ValueAt(i)));
  }
  return worst / largest;
}

TEST(ArmHalf, IsWhatTheEmulatedCpuHas) {
  const char* cpu = std::getenv("QEMU_CPU");
  if (cpu == nullptr) GTEST_SKIP() << "no QEMU_CPU says which CPU this is";
  EXPECT_EQ(CpuHasHalfArithmetic(), std::string(cpu) != "cortex-a53") << cpu;
}

TEST(ArmHalf, BlobsAreStoredAsTheCpuComputes) {
  const Builder builder = Small();
  const Ran high = RunAs(builder, Precision::kHigh);
  for (const Precision precision : {Precision::kNormal, Precision::kLow}) {
    const Ran ran = RunAs(builder, precision);
    const bool half = CpuHasHalfArithmetic(), low = half && precision == Precision::kLow;
    EXPECT_EQ(ran.network->options().precision, half ? precision : Precision::kHigh);
    ASSERT_EQ(ran.network->steps().size(), high.network->steps().size());
    for (const StepInfo* step : ran.network->steps()) {
      EXPECT_EQ(step->outputs[0].stored, half ? DType::kF16 : DType::kF32) << step->name;
      const bool product = step->type == "Pooling" || step->type == "Concat" ? false : step->kernel != "arm/add_same";
      EXPECT_EQ(step->numerics.accumulator, low && product ? DType::kF16 : DType::kF32) << step->name << step->kernel;
    }
    const double apart = FurthestApart(ran.output, high.output);
    EXPECT_EQ(apart > 0, half) << PrecisionName(precision);
    EXPECT_LT(apart, precision == Precision::kLow ? 1e-2 : 3e-3) << PrecisionName(precision);
  }
}

TEST(ArmHalf, ThreadsChangeNoBit) {
  const Builder builder = Small();
  for (const Precision precision : {Precision::kNormal, Precision::kLow}) {
    const Tensor one = RunAs(builder, precision, 1).output;
    for (const int threads : {2, 3}) EXPECT_EQ(FurthestApart(RunAs(builder, precision, threads).output, one), 0);
  }
}

TEST(ArmHalf, LowTakesLittleMoreThanHalfTheMemory) {
  if (!CpuHasHalfArithmetic()) GTEST_SKIP() << "this CPU computes in f32 alone";
  Builder builder(1, 8, 32);
  builder.Conv(builder.Conv(builder.Conv("x", 8, 32, 3), 32, 32, 3), 32, 32, 1);
  const auto bytes = [&](Precision precision) {
    NetworkOptions options;
    options.precision = precision;
    options.direct = true;  // Winograd's algorithm computes on f32 copies
    return static_cast<double>(CreateNetwork(builder.graph, "ARM", options).value()->arena_bytes());
  };
  EXPECT_LT(bytes(Precision::kLow), 0.65 * bytes(Precision::kHigh));
}

// NORMAL computes attention in f32 on blobs of f16; LOW leaves its products to the kernels of f16.
TEST(ArmHalf, AttentionIsOneStepButForLow) {
  AttentionForm form;
  form.rows = form.keys = 40, form.size = 16, form.mask = {40, 40};
  const auto graph = AttentionGraph(form);
  Tensor high;
  for (const Precision precision : {Precision::kHigh, Precision::kNormal, Precision::kLow}) {
    NetworkOptions options;
    options.precision = precision;
    const auto network = CreateNetwork(graph, "ARM", options).value();
    for (const auto& [name, value] : AttentionInputs(*graph, form)) ASSERT_TRUE(network->SetInput(name, value).ok());
    ASSERT_TRUE(network->Forward().ok());
    const Tensor y = network->GetOutput("y").value();
    if (precision == Precision::kHigh) high = y;
    EXPECT_LT(FurthestApart(y, high), 0.03) << PrecisionName(precision);
    const bool low = precision == Precision::kLow && CpuHasHalfArithmetic();
    EXPECT_EQ(network->steps().back()->kernel, low ? "arm/half_matmul" : "arm/attention") << PrecisionName(precision);
    EXPECT_EQ(network->steps().size() == 1, !low);
  }
}

}  // namespace
}  // namespace plumb
