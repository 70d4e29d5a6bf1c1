#include "format/tensor/float_text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "base/half.h"

namespace plumb {
namespace {

std::string Shortest(float value) {
  char text[kShortestFloatRoom];
  return {text, WriteShortest(value, text)};
}
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

TEST(FloatText, ShortestIsWhatToCharsWrites) {
  for (const float value : Samples()) ASSERT_EQ(Shortest(value), Library(value)) << FloatToBits(value);
}

TEST(FloatText, Fixed9IsWhatPrintfWrites) {
  for (const float value : Samples()) ASSERT_EQ(Fixed9(value), Printf(value)) << FloatToBits(value);
}

TEST(FloatText, LinesAreTheSameOneByOne) {
  const std::vector<float> samples = Samples();
  std::string expected;
  for (const float value : samples) expected += Library(value) + "\n";
  std::string text(samples.size() * 16 + kShortestFloatRoom, '\0');
  text.resize(static_cast<size_t>(WriteShortestLines(samples.data(), samples.size(), text.data()) - text.data()));
  EXPECT_EQ(text, expected);
}

}  // namespace
}  // namespace plumb
