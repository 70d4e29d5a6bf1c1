// SPDX-License-Identifier: Apache-2.0
// How many random inputs a test tries.
#ifndef PLUMB_TEST_UTIL_SEEDS_H_
#define PLUMB_TEST_UTIL_SEEDS_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace plumb {

// PLUMB_TEST_SEEDS in place of the usual number: 1 where an emulator runs the test, more by night.
inline uint32_t SeedsUnderTest(int usual) {
  const char* text = std::getenv("PLUMB_TEST_SEEDS");
  return static_cast<uint32_t>(text == nullptr ? usual : std::max(1, std::atoi(text)));
}

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_SEEDS_H_
