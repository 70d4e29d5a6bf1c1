// SPDX-License-Identifier: Apache-2.0
#include "device_check/payload.h"

#include <fmt/core.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>

#include "common/vocabulary.h"
#include "plumb/model.h"

namespace plumb {
namespace {

// Those that are given; of what the file leaves open also those that were chosen here: there may be less time to try.
Status AddShapes(const DeviceCheckOptions& o, Payload* payload) {
  for (const std::string& shape : o.model.shapes) payload->arguments.push_back("--shape=" + shape);
  if (payload->graph == nullptr) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const auto given, o.model.Read());
  PLUMB_ASSIGN_OR_RETURN(const auto open, OpenInputs(o.model.Files(), o.model.signature));
  for (const GraphInput& input : payload->graph->inputs) {
    if (open.count(input.name) == 0 || given.input_shapes.count(input.name) != 0) continue;
    const std::string dims = input.shape.ToString();
    payload->arguments.push_back(fmt::format("--shape={}={}", input.name, dims.substr(1, dims.size() - 2)));
  }
  return Status::Ok();
}

// x.tnnproto and its weights as they are; anything else is converted, with its shapes and constants fixed.
Status AddModel(const DeviceCheckOptions& o, const std::string& folder, Payload* payload) {
  ModelFiles files = o.model.Files();
  payload->structure = files.structure;
  const bool native = EndsWith(files.structure, ".tnnproto");
  if (!native) {
    ModelOptions load = o.model;
    load.keep_half = true;
    PLUMB_ASSIGN_OR_RETURN(const auto graph, load.Load(ShapesOfFiles(o.input.files)));
    PLUMB_RETURN_IF_ERROR(SaveModel(*graph, folder + "/model"));
    payload->weights = files.structure;
    payload->graph = graph;
    files = {folder + "/model.tnnproto", folder + "/model.tnnmodel"};
  } else if (files.weights.empty()) {
    files.weights = files.structure.substr(0, files.structure.size() - std::string("proto").size()) + "model";
    if (o.model.random_weights || !PathExists(files.weights)) files.weights.clear();
  }
  if (native) {
    if (o.judges_here() && o.program.empty()) {
      PLUMB_ASSIGN_OR_RETURN(payload->graph, o.model.Load(ShapesOfFiles(o.input.files)));
    }
    payload->weights = files.weights;
    PLUMB_RETURN_IF_ERROR(AddShapes(o, payload));
    if (o.model.random_weights) payload->arguments.emplace_back("--random-weights");
  }
  payload->files.push_back({files.structure, "model.tnnproto"});
  if (!files.weights.empty()) payload->files.push_back({files.weights, "model.tnnmodel"});
  payload->arguments.emplace_back("--model=model.tnnproto");
  payload->arguments.push_back("--seed=" + std::to_string(o.model.seed));
  return Status::Ok();
}

// FILE or NAME=FILE; the names there are ours, the suffix says the format.
Status AddInputs(const DeviceCheckOptions& o, Payload* payload) {
  for (const std::string& text : o.input.files) {
    const size_t equals = PathExists(text) ? std::string::npos : text.find('=');
    const std::string path = equals == std::string::npos ? text : text.substr(equals + 1);
    const size_t dot = path.find_last_of("./");
    const std::string suffix = dot == std::string::npos || path[dot] == '/' ? "" : path.substr(dot);
    const bool plain = suffix.size() < 8 && std::all_of(suffix.begin(), suffix.end(), [](unsigned char c) {
                         return c == '.' || std::isalnum(c) != 0;
                       });
    if (!plain) return Status::InvalidArgument(fmt::format("-i: '{}' has no suffix that says its format", path));
    const std::string name = fmt::format("input-{}{}", payload->files.size(), suffix);
    payload->files.push_back({path, name});
    const std::string blob = equals == std::string::npos ? "" : text.substr(0, equals + 1);
    payload->arguments.push_back("--input=" + blob + name);
  }
  const auto add = [&](const char* option, const std::string& value, const std::string& otherwise) {
    if (value != otherwise) payload->arguments.push_back(fmt::format("{}={}", option, value));
  };
  add("--input-range", o.input.range, "");
  add("--bias", o.input.bias, "");
  add("--scale", o.input.scale, "");
  add("--channel-order", o.input.channel_order, "rgb");
  add("--threads", std::to_string(o.run.threads), "0");
  add("--max-isa", o.run.max_isa, "");
  add("--precision", o.run.precision, "HIGH");
  add("--device-index", std::to_string(o.run.device_index), "0");
  add("--algorithms", o.run.algorithms, "fast");
  for (const std::string& kernel : o.run.kernels) payload->arguments.push_back("--kernel=" + kernel);
  if (o.run.fallback) payload->arguments.emplace_back("--fallback");
  return Status::Ok();
}

Status CanBeRead(const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0) return Status::Ok();
  return Status::InvalidArgument(fmt::format("cannot open '{}': {}", path, std::generic_category().message(errno)));
}

// Of the user's own files and the arguments: a run that goes on with what an earlier one left asks whether it is the
// same.
std::string StampOf(const Payload& payload, const std::vector<std::string>& paths) {
  std::string stamp;
  for (const std::string& argument : payload.arguments) stamp += argument + "\n";
  for (const std::string& path : paths) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) continue;
    stamp += fmt::format("{} {} {}.{}\n", path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return stamp;
}

}  // namespace

Result<Payload> MakePayload(const DeviceCheckOptions& options, const std::string& folder) {
  Payload payload;
  if (!options.program.empty()) {  // it brings its own
    payload.structure = options.model.Files().structure;
    return payload;
  }
  PLUMB_RETURN_IF_ERROR(AddModel(options, folder, &payload));
  PLUMB_RETURN_IF_ERROR(AddInputs(options, &payload));
  for (const RemoteFile& file : payload.files) {  // what is not here is no machine's failure
    PLUMB_RETURN_IF_ERROR(CanBeRead(file.local));
  }
  std::vector<std::string> paths = {payload.structure, payload.weights};
  for (const std::string& text : options.input.files) paths.push_back(text.substr(text.find('=') + 1));
  payload.stamp = StampOf(payload, paths);
  return payload;
}

}  // namespace plumb
