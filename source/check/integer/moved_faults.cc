// SPDX-License-Identifier: Apache-2.0
// What is wrong with where right integers stand, along one axis or two, or with the bits of each.
#include <fmt/core.h>

#include <algorithm>

#include "check/integer/integer_faults.h"

namespace plumb {
namespace {

struct Axis {
  int64_t dim, inner;
  int64_t At(size_t i) const { return static_cast<int64_t>(i) / inner % dim; }
  // The element at another place of the axis.
  size_t With(size_t i, int64_t place) const {
    return static_cast<size_t>(static_cast<int64_t>(i) + (place - At(i)) * inner);
  }
};

template <class F>
size_t OffBy(const std::vector<int64_t>& device, F integer) {
  size_t off = 0;
  for (size_t i = 0; i < device.size(); ++i) off += device[i] != integer(i) ? 1 : 0;
  return off;
}

int64_t LowerUnsigned(int64_t whole) { return static_cast<int64_t>(static_cast<uint64_t>(whole) & 0xff); }

int64_t SizeOf(int64_t whole) { return whole < 0 ? -whole : whole; }

// What became of each integer, wherever it stands; "": nothing of what is known.
std::string NameChanged(const std::vector<int64_t>& right, int64_t zero, const std::vector<int64_t>& device) {
  const auto of_16_bits = [&](const std::vector<int64_t>& integers) {
    return std::any_of(integers.begin(), integers.end(), [](int64_t v) { return v < -128 || v > 255; });
  };
  const auto is = [&](const auto& integer) { return OffBy(device, [&](size_t i) { return integer(right[i]); }) == 0; };
  if (of_16_bits(right)) {
    if (is([](int64_t v) { return v - LowerUnsigned(v); }))
      return "with the lower byte of its integers lost; the graph says both bytes";
    if (is(LowerByteOf)) return "with the upper byte of its integers lost; the graph says both bytes";
    if (is(BytesExchanged)) return "with the bytes of its integers exchanged; the graph says in order";
    if (is([](int64_t v) { return std::clamp<int64_t>(v, -128, 127); }))
      return "with integers limited to 8 bits; the graph says of 16";
  }
  if (is([&](int64_t v) { return std::max(v, zero); }))
    return "with its integers limited below at the zero point (a ReLU); the graph says none";
  if (is([&](int64_t v) { return SizeOf(v - zero) + zero; }))
    return "without the sign of its values; the graph says with it";
  return "";
}

// Axes i and j of the same size, exchanged.
std::string NameExchanged(const Shape& shape, const std::vector<int64_t>& right, const std::vector<int64_t>& device) {
  for (int i = 0; i < shape.rank(); ++i) {
    for (int j = i + 1; j < shape.rank(); ++j) {
      const Axis one{shape[i], shape.CountFrom(i + 1)}, two{shape[j], shape.CountFrom(j + 1)};
      if (one.dim != two.dim || one.dim < 2) continue;
      const auto from = [&](size_t at) { return right[one.With(two.With(at, one.At(at)), two.At(at))]; };
      if (OffBy(device, from) == 0) return fmt::format("with axes {} and {} exchanged; the graph says in order", i, j);
    }
  }
  return "";
}

// The places of a tensor [n,c,h,w] in the order NHWC.
std::vector<size_t> PlacesInNhwc(const Shape& shape) {
  std::vector<size_t> places(static_cast<size_t>(shape.NumElements()));
  const int64_t channels = shape[1], pixels = shape.CountFrom(2);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t image = at / (channels * pixels), channel = at / pixels % channels, pixel = at % pixels;
    places[i] = static_cast<size_t>((image * pixels + pixel) * channels + channel);
  }
  return places;
}

// Values that were written, or read, in the order of the channels in front or of the channels behind.
std::string NameOtherOrder(const Shape& shape, const std::vector<int64_t>& right, const std::vector<int64_t>& device) {
  if (shape.rank() != 4 || shape[1] < 2 || shape.CountFrom(2) < 2) return "";
  const std::vector<size_t> places = PlacesInNhwc(shape);
  bool to = true, from = true;
  for (size_t i = 0; i < places.size() && (to || from); ++i) {
    to = to && device[i] == right[places[i]];
    from = from && device[places[i]] == right[i];
  }
  return to || from ? "with its values in the other order of the axes (NCHW or NHWC); the graph says in its own" : "";
}

}  // namespace

int64_t LowerByteOf(int64_t whole) { return static_cast<int8_t>(static_cast<uint64_t>(whole) & 0xff); }

int64_t BytesExchanged(int64_t whole) {
  const auto bits = static_cast<uint64_t>(whole);
  return static_cast<int16_t>(((bits & 0xff) << 8) | ((bits >> 8) & 0xff));
}

std::string NameMoved(const Shape& shape, const std::vector<int64_t>& right, int64_t zero,
                      const std::vector<int64_t>& device) {
  if (right.size() != device.size()) return "";
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const Axis along{shape[axis], shape.CountFrom(axis + 1)};
    const int64_t last = along.dim - 1;
    if (last < 1) continue;
    const auto is = [&](const auto& integer) { return OffBy(device, integer) == 0; };
    if (is([&](size_t i) { return right[along.With(i, last - along.At(i))]; }))
      return fmt::format("with axis {} in reverse; the graph says in order", axis);
    if (is([&](size_t i) { return along.At(i) == last ? right[along.With(i, last - 1)] : right[i]; }))
      return fmt::format("with the last entry of axis {} copied from the one before; the graph says its own", axis);
    if (is([&](size_t i) { return along.At(i) == last ? zero : right[i]; }))
      return fmt::format("without the last entry of axis {}, which is the zero point everywhere; the graph says all",
                         axis);
    if (is([&](size_t i) { return right[i] + along.At(i) % 2; }))
      return fmt::format("with the next integer in odd entries of axis {}; the graph says the nearest", axis);
  }
  for (const std::string& words : {NameChanged(right, zero, device), NameExchanged(shape, right, device)}) {
    if (!words.empty()) return words;
  }
  return NameOtherOrder(shape, right, device);
}

std::string NameFew(const std::vector<int64_t>& right, const std::vector<int64_t>& device) {
  if (right.size() != device.size()) return "";
  const size_t off = OffBy(device, [&](size_t i) { return right[i]; });
  const size_t far = OffBy(device, [&](size_t i) {
    const int64_t apart = device[i] - right[i];
    return apart == 1 || apart == -1 ? device[i] : right[i];
  });
  const bool few = off > 0 && far == 0 && off * 20 < device.size();
  return few ? fmt::format("with one step more or less in {} of {} integers; the graph says the nearest", off,
                           device.size())
             : "";
}

}  // namespace plumb
