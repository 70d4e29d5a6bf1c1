// SPDX-License-Identifier: Apache-2.0
// A byte for the dtype, two for the dims, the rest as the text of -ip: a sentence, or a tensor of that dtype and shape.
#include <cstdlib>
#include <string>

#include "common/plain_values.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  if (size < 3) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 3, size - 3);
  const Shape shape{data[1], data[2]};
  const auto values = ParsePlainValues(text, static_cast<DType>(data[0] % 12), shape);
  if (!values.ok()) return values.status().message().empty() ? std::abort(), 0 : 0;
  if (values->shape() != shape || static_cast<size_t>(shape.NumElements()) > (size + 1) / 2) std::abort();
  return 0;
}
