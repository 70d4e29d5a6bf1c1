// SPDX-License-Identifier: Apache-2.0
// Normalising and quantising: y = a * x + b of each channel, whose two numbers are found by least squares and then
// called by the names that people know (ImageNet's mean and std), with the usual mistakes: no division by 255, means of
// the other channel order, one number for three channels.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "stage/lines.h"

namespace plumb {
namespace {

struct Known {
  const char* name;
  std::array<double, 3> mean, std;  // of values in 0..1
};
constexpr double kByte = 255;
constexpr Known kKnown[] = {
    {"ImageNet's mean and std", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"CLIP's mean and std", {0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}},
    {"mean 0.5 and std 0.5", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
    {"(x - 127.5) / 128", {0.5, 0.5, 0.5}, {128 / kByte, 128 / kByte, 128 / kByte}},
    {"CIFAR-10's mean and std", {0.4914, 0.4822, 0.4465}, {0.247, 0.2435, 0.2616}},
    {"CIFAR-10's mean and std (0.2023, 0.1994, 0.2010)", {0.4914, 0.4822, 0.4465}, {0.2023, 0.1994, 0.201}},
    {"MNIST's mean and std", {0.1307, 0.1307, 0.1307}, {0.3081, 0.3081, 0.3081}},
    {"ImageNet's mean and std as one number for all channels (114.3884 and 58.3021)",
     {114.3884 / kByte, 114.3884 / kByte, 114.3884 / kByte},
     {58.3021 / kByte, 58.3021 / kByte, 58.3021 / kByte}},
    {"ImageNet's mean and std as one number for all channels (0.449 and 0.226)",
     {0.449, 0.449, 0.449},
     {0.226, 0.226, 0.226}},
    {"Caffe's mean (123.68, 116.779, 103.939)",
     {123.68 / kByte, 116.779 / kByte, 103.939 / kByte},
     {1 / kByte, 1 / kByte, 1 / kByte}},
    {"Caffe's mean (123, 117, 104)", {123 / kByte, 117 / kByte, 104 / kByte}, {1 / kByte, 1 / kByte, 1 / kByte}},
    {"x / 255", {0, 0, 0}, {1, 1, 1}},
    {"x / 256", {0, 0, 0}, {256 / kByte, 256 / kByte, 256 / kByte}},
    {"x - 128", {128 / kByte, 128 / kByte, 128 / kByte}, {1 / kByte, 1 / kByte, 1 / kByte}},
    {"x - 127.5", {0.5, 0.5, 0.5}, {1 / kByte, 1 / kByte, 1 / kByte}},
    {"no normalisation", {0, 0, 0}, {1 / kByte, 1 / kByte, 1 / kByte}},
};

bool IsNear(double found, double wanted) {
  return std::fabs(found - wanted) <= 5e-4 * std::max(std::fabs(wanted), 0.05);
}

bool AllNear(const std::vector<double>& found, const std::array<double, 3>& wanted, double factor, bool reversed) {
  for (size_t c = 0; c < found.size(); ++c) {
    if (!IsNear(found[c], wanted[found.size() == 1 ? 0 : std::min<size_t>(reversed ? 2 - c : c, 2)] * factor))
      return false;
  }
  return true;
}

bool IsOne(const std::array<double, 3>& values) { return values[0] == values[1] && values[1] == values[2]; }

// Mean and std of lines, of values whose largest is `unit`.
struct Moments {
  std::vector<double> mean, std;
};
Moments MomentsOf(const std::vector<AffineLine>& lines, double unit) {
  Moments moments;
  for (const AffineLine& line : lines) {
    moments.mean.push_back(-line.offset / line.slope / unit);
    moments.std.push_back(1 / (line.slope * unit));
  }
  return moments;
}

std::string KnownName(const std::vector<AffineLine>& lines, double unit) {
  if (lines.size() > 3) return "";
  const Moments moments = MomentsOf(lines, unit), other = MomentsOf(lines, unit == 1 ? kByte : 1);
  const std::vector<double> ones(lines.size(), 1.0), zeros(lines.size(), 0.0);
  const auto of = [&](const Moments& found, const Known& known, bool reversed) {
    return AllNear(found.mean, known.mean, 1, reversed) && AllNear(found.std, known.std, 1, reversed);
  };
  for (const Known& known : kKnown) {
    if (of(moments, known, false)) return known.name;
  }
  for (const Known& known : kKnown) {
    const std::string name = known.name;
    const bool shifts = known.mean[0] != 0, scales = !IsNear(known.std[0], 1);
    if (!IsOne(known.mean) && of(moments, known, true)) return name + " in the order of BGR";
    if (!shifts) continue;
    if (scales && of(other, known, false))
      return name + (unit == 1 ? ", divided by 255 a second time" : " without the division by 255");
    for (const bool reversed : {false, true}) {
      const std::string order = reversed && !IsOne(known.mean) ? " in the order of BGR" : "";
      if (scales && AllNear(moments.mean, known.mean, 1, reversed) && AllNear(moments.std, {1, 1, 1}, 1, false))
        return name + order + ", but no division by the std";
      if (scales && AllNear(moments.mean, {0, 0, 0}, 1, false) && AllNear(moments.std, known.std, 1, reversed))
        return name + order + ", but the mean is not subtracted";
      if (scales && unit != 1 && AllNear(moments.mean, known.mean, 1 / kByte, reversed) &&
          AllNear(moments.std, known.std, 1, reversed))
        return name + order + ", the mean subtracted before the division by 255";
    }
  }
  return "";
}

std::string ListOf(const std::vector<double>& values) {
  const bool same =
      std::all_of(values.begin(), values.end(), [&](double value) { return Number(value, 5) == Number(values[0], 5); });
  if (same) return Number(values[0], 5);
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i > 0 ? ", " : "") + Number(values[i], 5);
  return text + "]";
}

double UnitOf(const Picture& before) {
  if (before.bytes) return kByte;
  const auto largest = std::max_element(before.values.begin(), before.values.end());
  return largest != before.values.end() && *largest > 4 ? kByte : 1;
}

std::string NameOfLines(const std::vector<AffineLine>& lines, double unit, std::string* code) {
  const Moments moments = MomentsOf(lines, unit), whole = MomentsOf(lines, 1);
  const std::string known = KnownName(lines, unit);
  const std::string plain = fmt::format("(x - {}) / {}", ListOf(whole.mean), ListOf(whole.std));
  const std::string of_unit = fmt::format("x = (x / 255 - {}) / {}", ListOf(moments.mean), ListOf(moments.std));
  *code = unit == 1 || known.empty() ? "x = " + plain : of_unit;
  if (!known.empty()) return known;
  if (unit == 1) return plain;
  return fmt::format("{} (mean {}, std {} of x / 255)", plain, ListOf(moments.mean), ListOf(moments.std));
}

}  // namespace

// Both numbers of each line follow from the quantisation's scale, which is the same for all channels of a known set.
std::string QuantisedKnownName(const std::vector<AffineLine>& lines, double zero, double unit) {
  for (const Known& known : kKnown) {
    if (lines.size() > 3 || known.mean[0] == 0) continue;
    const double scale = 1 / (lines[0].slope * known.std[0] * unit);
    bool same = true;
    for (size_t c = 0; c < lines.size(); ++c) {
      const double slope = 1 / (known.std[c] * unit * scale), offset = zero - known.mean[c] / (known.std[c] * scale);
      same = same && std::fabs(lines[c].slope - slope) <= 2e-3 * std::fabs(slope) &&
             std::fabs(lines[c].offset - offset) <= 0.05 + 1e-3 * std::fabs(offset);
    }
    if (same) return fmt::format("{}, then / {}", known.name, Number(scale, 3));
  }
  return "";
}

std::vector<Convention> FindAffine(const Picture& before, const Picture& after, const StageInfo& info, DType dtype) {
  std::vector<Convention> found, orders;
  AddOrder(&orders);
  const PictureTarget target = {after.height, after.width, after.channels, after.bytes, &info};
  for (const Convention& order : orders) {
    const std::optional<Picture> moved = order.run(before, target);
    if (!moved.has_value()) continue;
    const auto lines = FitLines(*moved, after);
    if (!lines.has_value()) continue;
    const bool integers = !IsFloat(dtype);
    if (integers) {
      AddQuantised(before, after, *lines, order, info, dtype, &found);
      continue;
    }
    std::string code;
    std::string name = NameOfLines(*lines, UnitOf(before), &code);
    if (order.name != "the values as they are") name += ", " + order.name;
    found.push_back(AffineRow(name, code, *lines, order, Rounding::kNone, dtype));
  }
  return found;
}

}  // namespace plumb
