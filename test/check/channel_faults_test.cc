// SPDX-License-Identifier: Apache-2.0
// Names of what became of some channels of a quantised output.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "check/integer/integer_faults.h"

namespace plumb {
namespace {

const Shape kFourChannels({1, 4, 3, 4});

std::vector<int64_t> RisingChannels() {
  std::vector<int64_t> right(48);
  std::iota(right.begin(), right.end(), -30);
  return right;
}

template <class F>
std::vector<int64_t> WithChannel(int64_t channel, F integer) {
  std::vector<int64_t> device = RisingChannels();
  for (int64_t i = 12 * channel; i < 12 * channel + 12; ++i)
    device[static_cast<size_t>(i)] = integer(device[static_cast<size_t>(i)]);
  return device;
}

std::string NameOfChannels(const std::vector<int64_t>& device) {
  return NameChannels(kFourChannels, RisingChannels(), -5, device);
}

TEST(ChannelFaults, OneThatIsNotWritten) {
  EXPECT_EQ(NameOfChannels(WithChannel(2, [](int64_t) { return -5; })),
            "with -5 in channel 2, the zero point; the graph says others");
  EXPECT_EQ(NameOfChannels(WithChannel(2, [](int64_t) { return 7; })), "with 7 in channel 2; the graph says others");
}

TEST(ChannelFaults, OneWithAnotherScale) {
  EXPECT_EQ(NameOfChannels(WithChannel(1, [](int64_t q) { return 2 * (q + 5) - 5; })),
            "with 2 times the scale of channel 1; the graph says the scale");
  EXPECT_EQ(NameOfChannels(WithChannel(1, [](int64_t q) { return 3 * (q + 5) - 5; })), "");
}

TEST(ChannelFaults, TwoInEachOthersPlaces) {
  std::vector<int64_t> device = RisingChannels();
  std::swap_ranges(device.begin(), device.begin() + 12, device.begin() + 12);
  EXPECT_EQ(NameOfChannels(device), "with channels 0 to 1 in each other's places; the graph says in order");
}

TEST(ChannelFaults, MostOfThemAreNone) {
  std::vector<int64_t> device(48, 7);
  EXPECT_EQ(NameOfChannels(device), "");
  EXPECT_EQ(NameOfChannels(RisingChannels()), "");
}

TEST(ChannelFaults, TheOtherOrderOfTheAxes) {
  const std::vector<int64_t> right = RisingChannels();
  std::vector<int64_t> device(48);
  for (size_t i = 0; i < 48; ++i) device[i] = right[i % 12 * 4 + i / 12];
  EXPECT_EQ(NameMoved(kFourChannels, right, -5, device),
            "with its values in the other order of the axes (NCHW or NHWC); the graph says in its own");
}

TEST(ChannelFaults, AFewAreOffByOne) {
  std::vector<int64_t> device = RisingChannels();
  ++device[3], --device[40];
  EXPECT_EQ(NameFew(RisingChannels(), device),
            "with one step more or less in 2 of 48 integers; the graph says the nearest");
  ++device[3];
  EXPECT_EQ(NameFew(RisingChannels(), device), "");
}

}  // namespace
}  // namespace plumb
