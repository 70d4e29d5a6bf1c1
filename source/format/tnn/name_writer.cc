// SPDX-License-Identifier: Apache-2.0
#include "format/tnn/name_writer.h"

#include <algorithm>

#include "format/tnn/param_tokens.h"

namespace plumb::tnn {
namespace {

constexpr char kDigits[] = "0123456789ABCDEF";

bool NeedsEscape(char byte, bool escape_colon) {
  const auto code = static_cast<unsigned char>(byte);
  return code <= 0x20 || code == 0x7F || byte == ',' || byte == '"' || byte == '%' || (escape_colon && byte == ':');
}

bool NeedsEscape(const std::string& name, bool escape_colon) {
  return std::any_of(name.begin(), name.end(), [&](char byte) { return NeedsEscape(byte, escape_colon); });
}

}  // namespace

NameWriter::NameWriter(const Graph& graph) {
  for (const GraphInput& input : graph.inputs) {
    inputs_.insert(input.name);
    escapes_ = escapes_ || NeedsEscape(input.name, true);
  }
  const auto check = [this](const std::string& name) { escapes_ = escapes_ || NeedsEscape(name, false); };
  for (const std::string& name : graph.outputs) check(name);
  for (const Layer& layer : graph.layers) {
    check(layer.name);
    for (const std::string& name : layer.inputs) check(name);
    for (const std::string& name : layer.outputs) check(name);
    for (const std::string& text : TextParams(layer)) check(text);
  }
  for (const auto& entry : graph.constants) check(entry.first);
  for (const auto& entry : graph.blob_scales) check(entry.first);
}

std::string NameWriter::Write(const std::string& name, bool escape_colon) const {
  if (!escapes_) return name;
  std::string text;
  text.reserve(name.size());
  for (const char byte : name) {
    if (NeedsEscape(byte, escape_colon)) {
      const auto code = static_cast<unsigned char>(byte);
      text += {'%', kDigits[code >> 4], kDigits[code & 15]};
    } else {
      text += byte;
    }
  }
  return text;
}

}  // namespace plumb::tnn
