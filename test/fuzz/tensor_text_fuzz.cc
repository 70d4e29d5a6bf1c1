// SPDX-License-Identifier: Apache-2.0
// TNN's text form and plain values, in every dtype; what f32 accepts is written and must read back the same.
#include <cstdlib>
#include <cstring>

#include "tensor/tnn_text.h"
#include "tensor/values_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (LooksLikeTnnText(text)) (void)ParseTnnText(text, "x.txt");
  if (size > 0) (void)ParseValuesText(text.substr(1), "x.txt", static_cast<DType>(data[0] % 12), {});
  const Result<Tensor> floats = ParseValuesText(text, "x.txt", DType::kF32, {});
  if (!floats.ok()) return 0;
  std::string written;
  AppendValuesText(*floats, 0, floats->NumElements(), TextStyle::kShortest, &written);
  const Result<Tensor> again = ParseValuesText(written, "x.txt", DType::kF32, floats->shape());
  if (!again.ok()) std::abort();
  for (int64_t i = 0; i < floats->NumElements(); ++i) {
    const float a = floats->data<float>()[i], b = again->data<float>()[i];
    if (std::memcmp(&a, &b, sizeof(a)) != 0 && (a == a || b == b)) std::abort();
  }
  return 0;
}
