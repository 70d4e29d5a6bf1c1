// SPDX-License-Identifier: Apache-2.0
// The model, device and thread options that model_check, model_run and model_info share.
#ifndef PLUMB_TOOLS_COMMON_MODEL_OPTIONS_H_
#define PLUMB_TOOLS_COMMON_MODEL_OPTIONS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/cli.h"
#include "common/constants.h"
#include "common/inputs.h"
#include "plumb/session.h"
#include "plumb/tool/check_all.h"

namespace plumb {

struct ModelOptions {
  std::string model, proto;  // as Files() has them: with both, model is the tnnmodel
  std::vector<std::string> shapes;
  ConstantOptions constants;
  uint64_t seed = kDefaultSeed;
  bool random_weights = false;
  std::string signature;                 // LoadOptions::signature
  std::string first, second;             // by place: the model, its tnnmodel
  std::string type;                      // TNN's -mt
  const bool* not_needed = nullptr;      // not an option: a flag of the tool that does without a model
  const std::string* instead = nullptr;  // not an option: one of the tool's that may name where the model comes from
  bool keep_half = false;                // not an option: LoadOptions::keep_half
  bool keep_quantized = false;           // not an option: LoadOptions::keep_quantized
  bool skip_weights = false;             // not an option: LoadOptions::skip_weights
  // Not an option: the folder that was named as the model, where it is a case (model_check --extract, model_reduce).
  std::string case_folder;

  // The model's options and places. What they name is sorted out by the end of Parse.
  void AddTo(CommandLine* command_line);
  ModelFiles Files() const;
  Status Resolve();
  // Of --show: CheckShown, and InvalidArgument where the model is none of which an ONNX case is written.
  Status CheckShow(const std::string& show) const;
  Result<LoadOptions> Read() const;
  // Says on stderr, once, what nobody asked for: generated weights, an open batch that was taken as 1, chosen shapes.
  void SayWhatWasLoaded(const Graph& graph) const;
  // Read, LoadModel and SayWhatWasLoaded. `open_shapes`: of inputs with open dims that --shape does not name;
  // `open_dims`: what becomes of the others, where it is not what --shape says.
  Result<std::shared_ptr<const Graph>> Load(const std::map<std::string, Shape>& open_shapes = {},
                                            std::optional<OpenDims> open_dims = std::nullopt) const;
  // "generated: philox4x32-10 v1, seed 1" or "from x.tnnmodel".
  std::string DescribeWeights(const Graph& graph) const;
};

struct RunOptions {
  int threads = 0;
  std::string max_isa;
  std::string precision = "HIGH";
  bool fallback = false;
  int device_index = 0;
  std::string algorithms = "fast";
  std::vector<std::string> kernels;  // LAYER=KERNEL

  void AddTo(CommandLine* command_line);
  // Sets the process's ISA cap and threads, and fills the rest.
  Result<NetworkOptions> Apply() const;
};

// How another runtime's tensors are called, laid out and computed.
struct DumpWords {
  std::string names, layout, arithmetic;

  void AddTo(CommandLine* command_line);
  // Of a session's subject and golden.
  Status Read(SessionOptions* session) const;
};

// What a session is opened with, for a tool that judges what was dumped.
Result<SessionOptions> ReadSession(const ModelOptions& model, const InputArguments& input, const DumpWords& words);

// "X86,OPENCL" or "ALL" (those present but NAIVE).
Result<std::vector<AskedDevice>> AskForDevices(const std::string& text);
// The same as names in capitals.
Result<std::vector<std::string>> ParseDevices(const std::string& text);

// The options for one of the devices: --device-index counts the adapters of OPENCL and VULKAN, and no other device has
// any.
NetworkOptions OptionsFor(const NetworkOptions& options, const RunOptions& run, const std::string& device);
// InvalidArgument when --device-index was given and none of the devices has adapters.
Status CheckDeviceIndex(const RunOptions& run, const std::vector<std::string>& devices);

// A note on stderr when the device runs another precision than was asked for (one without fp16 runs f32).
void NotePrecision(const NetworkOptions& asked, const Network& network);

// Prints an OpenDevice failure; a device that is not present has exit code 3.
int FailOnDevice(const Status& status);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_MODEL_OPTIONS_H_
