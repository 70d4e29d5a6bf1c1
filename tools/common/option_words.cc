// SPDX-License-Identifier: Apache-2.0
#include "common/option_words.h"

#include <utility>
#include <vector>

namespace plumb {
namespace {

struct FieldWord {
  const char* field;
  const char* option;
};
constexpr FieldWord kFieldWords[] = {
    {"CheckOptions::layers", "--layers"},
    {"ComparisonRule::atol", "--atol"},
    {"ComparisonRule::kind", "--rule"},
    {"ComparisonRule::rtol", "--rtol"},
    {"DiffStyle::all", "--all"},
    {"InputOptions::exercise", "--probe"},
    {"InputOptions::files", "-i"},
    {"InputOptions::range", "--input-range"},
    {"LoadOptions::input_shapes", "--shape"},
    {"LoadOptions::input_values", "--constant"},
    {"LoadOptions::signature", "--signature"},
    {"NetworkOptions::device_index", "--device-index"},
    {"NetworkOptions::fallback", "--fallback"},
    {"PairingOptions::by_order", "--pair-by-order"},
    {"PairingOptions::layout", "--layout"},
    {"PairingOptions::names", "--names"},
    {"PairingOptions::tensors", "--tensors"},
    {"ReduceOptions::show", "--show"},
    {"ReportStyle::all", "--all"},
    {"RemoteOptions::silence", "--silence"},
    {"RuntimeOptions::max_isa", "--max-isa"},
    {"RuntimeOptions::num_threads", "--threads"},
    {"SessionOptions::arithmetic", "--arithmetic"},
    {"SessionOptions::run_onnxruntime", "--golden onnxruntime"},
    {"SessionOptions::run_litert", "--golden litert"},
    {"SessionOptions::subject", "--subject"},
    {"SetMaxMemory", "--max-memory"},
    {"WeightsStyle::all", "--all"},
};

void Put(std::string* text) { *text = InOptionWords(std::move(*text)); }

void Put(std::vector<std::string>* texts) {
  for (std::string& text : *texts) Put(&text);
}

}  // namespace

std::string InOptionWords(std::string message) {
  for (const FieldWord& row : kFieldWords) {
    const std::string field = row.field, option = row.option;
    for (size_t at = 0; (at = message.find(field, at)) != std::string::npos; at += option.size()) {
      message.replace(at, field.size(), option);
    }
  }
  return message;
}

void PutInOptionWords(CheckedModel* checked) {
  Put(&checked->inputs);
  Put(&checked->notes);
}

void PutInOptionWords(RunReport* run) {
  Put(&run->notes);
  Put(&run->why_not_tested);
  for (LayerReport& layer : run->layers) {
    Put(&layer.reason);
    Put(&layer.cause);
    for (OutputReport& output : layer.outputs) Put(&output.reason);
  }
}

}  // namespace plumb
