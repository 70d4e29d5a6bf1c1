// SPDX-License-Identifier: Apache-2.0
// What the files of the module hand to each other. Python sees it as plumbnn._core; users see plumbnn, which is on top.
#ifndef PLUMB_PYTHON_BIND_H_
#define PLUMB_PYTHON_BIND_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "convert.h"
#include "plumb/inputs.h"
#include "plumb/model.h"
#include "plumb/network.h"

namespace plumb::python {

struct ModelArguments {
  std::string structure, weights;
  std::map<std::string, std::vector<int64_t>> shapes;
  bool ask_shapes = false;  // refuse open dims; otherwise usual sizes are chosen, as the tools do
  Arrays constants;
  uint64_t seed = kDefaultSeed;
  std::string signature;
};
LoadOptions ToLoadOptions(const ModelArguments& arguments);

struct ModelHandle {
  std::shared_ptr<const Graph> graph;
  ModelFiles files;  // of which it was made, and how
  LoadOptions load;
};

struct DeviceArguments {
  std::string precision = "HIGH";
  int threads = 0;
  int device_index = 0;
  bool fallback = false;
  bool unfuse = false;
  bool direct = false;
  std::map<std::string, std::vector<int64_t>> shapes;
};
NetworkOptions ToNetworkOptions(const DeviceArguments& arguments);

void BindModel(nb::module_& module);
void BindNetwork(nb::module_& module);
void BindCheck(nb::module_& module);
void BindCompare(nb::module_& module);
void BindJudge(nb::module_& module);
void BindStage(nb::module_& module);
void BindMany(nb::module_& module);
void BindReduce(nb::module_& module);

}  // namespace plumb::python

#endif  // PLUMB_PYTHON_BIND_H_
