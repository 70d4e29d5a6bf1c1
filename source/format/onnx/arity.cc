// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/arity.h"

#include <fmt/core.h>

#include <cstring>
#include <limits>
#include <string>

namespace plumb::onnx {
namespace {

struct Count {
  size_t least = 0, most = 0;
};

Count CountOf(const char* letters) {
  Count count;
  for (size_t i = 0; letters[i] != '\0'; ++i) {
    const bool needed = letters[i] == 'r' || letters[i] == '+';
    if (needed) count.least = i + 1;
    count.most = letters[i] == '+' || letters[i] == '*' ? std::numeric_limits<size_t>::max() : i + 1;
  }
  return count;
}

Status CheckCount(const char* letters, size_t found, const std::string& what) {
  const Count count = CountOf(letters);
  if (found >= count.least && found <= count.most) return Status::Ok();
  std::string expected = std::to_string(count.least);
  if (count.most == std::numeric_limits<size_t>::max())
    expected += " or more";
  else if (count.most != count.least)
    expected += " to " + std::to_string(count.most);
  return Status::CorruptModel(
      fmt::format("it takes {} {}{}, found {}", expected, what, expected == "1" ? "" : "s", found));
}

}  // namespace

Status CheckArity(const Arity& arity, const NodeIr& node, const std::vector<Value>& inputs) {
  PLUMB_RETURN_IF_ERROR(CheckCount(arity.inputs, inputs.size(), "input"));
  PLUMB_RETURN_IF_ERROR(CheckCount(arity.outputs, node.outputs.size(), "output"));
  const size_t letters = std::strlen(arity.inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].present() || (i < letters && arity.inputs[i] == 'o')) continue;
    return Status::CorruptModel(
        fmt::format("input {} is required, but {}", i,
                    node.inputs[i].empty() ? "its name is empty" : fmt::format("'{}' was left out", node.inputs[i])));
  }
  return Status::Ok();
}

}  // namespace plumb::onnx
