#include "common/option_words.h"

namespace plumb {
namespace {

struct FieldWord {
  const char* field;
  const char* option;
};
constexpr FieldWord kFieldWords[] = {
    {"ComparisonRule::atol", "--atol"},
    {"ComparisonRule::kind", "--rule"},
    {"ComparisonRule::rtol", "--rtol"},
    {"InputOptions::files", "-i"},
    {"InputOptions::range", "--input-range"},
    {"LoadOptions::input_shapes", "--shape"},
    {"LoadOptions::input_values", "--constant"},
    {"NetworkOptions::device_index", "--device-index"},
    {"NetworkOptions::fallback", "--fallback"},
    {"PairingOptions::by_order", "--pair-by-order"},
    {"PairingOptions::layout", "--layout"},
    {"PairingOptions::names", "--names"},
    {"PairingOptions::tensors", "--tensors"},
    {"RuntimeOptions::max_isa", "--max-isa"},
    {"RuntimeOptions::num_threads", "--threads"},
    {"SessionOptions::arithmetic", "--arithmetic"},
    {"SessionOptions::run_onnxruntime", "--golden onnxruntime"},
    {"SetMaxMemory", "--max-memory"},
};

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

}  // namespace plumb
