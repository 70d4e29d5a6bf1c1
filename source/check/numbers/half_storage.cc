// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/half_storage.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/half.h"
#include "check/numbers/telling.h"

namespace plumb {
namespace {

constexpr int64_t kTelling = 16;

bool OnlyValuesOf(const Tensor& tensor, DType narrow) {
  const float* x = tensor.data<float>();
  for (int64_t i = 0, count = tensor.NumElements(); i < count; ++i) {
    const float rounded =
        narrow == DType::kF16 ? HalfToFloat(FloatToHalf(x[i])) : BFloat16ToFloat(FloatToBFloat16(x[i]));
    if (rounded != x[i] && x[i] == x[i]) return false;
  }
  return true;
}

int64_t CountTelling(const Tensor& tensor) {
  int64_t telling = 0;
  for (int64_t i = 0, count = tensor.NumElements(); i < count && telling < kTelling; ++i) {
    const auto value = static_cast<double>(tensor.data<float>()[i]);
    int exponent;
    const double scaled = std::ldexp(std::frexp(value, &exponent), 5);
    telling += std::isfinite(value) && scaled != std::nearbyint(scaled);
  }
  return telling;
}

bool HasManyValues(const Tensor& tensor) {
  constexpr size_t kValuesOfAByte = 256;
  std::set<float> distinct;
  const float* x = tensor.data<float>();
  for (int64_t i = 0, count = tensor.NumElements(); i < count && distinct.size() <= kValuesOfAByte; ++i) {
    if (x[i] == x[i]) distinct.insert(x[i]);
  }
  return distinct.size() > kValuesOfAByte;
}

// One format in a graph.
class Finder {
 public:
  Finder(const Graph& graph, const std::map<std::string, HalfValues>& values, DType format)
      : graph_(graph), tells_(graph), values_(values), format_(format) {
    for (const Layer& layer : graph.layers) {
      const bool ends = SumsProducts(layer) ||
                        std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                    [&](const auto& in) { return values_.count(in) == 0 && products_.count(in) != 0; });
      if (ends) products_.insert(layer.outputs.begin(), layer.outputs.end());
    }
  }

  // How many results tell, and how many of them are of the format.
  struct Count {
    int half = 0, all = 0;
    void Add(bool is_half) { half += is_half, ++all; }
    bool most() const { return 2 * half > all; }
  };

  bool IsEverywhere() const {
    int64_t telling = 0;
    for (const Layer& layer : graph_.layers) {
      for (const std::string& blob : layer.outputs) {
        const auto it = values_.find(blob);
        if (it == values_.end()) continue;
        if (!Is(it->second)) return false;
        if (Tells(blob, it->second)) telling += it->second.telling;
      }
    }
    return telling >= kTelling;
  }

  // Fills the blobs that are not of the format, and says which operators are; false: the format is not this one.
  bool Mixed(std::map<std::string, DType>* others, std::string* because) {
    Count products, all;
    for (const Layer& layer : graph_.layers) {
      for (const std::string& blob : layer.outputs) {
        const auto it = values_.find(blob);
        if (it == values_.end() || it->second.telling < kTelling || !Tells(blob, it->second)) continue;
        const bool half = Is(it->second);
        if (products_.count(blob) != 0) products.Add(half);
        all.Add(half);
        by_operator_[KeyOf(layer)].Add(half);
      }
    }
    if (!(products.half >= 2 && products.most()) && !(all.half >= 3 && 3 * all.half >= 2 * all.all)) return false;
    for (const Layer& layer : graph_.layers) {
      const bool most = MostAreHalf(layer);
      for (const std::string& blob : layer.outputs) {
        const auto it = values_.find(blob);
        const bool known = it != values_.end() && it->second.telling >= kTelling;
        const bool half = known && products_.count(blob) != 0 ? Is(it->second) : most;
        if (!half || (it != values_.end() && !Is(it->second))) (*others)[blob] = DType::kF32;
      }
    }
    *because = Describe(all);
    return true;
  }

 private:
  bool Is(const HalfValues& values) const { return format_ == DType::kF16 ? values.f16 : values.bf16; }

  bool Tells(const std::string& blob, const HalfValues& values) const {
    return tells_.Has(blob) && (tells_.has_products() || values.many);
  }

  // The operator, and whether all that it reads is of the format.
  std::pair<std::string, bool> KeyOf(const Layer& layer) const {
    const bool half = std::all_of(layer.inputs.begin(), layer.inputs.end(), [&](const std::string& blob) {
      const auto it = values_.find(blob);
      return it == values_.end() || Is(it->second);
    });
    return {layer.type, half};
  }

  bool MostAreHalf(const Layer& layer) const {
    const auto it = by_operator_.find(KeyOf(layer));
    return it == by_operator_.end() || it->second.most();
  }

  std::string Describe(const Count& all) const {
    std::map<std::string, Count> types;
    for (const auto& [key, count] : by_operator_)
      types[key.first].half += count.half, types[key.first].all += count.all;
    std::string half, wide;
    for (const auto& [type, count] : types) {
      if (count.half > 0) half += (half.empty() ? "" : ", ") + type;
      if (count.half < count.all) wide += (wide.empty() ? "" : ", ") + type;
    }
    return fmt::format("{} of {} results are {} ({}), the others f32 ({})", all.half, all.all, DTypeName(format_), half,
                       wide);
  }

  const Graph& graph_;
  const TellingBlobs tells_;
  const std::map<std::string, HalfValues>& values_;
  const DType format_;
  // What sums of products made, or what ends a step of one whose own result the subject lacks: its activation, or the
  // sum of the several that a node was imported as (Conv of three dimensions).
  std::set<std::string> products_;
  std::map<std::pair<std::string, bool>, Count> by_operator_;
};

}  // namespace

HalfValues HalfValuesOf(const Tensor& tensor) {
  return {OnlyValuesOf(tensor, DType::kF16), OnlyValuesOf(tensor, DType::kBF16), CountTelling(tensor),
          HasManyValues(tensor)};
}

bool IsStoredAs(DType format, const HalfValues& values) {
  return (format == DType::kF16 ? values.f16 : values.bf16) && values.telling >= kTelling;
}

HalfStorage HalfStorage::Everywhere(DType format) {
  HalfStorage storage;
  storage.format_ = format;
  return storage;
}

HalfStorage HalfStorage::Find(const Graph& graph, const std::map<std::string, HalfValues>& values) {
  constexpr DType kFormats[] = {DType::kBF16, DType::kF16};  // bf16 values in f16's range are f16s, too
  for (const DType format : kFormats) {
    HalfStorage storage = Everywhere(format);
    storage.because_ = std::string("every value is ") + (format == DType::kF16 ? "an f16" : "a bf16");
    if (Finder(graph, values, format).IsEverywhere()) return storage;
  }
  for (const DType format : kFormats) {
    HalfStorage storage = Everywhere(format);
    if (Finder(graph, values, format).Mixed(&storage.blobs_, &storage.because_)) return storage;
  }
  return HalfStorage();
}

DType HalfStorage::Of(const std::string& blob) const {
  const auto it = blobs_.find(blob);
  return it == blobs_.end() ? format_ : it->second;
}

}  // namespace plumb
