// SPDX-License-Identifier: Apache-2.0
// Crops: where the part lies. The centre is rounded down by hand-written code ((h - H) // 2), half to even by
// torchvision (int(round((h - H) / 2.0)), transforms/functional.py), up by few.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "stage/explain.h"

namespace plumb {
namespace {

using OffsetOf = int64_t (*)(int64_t rest);

int64_t Down(int64_t rest) { return rest / 2; }
int64_t HalfToEven(int64_t rest) { return static_cast<int64_t>(std::nearbyint(static_cast<double>(rest) / 2)); }
int64_t Up(int64_t rest) { return (rest + 1) / 2; }
int64_t First(int64_t) { return 0; }
int64_t Last(int64_t rest) { return rest; }

bool IsPart(const Picture& before, const PictureTarget& target) {
  const bool smaller = before.height > target.height || before.width > target.width;
  return smaller && before.channels == target.channels && before.height >= target.height &&
         before.width >= target.width;
}

Convention CropRow(const char* name, const char* code, OffsetOf offset) {
  return {name,
          name,
          code,
          [offset](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            if (!IsPart(before, target)) return std::nullopt;
            return PartOf(before, offset(before.height - target.height), offset(before.width - target.width),
                          target.height, target.width);
          },
          0,
          false,
          true};
}

}  // namespace

void AddCrop(std::vector<Convention>* list) {
  list->push_back(CropRow("a centre crop whose offset is rounded down",
                          "top, left = (x.shape[0] - h) // 2, (x.shape[1] - w) // 2", Down));
  list->push_back(CropRow("a centre crop whose offset is rounded half to even (torchvision)",
                          "top, left = int(round((x.shape[0] - h) / 2.0)), int(round((x.shape[1] - w) / 2.0))",
                          HalfToEven));
  list->push_back(CropRow("a centre crop whose offset is rounded up",
                          "top, left = (x.shape[0] - h + 1) // 2, (x.shape[1] - w + 1) // 2", Up));
  list->push_back(CropRow("a crop of the top left", "x = x[:h, :w]", First));
  list->push_back(CropRow("a crop of the bottom right", "x = x[-h:, -w:]", Last));
}

std::vector<Convention> FindCrop(const Picture& before, const Picture& after) {
  const PictureTarget target = {after.height, after.width, after.channels, after.bytes, nullptr};
  if (!IsPart(before, target) || after.count() == 0) return {};
  const int64_t row = after.width * after.channels;
  int64_t budget = int64_t{1} << 28;  // values looked at
  for (int64_t top = 0; budget > 0 && top + after.height <= before.height; ++top) {
    for (int64_t left = 0; left + after.width <= before.width; ++left) {
      bool same = true;
      for (int64_t h = 0; same && h < after.height; ++h, budget -= row)
        same = std::equal(after.Row(h), after.Row(h) + row, before.Row(top + h) + left * before.channels);
      if (!same) continue;
      const std::string name = fmt::format("a crop at top {}, left {}", top, left);
      return {{name, name, fmt::format("x = x[{}:{}, {}:{}]", top, top + after.height, left, left + after.width),
               [top, left](const Picture& from, const PictureTarget& to) -> std::optional<Picture> {
                 if (!IsPart(from, to) || top + to.height > from.height || left + to.width > from.width)
                   return std::nullopt;
                 return PartOf(from, top, left, to.height, to.width);
               },
               0, false, true}};
    }
  }
  return {};
}

}  // namespace plumb
