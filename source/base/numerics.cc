#include "plumb/numerics.h"

#include <fmt/core.h>

#include <cstdio>

namespace plumb {

std::string Numerics::Name() const {
  std::string name;
  const auto add = [&name](const std::string& words) { name += (name.empty() ? "" : ", ") + words; };
  if (algorithm == kWinograd) {
    const std::string outputs = fmt::format("{}x{}", tile, tile);
    add(fmt::format("winograd F({},3x3) points", outputs));
    for (const double point : points) {
      char text[32];
      std::snprintf(text, sizeof(text), " %.4g", point);
      name += text;
    }
  }
  if (accumulator != DType::kF32) add(std::string("sums in ") + DTypeName(accumulator));
  if (storage != DType::kF32) add(std::string("operands in ") + DTypeName(storage));
  return name;
}

}  // namespace plumb
