// SPDX-License-Identifier: Apache-2.0
// Custom operators of mediapipe. Their options are C structs of 32-bit integers, in which padding 1 is SAME and 2
// VALID.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "format/onnx/node_context.h"
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

}  // namespace

// padding, stride_w, stride_h. The output is stride (in - 1) + kernel, less what SAME takes away.
Status MapConvolution2DTransposeBias(OpContext& c) {
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

namespace {

// padding, stride_w, stride_h, filter_w, filter_h.
struct CustomPool {
  onnx::AttributeMap attributes;
  std::vector<int64_t> stride, filter, pad;  // height, width; pad: at the beginning
};

Result<CustomPool> ReadPool(const OpContext& c, const Shape& image, const Shape& pooled) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> o, OptionInts(c, 5));
  CustomPool pool;
  pool.stride = {o[2], o[1]};
  pool.filter = {o[4], o[3]};
  for (size_t i = 0; i < 2; ++i) {
    if (pool.stride[i] < 1 || pool.filter[i] < 1)
      return Status::CorruptModel(fmt::format("its stride is {}, its filter {}", pool.stride[i], pool.filter[i]));
    const int axis = static_cast<int>(i) + 1;
    pool.pad.push_back(std::max<int64_t>(0, (pooled[axis] - 1) * pool.stride[i] + pool.filter[i] - image[axis]) / 2);
  }
  pool.attributes = {{"kernel_shape", IntsAttribute(pool.filter)},
                     {"strides", IntsAttribute(pool.stride)},
                     {"auto_pad", TextAttribute(o[0] == kSame ? "SAME_UPPER" : "VALID")}};
  return pool;
}

// First pixel of each window along a dim, times a factor, in the place of that dim.
Result<std::string> Origins(OpContext& c, int axis, int64_t count, int64_t stride, int64_t pad, int64_t factor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back((i * stride - pad) * factor);
  PLUMB_ASSIGN_OR_RETURN(const Tensor list, onnx::IntTensor(values));
  Shape shape{1, 1, 1, 1};
  shape[axis] = count;
  PLUMB_ASSIGN_OR_RETURN(const Tensor placed, list.Reshaped(shape));
  return c.writer().Constant(placed, onnx::kTypeInt64, "origins");
}

Result<std::string> Whole(OpContext& c, int64_t value) { return c.writer().Ints({value}, true); }

Status CheckImages(const OpContext& c, size_t inputs, size_t outputs) {
  bool right = c.NumInputs() == inputs && c.NumOutputs() == outputs;
  const auto is_image = [](const Shape& shape) {
    return shape.rank() == 4 && *std::max_element(shape.dims().begin(), shape.dims().end()) <= 1 << 16;
  };
  for (size_t i = 0; right && i < inputs; ++i) right = c.Has(i) && is_image(c.InShape(i));
  for (size_t i = 0; right && i < outputs; ++i) right = c.OutputIndex(i) >= 0 && is_image(c.OutShape(i));
  if (right) return Status::Ok();
  return Status::CorruptModel(fmt::format("it expects {} images and gives {}, of 4 dims each", inputs, outputs));
}

}  // namespace

// The second output is the place inside the window, row by row, as a float, and 0.1 more.
Status MapMaxPoolingWithArgmax2D(OpContext& c) {
  PLUMB_RETURN_IF_ERROR(CheckImages(c, 1, 2));
  const Shape image = c.InShape(0), pooled = c.OutShape();
  PLUMB_ASSIGN_OR_RETURN(const CustomPool pool, ReadPool(c, image, pooled));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFirst));
  const std::vector<std::string> found = c.writer().EmitMany("MaxPool", {x}, 2, pool.attributes);
  PLUMB_ASSIGN_OR_RETURN(const std::string width, Whole(c, image[2]));
  PLUMB_ASSIGN_OR_RETURN(const std::string height, Whole(c, image[1]));
  PLUMB_ASSIGN_OR_RETURN(const std::string columns, Whole(c, pool.filter[1]));
  PLUMB_ASSIGN_OR_RETURN(const std::string top, Origins(c, 2, pooled[1], pool.stride[0], pool.pad[0], 1));
  PLUMB_ASSIGN_OR_RETURN(const std::string left, Origins(c, 3, pooled[2], pool.stride[1], pool.pad[1], 1));
  const std::string row = c.Emit("Mod", {c.Emit("Div", {found[1], width}), height});
  const std::string column = c.Emit("Mod", {found[1], width});
  const std::string place =
      c.Emit("Add", {c.Emit("Mul", {c.Emit("Sub", {row, top}), columns}), c.Emit("Sub", {column, left})});
  PLUMB_ASSIGN_OR_RETURN(const std::string tenth, c.Number(0.1f));
  const std::string real = c.Emit("Cast", {place}, {{"to", IntAttribute(onnx::kTypeFloat)}});
  PLUMB_RETURN_IF_ERROR(c.Set(1, c.Emit("Add", {real, tenth}), Order::kFirst));
  return c.Set(0, found[0], Order::kFirst);
}

Status MapMaxUnpooling2D(OpContext& c) {
  PLUMB_RETURN_IF_ERROR(CheckImages(c, 2, 1));
  const Shape pooled = c.InShape(0), image = c.OutShape();
  PLUMB_ASSIGN_OR_RETURN(CustomPool pool, ReadPool(c, image, pooled));
  pool.attributes.erase("auto_pad");
  if (pool.stride != pool.filter || image[1] != pooled[1] * pool.stride[0] || image[2] != pooled[2] * pool.stride[1])
    return Status::NotSupported(fmt::format("it spreads {} over {} in windows that overlap or leave pixels out",
                                            pooled.ToString(), image.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFirst));
  PLUMB_ASSIGN_OR_RETURN(const std::string real, c.Real(1, Order::kFirst));
  const std::string place = c.Emit("Cast", {real}, {{"to", IntAttribute(onnx::kTypeInt64)}});
  PLUMB_ASSIGN_OR_RETURN(const std::string columns, Whole(c, pool.filter[1]));
  PLUMB_ASSIGN_OR_RETURN(const std::string width, Whole(c, image[2]));
  const int64_t pixels = image[1] * image[2];
  PLUMB_ASSIGN_OR_RETURN(const std::string batch, Origins(c, 0, image[0], image[3] * pixels, 0, 1));
  PLUMB_ASSIGN_OR_RETURN(const std::string channel, Origins(c, 1, image[3], pixels, 0, 1));
  PLUMB_ASSIGN_OR_RETURN(const std::string top, Origins(c, 2, pooled[1], pool.stride[0], pool.pad[0], image[2]));
  PLUMB_ASSIGN_OR_RETURN(const std::string left, Origins(c, 3, pooled[2], pool.stride[1], pool.pad[1], 1));
  const std::string inside =
      c.Emit("Add", {c.Emit("Mul", {c.Emit("Div", {place, columns}), width}), c.Emit("Mod", {place, columns})});
  const std::string window = c.Emit("Add", {c.Emit("Add", {batch, channel}), c.Emit("Add", {top, left})});
  return c.Set(0, c.Emit("MaxUnpool", {x, c.Emit("Add", {inside, window})}, pool.attributes), Order::kFirst);
}

}  // namespace plumb::tflite
