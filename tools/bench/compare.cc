// SPDX-License-Identifier: Apache-2.0
// bench_compare: how fast float blobs are compared with all metrics, in GB/s of both arrays, on one thread and on two.
//
// The values are a float blob and the same with rounding errors, as a checker sees them; "gain" has the same relative
// error everywhere and "equal" none. Sizes are a map that fits into L2 and one that does not. Each row keeps its best
// of many rounds; "per cpu-s" counts the processor time of all threads instead of the wall's, which a busy machine
// disturbs less.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

#include "base/cpu.h"
#include "base/threads.h"
#include "check/core/metrics.h"

namespace plumb {
namespace {

constexpr double kSeconds = 0.15;  // of processor time per row

enum class Kind { kRounding, kGain, kEqual };

struct Pair {
  Tensor a, b;
};

Pair MakePair(int64_t count, Kind kind, DType b_type) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Pair pair{Tensor::Create(DType::kF32, {count}).value(), Tensor::Create(DType::kF32, {count}).value()};
  for (int64_t i = 0; i < count; ++i) {
    const float value = random() % 100 < 35 ? 0.f : normal(random);
    const float error = kind == Kind::kRounding ? 1e-7f * normal(random) : kind == Kind::kGain ? 1e-3f : 0.f;
    pair.b.data<float>()[i] = value;
    pair.a.data<float>()[i] = value * (1 + error);
  }
  pair.b = pair.b.ConvertedTo(b_type).value();
  return pair;
}

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Row(const char* name, const Pair& pair, int threads) {
  SetNumThreads(threads);
  const double bytes = static_cast<double>(pair.a.bytes() + pair.b.bytes());
  double wall = 1e9, cpu = 1e9;
  double keep = 0;
  const double stop = CpuSeconds() + kSeconds;
  while (CpuSeconds() < stop) {
    const double cpu_begin = CpuSeconds();
    const auto begin = std::chrono::steady_clock::now();
    keep += CompareTensors(pair.a, pair.b).snr_db;
    wall = std::min(wall, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    cpu = std::min(cpu, CpuSeconds() - cpu_begin);
  }
  std::printf("%-12s %-8s %12lld %8d %10.1f %12.1f%s\n", name, DTypeName(pair.b.dtype()),
              static_cast<long long>(pair.a.NumElements()), threads, bytes / wall / 1e9, bytes / cpu / 1e9,
              keep == 0.5 ? " " : "");
}

void Run() {
  std::printf("%-12s %-8s %12s %8s %10s %12s   (%s)\n", "values", "f32 with", "elements", "threads", "GB/s", "GB/cpu-s",
              IsaName());
  for (const int64_t count : {int64_t{1} << 17, int64_t{1} << 22}) {
    const Pair rounding = MakePair(count, Kind::kRounding, DType::kF32);
    Row("rounding", rounding, 1);
    Row("rounding", rounding, 2);
    Row("gain", MakePair(count, Kind::kGain, DType::kF32), 1);
    Row("equal", MakePair(count, Kind::kEqual, DType::kF32), 1);
    Row("rounding", MakePair(count, Kind::kRounding, DType::kF64), 1);
  }
}

}  // namespace
}  // namespace plumb

int main() { plumb::Run(); }
