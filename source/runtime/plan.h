// SPDX-License-Identifier: Apache-2.0
// The plan of a network: steps, values and memory; filled by one pass per file (group, choose, layout, memory), run by
// network.cc.
#ifndef PLUMB_RUNTIME_PLAN_H_
#define PLUMB_RUNTIME_PLAN_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/grouped_step.h"
#include "plumb/network.h"

namespace plumb {

// One blob in one layout. A blob that is read in two layouts is two values.
struct Value {
  std::string blob;
  DType dtype = DType::kF32;
  Shape shape;
  LayoutPtr layout;
  int first_step = 0;  // that writes it; -1: a network input
  int last_step = 0;   // that reads it; steps.size(): a network output
  bool constant = false;
  bool pinned = false;  // network input or output: never shared with others' writes
  int parent = -1;      // the value whose memory this one lies in, or -1
  size_t parent_offset = 0;
  DeviceTensor tensor;  // filled by PlanMemory
  size_t bytes() const { return layout->Bytes(dtype, shape); }
};

struct Step {
  LayerGroup group;
  GroupedStep info;
  std::unique_ptr<KernelSpec> spec;
  std::unique_ptr<Kernel> kernel;
  LayoutChoice choice;
  std::vector<int> inputs;  // value ids, in the layouts that the kernel wants
  std::vector<int> outputs;
  int workspace = -1;                         // value id, or -1
  std::vector<int> arriving;                  // value ids as they were before conversion
  std::vector<std::pair<int, int>> reorders;  // value id -> value id, before the kernel runs
  std::vector<DeviceTensor> input_tensors;
  std::vector<DeviceTensor> output_tensors;
  bool empty = false;  // all outputs have zero elements: nothing to run
};

struct Plan {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<Device> device;
  std::shared_ptr<Device> fallback;  // NAIVE, with options.fallback
  NetworkOptions options;
  BlobTable blobs;
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<Value> values;
  std::map<std::string, int> blob_values;  // blob -> the value its producer writes
  bool poison = false;                     // runtime/poison.h
  size_t arena_bytes = 0;
  size_t unplanned_bytes = 0;
};

// Splits the layers into groups: a group grows while its output has one reader and the device fuses that reader.
std::vector<LayerGroup> GroupLayers(const Graph& graph, const BlobTable& blobs, const Device& device, bool fuse);
// A group of layers that stand in a row, and of one layer.
LayerGroup GroupOfLayers(std::vector<const Layer*> members);
LayerGroup SingleGroup(const Layer& layer);

// Takes the first kernel that supports each group; splits a group that none supports into the longest beginning that
// one does and the rest; falls back to NAIVE where that is allowed.
Status ChooseKernels(std::vector<LayerGroup> groups, Plan* plan);
// Asks every kernel for its layouts and inserts conversions where they do not agree.
Status ChooseLayouts(Plan* plan);
// Grants the kernels' share wishes where liveness allows, packs all values into one arena, uploads constants.
Status PlanMemory(Plan* plan);
// From now on the value, which lies in no other, and those that lie in it are at `offset` of `buffer`.
void MoveValue(int id, const std::shared_ptr<Buffer>& buffer, size_t offset, Plan* plan);

// Fills what the step is about to write, and its workspace, with NaN; not where an output shares memory with an input.
Status PoisonStep(const Step& step, Device* device);

// A kernel of `device` for a network on another device: inputs are downloaded, outputs uploaded.
std::unique_ptr<Kernel> CreateFallbackKernel(const KernelSpec& spec, const KernelRow& row,
                                             std::shared_ptr<Device> device);

// "layer 12 'conv_3' (Convolution)", the frame that every error about a layer carries.
std::string LayerFrame(const Layer& layer);

}  // namespace plumb

#endif  // PLUMB_RUNTIME_PLAN_H_
