// SPDX-License-Identifier: Apache-2.0
// The table of ONNX operators, from onnx_list.def, and of ggml's and TFLite's, from ggml_list.def and
// tflite_node_list.def.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "format/onnx/importer.h"

namespace plumb::onnx {

#define PLUMB_ONNX(op_type, file, inputs, outputs) Status Map##op_type(NodeContext& c);
#define PLUMB_ONNX_ONE PLUMB_ONNX
#define PLUMB_ONNX_MICROSOFT(op_type, file, inputs, outputs) Status MapMicrosoft##op_type(NodeContext& c);
#include "format/onnx/onnx_list.def"
#undef PLUMB_ONNX_MICROSOFT
#undef PLUMB_ONNX_ONE
#undef PLUMB_ONNX
#define PLUMB_GGML(op_type, file, inputs, outputs) Status MapGgml##op_type(NodeContext& c);
#include "format/onnx/ggml_list.def"
#undef PLUMB_GGML
#define PLUMB_TFLITE_NODE(op_type, file, inputs, outputs) Status MapTflite##op_type(NodeContext& c);
#include "format/onnx/tflite_node_list.def"
#undef PLUMB_TFLITE_NODE

namespace {

constexpr MapperRow kRows[] = {
#define PLUMB_ONNX(op_type, file, inputs, outputs) {#op_type, {inputs, outputs}, Map##op_type, ""},
#define PLUMB_ONNX_ONE PLUMB_ONNX
#define PLUMB_ONNX_MICROSOFT(op_type, file, inputs, outputs) \
  {#op_type, {inputs, outputs}, MapMicrosoft##op_type, "com.microsoft"},
#include "format/onnx/onnx_list.def"
#undef PLUMB_ONNX_MICROSOFT
#undef PLUMB_ONNX_ONE
#undef PLUMB_ONNX
#define PLUMB_GGML(op_type, file, inputs, outputs) {#op_type, {inputs, outputs}, MapGgml##op_type, "ggml"},
#include "format/onnx/ggml_list.def"
#undef PLUMB_GGML
#define PLUMB_TFLITE_NODE(op_type, file, inputs, outputs) {#op_type, {inputs, outputs}, MapTflite##op_type, "tflite"},
#include "format/onnx/tflite_node_list.def"
#undef PLUMB_TFLITE_NODE
};

// How many letters have to be changed, added or removed.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

const std::vector<MapperRow>& AllMappers() {
  static const auto* rows = new std::vector<MapperRow>(std::begin(kRows), std::end(kRows));
  return *rows;
}

const MapperRow* FindMapper(const std::string& domain, const std::string& op_type) {
  static const auto* rows = [] {
    auto* map = new std::unordered_map<std::string, const MapperRow*>;
    for (const MapperRow& row : kRows) map->emplace(row.domain + ("." + std::string(row.op_type)), &row);
    return map;
  }();
  const auto it = rows->find(fmt::format("{}.{}", domain, op_type));
  return it == rows->end() ? nullptr : it->second;
}

const MapperRow* NearestMapper(const std::string& op_type) {
  const MapperRow* nearest = nullptr;
  size_t best = op_type.size() / 2 + 1;
  for (const MapperRow& row : kRows) {
    const size_t distance = Distance(op_type.substr(0, 100), row.op_type);
    if (distance >= best || *row.domain != '\0') continue;
    best = distance;
    nearest = &row;
  }
  return nearest;
}

}  // namespace plumb::onnx
