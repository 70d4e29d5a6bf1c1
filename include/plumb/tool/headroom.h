// SPDX-License-Identifier: Apache-2.0
// Headroom: how far a network's values and partial sums are from what f16 and bf16 can hold, on given inputs, and which
// layers must stay in f32 so that nothing overflows (doc/headroom.md). The reference alone runs.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(plumb::Graph loaded, plumb::LoadModel("net.tnnproto"));
//   const auto graph = std::make_shared<const plumb::Graph>(std::move(loaded));
//   PLUMB_ASSIGN_OR_RETURN(const plumb::HeadroomReport report, plumb::MeasureHeadroom(graph, {{"input", image}}, {}));
//   std::fputs(plumb::FormatHeadroom(report, 100).c_str(), stdout);
#ifndef PLUMB_TOOL_HEADROOM_H_
#define PLUMB_TOOL_HEADROOM_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plumb/network.h"

namespace plumb {

// Of 16 bits.
enum class HalfFormat { kF16, kBF16 };
constexpr std::array<HalfFormat, 2> kHalfFormats = {HalfFormat::kF16, HalfFormat::kBF16};
// "f16", "bf16".
const char* HalfFormatName(HalfFormat format);
// The least number that rounds to infinity: 65520 of f16, which holds 65504 at most.
double OverflowOf(HalfFormat format);

// In what a layer adds up its products, when it is not kept in f32.
enum class HalfSums {
  kF32,      // in f32: its values alone can overflow
  kInOrder,  // in the format, term by term in the order of the weights, the bias first or last, rounding with it
  kAnyOrder  // in whatever order: the largest sum of some of the terms, or the one in order, rounding with it
};
constexpr std::array<HalfSums, 3> kHalfSums = {HalfSums::kF32, HalfSums::kInOrder, HalfSums::kAnyOrder};
// "f32", "in order", "any order".
const char* HalfSumsName(HalfSums sums);

// What becomes of values other than 0 in a format.
struct HalfLoss {
  int64_t subnormal = 0;  // below the smallest normal number: bits are lost
  int64_t zero = 0;       // nothing is left
};

struct LayerHeadroom {
  int index = 0;
  std::string name, type;
  int64_t values = 0;       // that it writes, of floats
  double largest = 0;       // of these; infinite where f32 overflowed
  double largest_read = 0;  // of what it reads
  double largest_constant = 0;
  bool nan = false;  // it writes NaN: nothing else is known of these values, and of what is behind them
  // Of sums of products, the largest partial sum: in the order of the weights, exact and with each term and each sum
  // rounded to f16's 11 bits; and in whatever order, without rounding, which may come on top.
  bool sums = false;
  double in_order = 0, in_order_f16 = 0, any_order = 0;
  std::array<HalfLoss, 2> loss;  // of its values, by format
  double multiply_adds = 0;

  // Why it must stay in f32: "reads 7.1e+04", "its sums reach 1.2e+05"; "": it may be of the format.
  std::string WhyKept(HalfFormat format, HalfSums sums_in) const;
};

struct HeadroomReport {
  std::string model;
  std::vector<std::string> inputs;    // a sentence each
  std::vector<LayerHeadroom> layers;  // in execution order
  double multiply_adds = 0;

  // The positions of the layers that must stay in f32: values and sums in f32, written in f32. Each is forced by
  // itself, so no other set is as small, or as cheap.
  std::vector<size_t> Kept(HalfFormat format, HalfSums sums_in) const;
};

// Runs the network once. Options: input shapes and threads count.
Result<HeadroomReport> MeasureHeadroom(std::shared_ptr<const Graph> graph, const std::map<std::string, Tensor>& inputs,
                                       const NetworkOptions& options);

// A table, and a sentence per format and way to sum; `short_form`: the sentences alone.
std::string FormatHeadroom(const HeadroomReport& report, size_t width, bool short_form = false);
// The same as JSON (format "plumb-headroom").
std::string FormatHeadroomJson(const HeadroomReport& report);

}  // namespace plumb

#endif  // PLUMB_TOOL_HEADROOM_H_
