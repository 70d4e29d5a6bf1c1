// SPDX-License-Identifier: Apache-2.0
// Any bytes as the CSV of --names: what is read has two names on each line.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "interop/pairing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto names = plumb::ParseNames(text, "x.csv");
  if (!names.ok()) return names.status().message().empty() ? std::abort(), 0 : 0;
  if (names->size() > size / 3 + 1) std::abort();
  for (const auto& [model, subject] : *names) {
    if (model.empty() || subject.empty()) std::abort();
  }
  return 0;
}
