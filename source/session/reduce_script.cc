// SPDX-License-Identifier: Apache-2.0
// The script of a case: the command once more, and model_check as it is called on a command line.
#include <fmt/core.h>

#include <algorithm>

#include "base/process.h"
#include "session/reduce_step.h"

namespace plumb {
namespace {

// What model_check is told of the device that judges the case.
std::string DeviceAgain(const ReduceOptions& options, const Graph& graph) {
  const NetworkOptions& network = options.network;
  std::string text = "-d " + options.device;
  if (network.num_threads != 0) text += fmt::format(" --threads {}", network.num_threads);
  if (network.precision != Precision::kHigh) text += fmt::format(" --precision {}", PrecisionName(network.precision));
  if (network.device_index != 0) text += fmt::format(" --device-index {}", network.device_index);
  if (network.fallback) text += " --fallback";
  if (network.direct) text += " --algorithms direct";
  for (const auto& [layer, kernel] : network.kernels) {
    const auto is_it = [&name = layer](const Layer& one) { return one.name == name; };
    if (std::any_of(graph.layers.begin(), graph.layers.end(), is_it))
      text += " --kernel " + QuotedForShell(layer + "=" + kernel);
  }
  return text;
}

// How a dump was judged.
std::string DumpWordsAgain(const SessionOptions& judged) {
  std::string text;
  if (!judged.pairing.layout.empty()) text += fmt::format("--layout {} ", judged.pairing.layout);
  if (judged.arithmetic) text += fmt::format("--arithmetic {} ", ArithmeticName(*judged.arithmetic));
  return text;
}

}  // namespace

std::string ShowScript(const ReduceOptions& options, const SessionOptions& judged, const Graph& graph, bool is_onnx) {
  const std::string model = is_onnx ? "\"$here\"/model.onnx" : "\"$here\"/case.tnnproto";
  const std::string check = fmt::format("model_check -m {} -i \"$here\"/inputs.npz {}", model,
                                        options.reproduce.empty() ? "" : options.reproduce + " ");
  std::string text = "#!/bin/sh\n# Shows the fault again.\nhere=$(cd \"$(dirname \"$0\")\" && pwd) || exit 2\n";
  if (options.command.empty())
    return text + (options.network.unfuse ? "DUMP_BLOB_UNFUSE=1 " : "") + check + DeviceAgain(options, graph) + "\n";
  text += "rm -rf \"$here\"/dump && mkdir \"$here\"/dump\n";
  text += FilledCommand(options.command,
                        {{"model", model}, {"inputs", "\"$here\"/inputs.npz"}, {"dump", "\"$here\"/dump"}});
  return text + "\n" + check + DumpWordsAgain(judged) + "--subject \"$here\"/dump\n";
}

}  // namespace plumb
