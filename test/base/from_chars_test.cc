// SPDX-License-Identifier: Apache-2.0
// FloatFromChars reads what std::from_chars reads: the same values, the same end, the same errors.
#include "base/from_chars.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace plumb {
namespace {

#if defined(__cpp_lib_to_chars)
template <class T>
void ExpectTheSame(const std::string& text) {
  T want = 7, found = 7;
  const char *begin = text.data(), *end = begin + text.size();
  const auto expected = std::from_chars(begin, end, want), read = FloatFromChars(begin, end, &found);
  EXPECT_EQ(read.ec, expected.ec) << text;
  EXPECT_EQ(read.ptr - begin, expected.ptr - begin) << text;
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(found) && std::signbit(found) == std::signbit(want)) << text;
  } else {
    EXPECT_EQ(std::memcmp(&found, &want, sizeof(T)), 0) << text << ": " << found << " for " << want;
  }
}

TEST(FromChars, ReadsAsTheLibraryDoes) {
  const std::vector<std::string> texts = {"",
                                          "-",
                                          "+1",
                                          " 1",
                                          ".",
                                          "-.",
                                          "1.",
                                          ".5",
                                          "-.5e3",
                                          "1e",
                                          "1e+",
                                          "1e-x",
                                          "1.5.2",
                                          "0x10",
                                          "1e39",
                                          "-1e39",
                                          "1e-46",
                                          "1e-40",
                                          "1e400",
                                          "1e-400",
                                          "5e-324",
                                          "inf",
                                          "-INF",
                                          "Infin",
                                          "infinity",
                                          "infinityx",
                                          "nan",
                                          "-nan",
                                          "NaN(1_a)",
                                          "nan(1",
                                          "nan(-)",
                                          "in",
                                          "e5",
                                          "--1",
                                          "0e999999",
                                          "0.000e-99",
                                          "-0",
                                          "1,5",
                                          "1e5e5",
                                          "007",
                                          "1\0002",
                                          "3.4028235e38",
                                          "3.4028236e38",
                                          "1.7976931348623157e308",
                                          "1e0000000000000000000005"};
  for (const std::string& text : texts) {
    ExpectTheSame<float>(text);
    ExpectTheSame<double>(text);
  }
}

TEST(FromChars, ReadsAnyCharactersAsTheLibraryDoes) {
  constexpr char kCharacters[] = "0123456789012345.eE+-nafi( )_x";
  std::mt19937 engine(3);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t length = engine() % 12; length > 0; --length) text += kCharacters[engine() % (sizeof(kCharacters) - 1)];
    ExpectTheSame<float>(text);
    ExpectTheSame<double>(text);
  }
}
#endif

}  // namespace
}  // namespace plumb
