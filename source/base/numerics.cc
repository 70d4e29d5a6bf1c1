#include "plumb/numerics.h"

#include <fmt/core.h>

#include <cstdio>

namespace plumb {

std::string Numerics::Name() const {
  std::string name;
  const auto add = [&name](const std::string& words) { name += (name.empty() ? "" : ", ") + words; };
  if (algorithm == kWinograd) {
    add(fmt::format(dimensions == 1 ? "winograd F({0},{1}) points" : "winograd F({0}x{0},{1}x{1}) points", tile,
                    taps()));
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
