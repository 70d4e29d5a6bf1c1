// SPDX-License-Identifier: Apache-2.0
// Custom operators of mediapipe. Their options are C structs of 32-bit integers, in which padding 1 is SAME and 2
// VALID.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "format/tflite/map/window.h"
#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

constexpr int kSame = 1;
constexpr int64_t kLargestWindow = 1 << 20;

// The first `count` integers of the options.
Result<std::vector<int>> OptionInts(const OpContext& c, size_t count) {
  const auto* bytes = c.op().custom_options();
  const size_t found = bytes == nullptr ? 0 : bytes->size();
  if (found < count * sizeof(int32_t))
    return Status::CorruptModel(fmt::format("its options have {} bytes, expected {}", found, count * sizeof(int32_t)));
  std::vector<int> values(count);
  std::memcpy(values.data(), bytes->data(), count * sizeof(int32_t));
  for (const int value : values) {
    if (value < 0 || value > kLargestWindow) return Status::CorruptModel(fmt::format("its options hold {}", value));
  }
  return values;
}

// padding, stride_w, stride_h. The output is stride (in - 1) + kernel, less what SAME takes away.
Status TransposeBias(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> o, OptionInts(c, 3));
  if (c.NumInputs() != 3 || !c.Has(0) || !c.Has(1) || c.Rank(0) != 4 || c.Rank(1) != 4)
    return Status::CorruptModel("it expects an image, weights of 4 dims and a bias");
  if (o[1] < 1 || o[2] < 1) return Status::CorruptModel(fmt::format("its strides are {} and {}", o[2], o[1]));
  std::vector<int64_t> pads(4, 0);
  for (int i = 0; i < 2 && o[0] == kSame; ++i) {
    const int64_t stride = i == 0 ? o[2] : o[1];
    const int64_t total = std::max<int64_t>(0, c.InShape(1)[i + 1] - (c.InShape(0)[i + 1] - 1) % stride - 1);
    pads[static_cast<size_t>(i)] = total / 2;
    pads[static_cast<size_t>(i) + 2] = total - total / 2;
  }
  const TransposedWindow window{o[2], o[1], schema::Padding::VALID, schema::Activation::NONE, {}, pads};
  return TransposedConvolution(c, 0, 2, window);
}

}  // namespace

TfliteMapper FindCustom(const std::string& name) {
  if (name == "Convolution2DTransposeBias") return &TransposeBias;
  return nullptr;
}

}  // namespace plumb::tflite
