// SPDX-License-Identifier: Apache-2.0
// AttributeParams: fills an operator's parameters from the node's attributes of the same names.
#ifndef PLUMB_FORMAT_ONNX_MAP_ATTRIBUTE_PARAMS_H_
#define PLUMB_FORMAT_ONNX_MAP_ATTRIBUTE_PARAMS_H_

#include <string>
#include <vector>

#include "format/onnx/node_context.h"

namespace plumb::onnx {

class AttributeParams : public ParamVisitor {
 public:
  explicit AttributeParams(const NodeContext& c) : c_(c) {}
  void Int(const char* name, int& value, Need) override { value = static_cast<int>(c_.Int(name, value)); }
  void Float(const char* name, float& value, Need) override { value = c_.Float(name, value); }
  void Bool(const char* name, bool& value, Need) override { value = c_.Int(name, value ? 1 : 0) != 0; }
  void Text(const char* name, std::string& value, Need) override { value = c_.Text(name, value); }
  void Counted(const char* name, std::vector<int>& values, Need) override {
    values.clear();
    for (const int64_t value : c_.IntList(name)) values.push_back(static_cast<int>(value));
  }
  void Fixed(const char* name, std::vector<int>& values, size_t, Need need) override { Counted(name, values, need); }
  void Rest(const char* name, std::vector<int>& values) override { Counted(name, values, kOptional); }
  void Ignored(const char*) override {}

 private:
  const NodeContext& c_;
};

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_ATTRIBUTE_PARAMS_H_
