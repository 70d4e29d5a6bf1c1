// SPDX-License-Identifier: Apache-2.0
// RESIZE_BILINEAR of integers by TFLite's kernels, by XNNPACK's and by TNN's, each with weights of its own.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_rules.h"
#include "op/resize.h"
#include "op/upsample.h"

namespace plumb {
namespace {

enum class Places { kCorners, kMiddles, kAligned };

// Of a bilinear resize of the last two axes; false: another one.
bool PlacesOf(const Layer& layer, Places* places) {
  if (layer.kind == OpKind::kUpsample) {
    const auto& p = ParamOf<UpsampleParam>(layer);
    *places = p.align_corners != 0 ? Places::kAligned : Places::kMiddles;
    return p.mode == kUpsampleLinear;
  }
  const auto& p = ParamOf<ResizeParam>(layer);
  *places = p.coordinates == "align_corners" ? Places::kAligned
            : p.coordinates == "half_pixel"  ? Places::kMiddles
                                             : Places::kCorners;
  return p.mode == "linear" && !p.antialias && (*places != Places::kCorners || p.coordinates == "asymmetric");
}

struct Corners {
  int64_t top_left, top_right, bottom_left, bottom_right;
};

// Along one axis: between which two pixels, and how far from the first.
template <class T>
struct Place {
  int64_t low, high;
  T part;
};

// In steps of 2^-10.
struct AxisOf10Bits {
  AxisOf10Bits(int64_t in_size, int64_t out_size, Places chosen) : in(in_size), places(chosen) {
    constexpr int64_t kOne = 1 << 10;
    scale = (kOne * in + out_size / 2) / out_size;
    if (places == Places::kAligned && out_size > 1) scale = (kOne * (in - 1) + (out_size - 1) / 2) / (out_size - 1);
  }
  Place<int64_t> At(int64_t out) const {
    const int64_t at = out * scale + (places == Places::kMiddles ? scale / 2 - (1 << 9) : 0);
    const int64_t low = std::max<int64_t>(at / (1 << 10), 0);
    return {low, std::min((at + (1 << 10) - 1) / (1 << 10), in - 1), at - low * (1 << 10)};
  }

  int64_t in, scale = 0;
  Places places;
};

struct AxisOfF32 {
  AxisOfF32(int64_t in_size, int64_t out_size, Places chosen) : in(in_size), places(chosen) {
    scale = static_cast<float>(in) / static_cast<float>(out_size);
    if (places == Places::kAligned && out_size > 1)
      scale = static_cast<float>(in - 1) / static_cast<float>(out_size - 1);
  }
  float Position(int64_t out) const {
    const auto at = static_cast<float>(out);
    if (places != Places::kMiddles) return at * scale;
    const float scaled = (at + 0.5f) * scale;
    return scaled - 0.5f;
  }
  Place<float> At(int64_t out) const {
    const float at = Position(out);
    const int64_t low = std::max<int64_t>(static_cast<int64_t>(std::floor(at)), 0);
    return {low, std::min(static_cast<int64_t>(std::ceil(at)), in - 1), at - static_cast<float>(low)};
  }

  int64_t in;
  float scale = 0;
  Places places;
};

// XNNPACK's, whose positions do not leave the image.
struct AxisOf11Bits : AxisOfF32 {
  using AxisOfF32::AxisOfF32;
  Place<int64_t> At(int64_t out) const {
    const float at = std::clamp(Position(out), 0.0f, static_cast<float>(in - 1));
    const auto low = static_cast<int64_t>(std::floor(at));
    const float part = at - static_cast<float>(low);
    return {low, std::min(low + 1, in - 1), static_cast<int64_t>(std::nearbyint(part * 2048))};
  }
};

// TNN's, whose positions do not leave the image.
struct AxisOfTnn : AxisOfF32 {
  AxisOfTnn(int64_t in_size, int64_t out_size, Places chosen) : AxisOfF32(in_size, out_size, chosen) {
    if (out_size == 1) scale = 0;
  }
  Place<float> At(int64_t out) const {
    const auto middle = static_cast<float>(static_cast<double>(scale) * (static_cast<double>(out) + 0.5) - 0.5);
    const float at = std::max(places == Places::kMiddles ? middle : Position(out), 0.0f);
    const auto low = static_cast<int64_t>(at);
    return {low, low < in - 1 ? low + 1 : low, at - static_cast<float>(low)};
  }
};

// Each output of the last two axes is `blend` of the four pixels around it, zero points included, and the places along
// both axes, as an Axis says them.
template <class Axis, class F>
bool EachPixel(const IntegerStep& step, std::vector<int64_t>* integers, F blend) {
  const IntegerOperand& x = step.operands[0];
  const Shape &from = x.whole.shape(), &to = step.shape;
  Places places;
  if (!PlacesOf(step.base, &places) || from.rank() != 4 || to.rank() != 4 || from.Count(0, 2) != to.Count(0, 2) ||
      x.scale != step.scale || !x.scales.empty() || !step.channel_scales.empty() || x.zero != step.zero ||
      integers->empty() || from.CountFrom(2) == 0)
    return false;
  const Axis rows(from[2], to[2], places), columns(from[3], to[3], places);
  for (size_t i = 0; i < integers->size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const auto row = rows.At(at / to[3] % to[2]), column = columns.At(at % to[3]);
    const double* plane = x.whole.data<double>() + at / to.CountFrom(2) * from.CountFrom(2);
    const auto pixel = [&](int64_t y, int64_t across) {
      return static_cast<int64_t>(plane[y * from[3] + across]) + x.zero;
    };
    const Corners corners = {pixel(row.low, column.low), pixel(row.low, column.high), pixel(row.high, column.low),
                             pixel(row.high, column.high)};
    (*integers)[i] = blend(corners, row.part, column.part);
    if ((*integers)[i] < step.low || (*integers)[i] > step.high) return false;
  }
  return true;
}

bool BilinearOf10Bits(const IntegerStep& step, std::vector<int64_t>* integers) {
  return EachPixel<AxisOf10Bits>(step, integers, [](const Corners& c, int64_t down, int64_t along) {
    const int64_t up = 1024 - down, back = 1024 - along;
    const int64_t sum =
        c.top_left * up * back + c.bottom_left * down * back + c.top_right * up * along + c.bottom_right * down * along;
    return (sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20);
  });
}

// RESIZE_BILINEAR of u8: f32 weights, 0.5 added and cut off; the reference kernel multiplies a pixel by one weight
// after the other, the optimised one by their product.
template <bool kReference>
bool BilinearInF32(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.low != 0) return false;
  return EachPixel<AxisOfF32>(step, integers, [](const Corners& c, float down, float along) {
    const auto a = static_cast<float>(c.top_left), b = static_cast<float>(c.top_right),
               d = static_cast<float>(c.bottom_left), e = static_cast<float>(c.bottom_right);
    const float up = 1 - down, back = 1 - along;
    float sum = 0;
    if (kReference) {
      sum = a * up * back;
      sum += d * down * back;
      sum += b * up * along;
      sum += e * down * along;
    } else {
      sum = up * back * a;
      sum += up * along * b;
      sum += down * back * d;
      sum += down * along * e;
    }
    return static_cast<int64_t>(sum + 0.5f);
  });
}

// XNNPACK: weights of 11 bits, first along a row, then between rows; halves up.
bool BilinearOf11Bits(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.high - step.low != 255) return false;
  return EachPixel<AxisOf11Bits>(step, integers, [](const Corners& c, int64_t down, int64_t along) {
    const int64_t top = c.top_left * 2048 + along * (c.top_right - c.top_left);
    const int64_t bottom = c.bottom_left * 2048 + along * (c.bottom_right - c.bottom_left);
    return (top * 2048 + down * (bottom - top) + (1 << 21)) >> 22;
  });
}

// TNN on ARM: weights of 11 bits, sums along a row less their last 4 bits, then between rows less 16; NEON cuts the sum
// of both rows once.
template <bool kNeon>
bool TnnBilinear(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.zero != 0 || step.high - step.low != 255) return false;
  return EachPixel<AxisOfTnn>(step, integers, [](const Corners& c, float down, float along) {
    const auto weight = [](float part) { return static_cast<int64_t>(part * 2048 + 0.5f); };
    const int64_t right = weight(along), left = weight(1 - along), below = weight(down), above = weight(1 - down);
    const int64_t top = ((c.top_left * left + c.top_right * right) >> 4) * above;
    const int64_t bottom = ((c.bottom_left * left + c.bottom_right * right) >> 4) * below;
    return ((kNeon ? (top + bottom) >> 16 : (top >> 16) + (bottom >> 16)) + 2) >> 2;
  });
}

// The naive kernel: f32 reals, divided by the scale; a half is added and the rest cut off.
bool TnnNaiveBilinear(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.zero != 0) return false;
  return EachPixel<AxisOfTnn>(step, integers, [&step](const Corners& c, float down, float along) {
    const auto real = [&](int64_t q) { return step.scale * static_cast<float>(q); };
    const float up = 1 - down, back = 1 - along;
    const float top_left = back * real(c.top_left), top_right = along * real(c.top_right);
    const float bottom_left = back * real(c.bottom_left), bottom_right = along * real(c.bottom_right);
    const float top = up * (top_left + top_right), bottom = down * (bottom_left + bottom_right);
    const float steps = (top + bottom) / step.scale;
    return static_cast<int64_t>(steps + (steps >= 0 ? 0.5f : -0.5f));
  });
}

}  // namespace

std::vector<IntegerRule> TnnResizeRules() {
  return {
      {IntegerForm::kResize, "TNN's rule for Upsample (weights of 11 bits, both rows cut off at once)",
       TnnBilinear<true>},
      {IntegerForm::kResize, "TNN's rule for Upsample without NEON (weights of 11 bits, each row cut off)",
       TnnBilinear<false>},
      {IntegerForm::kResize, "TNN's naive rule for Upsample (f32 reals, a half added and cut off)", TnnNaiveBilinear},
  };
}

std::vector<IntegerRule> TfliteResizeRules() {
  return {
      {IntegerForm::kResize, "TFLite's rule for RESIZE_BILINEAR (weights of 10 bits, halves away from zero)",
       BilinearOf10Bits},
      {IntegerForm::kResize, "TFLite's rule for RESIZE_BILINEAR of u8 (f32 weights one by one, halves up)",
       BilinearInF32<true>},
      {IntegerForm::kResize, "TFLite's optimised rule for RESIZE_BILINEAR of u8 (products of f32 weights, halves up)",
       BilinearInF32<false>},
  };
}

std::vector<IntegerRule> XnnpackResizeRules() {
  return {
      {IntegerForm::kResize, "XNNPACK's rule for RESIZE_BILINEAR (weights of 11 bits, halves up)", BilinearOf11Bits}};
}

}  // namespace plumb
