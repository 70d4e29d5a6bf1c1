// SPDX-License-Identifier: Apache-2.0
#include "interop/ggml_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr int64_t kMaxGgmlElements = int64_t{1} << 28;  // of a tensor whose elements are told apart
constexpr int64_t kMaxGgmlStride = int64_t{1} << 33;    // bytes

// Whole numbers with a blank between two.
std::optional<WholeNumbers> ParseWholeNumbers(const std::string& text, size_t count) {
  WholeNumbers numbers;
  const char *at = text.data(), *end = at + text.size();
  while (at != end && numbers.size() < count) {
    int64_t number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc()) return std::nullopt;
    numbers.push_back(number);
    at = read.ptr;
    if (at != end && *at++ != ' ') return std::nullopt;
  }
  if (at != end || numbers.size() != count) return std::nullopt;
  return numbers;
}

}  // namespace

bool GgmlNode::IsLook() const {
  static const std::set<std::string> kLooks = {"VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE", "NONE"};
  return kLooks.count(blob->place.type) != 0;
}

bool IsGgml(const DumpedBlob& blob) {
  return std::find(blob.attributes.begin(), blob.attributes.end(), "op_params") != blob.attributes.end();
}

Status ReadGgmlAttributes(GgmlNode* node) {
  const std::vector<std::string>& attributes = node->blob->attributes;
  std::map<std::string, std::string> values;
  for (size_t i = 0; i + 1 < attributes.size(); i += 2) values[attributes[i]] = attributes[i + 1];
  const auto take = [&](const char* name, size_t count, WholeNumbers* numbers) {
    const auto found = ParseWholeNumbers(values[name], count);
    if (!found) {
      return Status::CorruptModel(
          fmt::format("attribute '{}' is '{}', expected {} whole numbers", name, Printable(values[name]), count));
    }
    *numbers = *found;
    return Status::Ok();
  };
  WholeNumbers offset;
  PLUMB_RETURN_IF_ERROR(take("ne", kGgmlDims, &node->dims));
  PLUMB_RETURN_IF_ERROR(take("nb", kGgmlDims, &node->strides));
  PLUMB_RETURN_IF_ERROR(take("op_params", 16, &node->params));
  PLUMB_RETURN_IF_ERROR(take("view_offset", 1, &offset));
  node->offset = offset[0];
  node->type = values["type"];
  node->view_of = values["view_of"];
  node->buffer = values["buffer"];
  const auto wrong = [](int64_t number, int64_t most) { return number < 0 || number > most; };
  int64_t count = 1;
  for (size_t i = 0; i < kGgmlDims; ++i) {
    if (!wrong(node->dims[i], kMaxGgmlElements / std::max<int64_t>(count, 1)) &&
        !wrong(node->strides[i], kMaxGgmlStride)) {
      count *= node->dims[i];
      continue;
    }
    return Status::CorruptModel(
        fmt::format("attributes 'ne' and 'nb': {} values, {} bytes from one to the next in dim "
                    "{}, after {} values",
                    node->dims[i], node->strides[i], i, count));
  }
  if (wrong(node->offset, kMaxGgmlStride))
    return Status::CorruptModel(fmt::format("attribute 'view_offset' is {}", node->offset));
  return Status::Ok();
}

Result<Shape> ShapeOfGgml(const GgmlNode& node) {
  std::vector<int64_t> dims(node.dims.rbegin(), node.dims.rend());
  const Shape& told = node.blob->shape;
  while (static_cast<int>(dims.size()) > told.rank() && dims[0] == 1) dims.erase(dims.begin());
  const bool same = static_cast<int>(dims.size()) == told.rank() &&
                    (!node.IsPlain() || Shape(dims) == told);  // of blocks the last dim counts bytes
  if (same) return Shape(dims);
  return Status::CorruptModel(
      fmt::format("its shape is {}, but attribute 'ne' says {}", told.ToString(), Shape(dims).ToString()));
}

Result<WholeNumbers> ElementsOfGgml(const GgmlNode& node, const GgmlNode& root) {
  const int64_t size = root.ElementSize();
  if (!root.IsPlain() || node.ElementSize() != size) {
    return Status::NotSupported(fmt::format("it looks at '{}' of {} as {}", root.name, root.type, node.type));
  }
  const int64_t count = node.NumElements(), all = root.NumElements();
  WholeNumbers elements;
  elements.reserve(static_cast<size_t>(count));
  WholeNumbers at(kGgmlDims, 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t byte = node.name == root.name ? 0 : node.offset, rest = i;
    for (size_t dim = 0; dim < kGgmlDims; ++dim) {
      at[dim] = rest % node.dims[dim];
      rest /= node.dims[dim];
      byte += at[dim] * (node.name == root.name ? 0 : node.strides[dim]);
    }
    const int64_t element = node.name == root.name ? i : byte / size;
    if (byte % size != 0 || element < 0 || element >= all) {
      return Status::CorruptModel(
          fmt::format("its element {} is byte {} of '{}', which has {} values", i, byte, root.name, all));
    }
    elements.push_back(element);
  }
  return elements;
}

}  // namespace plumb
