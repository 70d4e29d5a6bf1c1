// SPDX-License-Identifier: Apache-2.0
// A small network, and folders that disappear with the test.
#ifndef PLUMB_TEST_DUMP_DUMP_TEST_UTIL_H_
#define PLUMB_TEST_DUMP_DUMP_TEST_UTIL_H_

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "op/core/op.h"
#include "plumb/graph.h"
#include "plumb/tensor.h"

namespace plumb {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plumb_dump_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    names.insert(entry.path().filename().string());
  return names;
}

inline Layer MakeLayer(OpKind kind, std::string name, std::vector<std::string> in, std::vector<std::string> out) {
  Layer layer;
  layer.kind = kind;
  layer.type = GetOp(kind).name;
  layer.name = std::move(name);
  layer.inputs = std::move(in);
  layer.outputs = std::move(out);
  layer.param = GetOp(kind).make_param();
  return layer;
}

// x -> ReLU a -> Add(a, x) b -> Concat(a, b) c
inline std::shared_ptr<Graph> SmallGraph() {
  auto graph = std::make_shared<Graph>();
  graph->source = "small.tnnproto";
  graph->inputs = {{"x", DType::kF32, {1, 2, 1, 2}}};
  graph->outputs = {"c"};
  graph->layers = {MakeLayer(OpKind::kReLU, "relu", {"x"}, {"a"}),
                   MakeLayer(OpKind::kAdd, "block/add", {"a", "x"}, {"b:0"}),
                   MakeLayer(OpKind::kConcat, "join", {"a", "b:0"}, {"c"})};
  for (size_t i = 0; i < graph->layers.size(); ++i) graph->layers[i].index = static_cast<int>(i);
  return graph;
}

inline Tensor Floats(const std::vector<float>& values, Shape shape) {
  Tensor tensor = Tensor::Create(DType::kF32, std::move(shape)).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

inline Tensor SmallInput() { return Floats({1, -2, 0.1f, -4e-30f}, {1, 2, 1, 2}); }

}  // namespace plumb

#endif  // PLUMB_TEST_DUMP_DUMP_TEST_UTIL_H_
