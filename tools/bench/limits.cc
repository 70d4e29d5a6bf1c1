// SPDX-License-Identifier: Apache-2.0
// The limits of one core: multiply-adds per second of its widest vectors (or of AVX2's: argument AVX2), and bytes per
// second read from memory. Prints "gflops=... gbytes=...". x86-64 with GCC or Clang; compiled by run.py.
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Twelve sums that do not wait for each other: more than two units with a latency of four cycles need.
#define PLUMB_SUMS(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)
#define PLUMB_YMM(i) "vfmadd231ps %%ymm15, %%ymm14, %%ymm" #i "\n"
#define PLUMB_ZMM(i) "vfmadd231ps %%zmm15, %%zmm14, %%zmm" #i "\n"
#define PLUMB_LOOP(sums)                                                                                               \
  asm volatile("1:\n" sums "dec %0\n jnz 1b\n"                                                                         \
               : "+r"(count)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                 "xmm11")

void MultiplyAdd256(long count) { PLUMB_LOOP(PLUMB_SUMS(PLUMB_YMM)); }
void MultiplyAdd512(long count) { PLUMB_LOOP(PLUMB_SUMS(PLUMB_ZMM)); }

__attribute__((target("avx2"))) float ReadAll(const std::vector<float>& values) {
  __m256 sum[4] = {};
  for (size_t i = 0; i + 32 <= values.size(); i += 32) {
    for (int j = 0; j < 4; ++j) sum[j] = _mm256_add_ps(sum[j], _mm256_loadu_ps(values.data() + i + 8 * j));
  }
  return _mm256_cvtss_f32(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
}

}  // namespace

int main(int argc, char** argv) {
  const bool wide = __builtin_cpu_supports("avx512f") && !(argc > 1 && std::strcmp(argv[1], "AVX2") == 0);
  constexpr long kCount = 20000000;
  double gflops = 0, gbytes = 0;
  const std::vector<float> values(size_t{64} << 20, 1.0f);
  float sum = 0;
  for (int round = 0; round < 10; ++round) {
    double start = Seconds();
    wide ? MultiplyAdd512(kCount) : MultiplyAdd256(kCount);
    gflops = std::max(gflops, kCount * 12.0 * (wide ? 32 : 16) / (Seconds() - start) / 1e9);
    start = Seconds();
    sum += ReadAll(values);
    gbytes = std::max(gbytes, static_cast<double>(values.size() * sizeof(float)) / (Seconds() - start) / 1e9);
  }
  std::printf("gflops=%.1f gbytes=%.1f\n", gflops, gbytes);
  return sum > 0 ? 0 : 1;
}
