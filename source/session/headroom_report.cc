// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plumb/tool/headroom.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

using HeadroomJson = nlohmann::ordered_json;

HeadroomJson Finite(double value) { return std::isfinite(value) ? HeadroomJson(value) : HeadroomJson("inf"); }

std::string ShareOf(int64_t part, int64_t all) {
  if (part == 0 || all == 0) return "0";
  return Number(100 * static_cast<double>(part) / static_cast<double>(all), 3) + " %";
}

// The multiply-adds of these layers, of all.
double ShareKept(const HeadroomReport& report, const std::vector<size_t>& kept) {
  double sum = 0;
  for (const size_t i : kept) sum += report.layers[i].multiply_adds;
  return report.multiply_adds > 0 ? sum / report.multiply_adds : 0;
}

const char* WordsFor(HalfSums sums) {
  switch (sums) {
    case HalfSums::kF32: return "sums in f32";
    case HalfSums::kInOrder: return "sums in it, in the order of the weights";
    case HalfSums::kAnyOrder: return "sums in it, in any order";
  }
  return "";
}

// "f16, sums in f32: 2 of 39 layers must stay in f32 (1.2 % of the multiply-adds): 'conv_3' writes 7.1e+04, ..."
std::string KeptSentence(const HeadroomReport& report, HalfFormat format, HalfSums sums) {
  constexpr size_t kNamed = 20, kLongestName = 40;  // whole names stand in the JSON
  const std::vector<size_t> kept = report.Kept(format, sums);
  const std::string which = fmt::format("{}, {}: ", HalfFormatName(format), WordsFor(sums));
  if (kept.empty()) return which + "nothing overflows";
  std::string named;
  for (size_t i = 0; i < std::min(kept.size(), kNamed); ++i) {
    const LayerHeadroom& layer = report.layers[kept[i]];
    named +=
        fmt::format("{}'{}' {}", i == 0 ? "" : ", ", CutFront(layer.name, kLongestName), layer.WhyKept(format, sums));
  }
  if (kept.size() > kNamed) named += fmt::format(" and {} more", kept.size() - kNamed);
  return fmt::format("{}{} of {} layers must stay in f32 ({} % of the multiply-adds): {}", which, kept.size(),
                     report.layers.size(), Number(100 * ShareKept(report, kept), 3), named);
}

// "" where no layer writes NaN.
std::string NanSentence(const HeadroomReport& report) {
  int layers = 0;
  const LayerHeadroom* first = nullptr;
  for (const LayerHeadroom& layer : report.layers) {
    if (!layer.nan) continue;
    ++layers;
    if (first == nullptr) first = &layer;
  }
  if (first == nullptr) return "";
  return fmt::format("NaN: {} layers write it, '{}' first; nothing is known of such values and of what is behind them",
                     layers, CutFront(first->name, 40));
}

}  // namespace

std::string FormatHeadroom(const HeadroomReport& report, size_t width, bool short_form) {
  std::string text = fmt::format("headroom {}\n", PrintableLine(report.model));
  for (const std::string& input : report.inputs)
    text += fmt::format("        {}\n", Wrapped(PrintableLine(input), width, 8, 8));
  TextTable table({{"layer", 0, false, true},
                   {"type", 2},
                   {"largest value", 0, true},
                   {"sum in order", 0, true},
                   {"in any order", 0, true},
                   {"f16 subnormal", 1, true},
                   {"f16 zero", 1, true}});
  for (const LayerHeadroom& layer : report.layers) {
    table.Add({{layer.name},
               {layer.type},
               {Number(layer.largest, 3)},
               {layer.sums ? Number(layer.in_order, 3) : ""},
               {layer.sums ? Number(layer.any_order, 3) : ""},
               {ShareOf(layer.loss[0].subnormal, layer.values)},
               {ShareOf(layer.loss[0].zero, layer.values)}});
  }
  text = short_form ? "" : text + table.Format(width);
  const std::string nan = NanSentence(report);
  if (!nan.empty()) text += Wrapped(PrintableLine(nan), width, 4) + "\n";
  for (const HalfFormat format : kHalfFormats) {
    for (const HalfSums sums : kHalfSums)
      text += Wrapped(PrintableLine(KeptSentence(report, format, sums)), width, 4) + "\n";
  }
  return text;
}

std::string FormatHeadroomJson(const HeadroomReport& report) {
  HeadroomJson json{{"format", "plumb-headroom"},      {"version", 1},
                    {"model", report.model},           {"inputs", report.inputs},
                    {"layers", HeadroomJson::array()}, {"keep_f32", HeadroomJson::array()}};
  for (const LayerHeadroom& layer : report.layers) {
    HeadroomJson one{{"index", layer.index},
                     {"name", layer.name},
                     {"type", layer.type},
                     {"values", layer.values},
                     {"largest", Finite(layer.largest)},
                     {"largest_read", Finite(layer.largest_read)},
                     {"largest_constant", Finite(layer.largest_constant)},
                     {"nan", layer.nan},
                     {"sum_in_order", layer.sums ? Finite(layer.in_order) : HeadroomJson()},
                     {"sum_in_order_f16", layer.sums ? Finite(layer.in_order_f16) : HeadroomJson()},
                     {"sum_in_any_order", layer.sums ? Finite(layer.any_order) : HeadroomJson()},
                     {"multiply_adds", layer.multiply_adds}};
    for (size_t f = 0; f < kHalfFormats.size(); ++f)
      one[HalfFormatName(kHalfFormats[f])] = {{"subnormal", layer.loss[f].subnormal}, {"zero", layer.loss[f].zero}};
    json["layers"].push_back(std::move(one));
  }
  for (const HalfFormat format : kHalfFormats) {
    for (const HalfSums sums : kHalfSums) {
      HeadroomJson layers = HeadroomJson::array();
      const std::vector<size_t> kept = report.Kept(format, sums);
      for (const size_t i : kept) {
        const LayerHeadroom& layer = report.layers[i];
        layers.push_back({{"index", layer.index}, {"name", layer.name}, {"why", layer.WhyKept(format, sums)}});
      }
      json["keep_f32"].push_back({{"format", HalfFormatName(format)},
                                  {"sums", HalfSumsName(sums)},
                                  {"limit", OverflowOf(format)},
                                  {"multiply_adds", ShareKept(report, kept)},
                                  {"layers", std::move(layers)}});
    }
  }
  return json.dump(1, ' ', false, HeadroomJson::error_handler_t::replace) + "\n";
}

}  // namespace plumb
