// SPDX-License-Identifier: Apache-2.0
#include "interop/pairing.h"

#include <algorithm>
#include <map>
#include <string>

#include "dump/file_name.h"

namespace plumb {
namespace {

constexpr int kLevels = 4;

// What must agree at each level, from strict to loose; empty: this entry does not take part.
std::string Key(const BlobPlace& place, int level) {
  const char separator = '\0';  // no name holds it
  const std::string port = std::string(place.output ? "out" : "in") + std::to_string(place.slot);
  switch (level) {
    case 0:
      return std::to_string(place.layer_index) + separator + place.layer + separator + port + separator + place.blob;
    case 1: return place.layer + separator + port + separator + place.blob;
    case 2: return TnnName(place.layer) + separator + port + separator + TnnName(place.blob);
    default: return place.output ? TnnName(place.blob) : "";
  }
}

std::map<std::string, std::vector<size_t>> ByKey(const std::vector<DumpEntry>& entries, const std::vector<bool>& taken,
                                                 int level) {
  std::map<std::string, std::vector<size_t>> result;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string key = taken[i] ? "" : Key(entries[i].place, level);
    if (!key.empty()) result[key].push_back(i);
  }
  return result;
}

}  // namespace

Pairing PairBlobs(const std::vector<DumpEntry>& a, const std::vector<DumpEntry>& b) {
  Pairing result;
  std::vector<bool> taken_a(a.size()), taken_b(b.size());
  for (int level = 0; level < kLevels; ++level) {
    const auto in_a = ByKey(a, taken_a, level);
    const auto in_b = ByKey(b, taken_b, level);
    for (const auto& [key, places] : in_a) {
      const auto it = in_b.find(key);
      if (it == in_b.end() || places.size() != 1 || it->second.size() != 1) continue;  // never guess
      taken_a[places[0]] = true;
      taken_b[it->second[0]] = true;
      result.pairs.emplace_back(places[0], it->second[0]);
    }
  }
  std::sort(result.pairs.begin(), result.pairs.end());
  for (size_t i = 0; i < a.size(); ++i) {
    if (!taken_a[i]) result.only_a.push_back(i);
  }
  for (size_t i = 0; i < b.size(); ++i) {
    if (!taken_b[i]) result.only_b.push_back(i);
  }
  return result;
}

}  // namespace plumb
