// SPDX-License-Identifier: Apache-2.0
#include "tensor/float_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/half.h"
#include "base/highway.h"

namespace plumb {
namespace {

std::string Fixed9(float value) {
  char text[kFixed9FloatRoom];
  return {text, WriteFixed9(value, text)};
}
std::string Library(float value) {
  char text[64];
  return {text, std::to_chars(text, text + 64, value).ptr};
}
std::string Printf(float value) {
  char text[64];
  return {text, static_cast<size_t>(std::snprintf(text, sizeof(text), "%.9f", static_cast<double>(value)))};
}

// Every exponent with the significands at both ends, and a walk over all bit patterns in steps of a prime.
std::vector<float> Samples() {
  std::vector<float> samples;
  for (uint32_t exponent = 0; exponent < 512; ++exponent) {
    for (const uint32_t fraction : {0u, 1u, 2u, 0x400000u, 0x555555u, 0x7FFFFEu, 0x7FFFFFu}) {
      samples.push_back(BitsToFloat(exponent << 23 | fraction));
    }
  }
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 12289)
    samples.push_back(BitsToFloat(static_cast<uint32_t>(bits)));
  for (int i = 0; i < 20000; ++i) samples.push_back(static_cast<float>(i) / 128);
  return samples;
}

// Lines of any number of values, so that whole and partial batches occur.
void CheckShortest() {
  const std::vector<float> samples = Samples();
  std::vector<char> buffer(100 * kShortestFloatRoom);
  for (size_t done = 0, count = 1; done < samples.size(); done += count, count = 1 + (count * 7 + 3) % 97) {
    const size_t batch = std::min(count, samples.size() - done);
    std::string expected;
    for (size_t i = 0; i < batch; ++i) expected += Library(samples[done + i]) + "\n";
    char* end = WriteShortestLines(&samples[done], batch, buffer.data());
    ASSERT_EQ(std::string(buffer.data(), end), expected) << "from sample " << done;
  }
}

TEST(FloatText, ShortestIsWhatToCharsWrites) {
#if defined(__x86_64__)
  for (const char* cap : {"GENERIC", "SSE41", "AVX2", "AVX512", "ALL"}) {  // the last takes the cap away
    SCOPED_TRACE(cap);
    ASSERT_TRUE(SetMaxIsa(cap).ok());
    ChooseHighwayTargetAgain();
    CheckShortest();
  }
#else
  CheckShortest();  // compiled once, without Highway's library
#endif
}

TEST(FloatText, Fixed9IsWhatPrintfWrites) {
  for (const float value : Samples()) ASSERT_EQ(Fixed9(value), Printf(value)) << FloatToBits(value);
}

}  // namespace
}  // namespace plumb
