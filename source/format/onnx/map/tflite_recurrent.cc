// SPDX-License-Identifier: Apache-2.0
// TFLite's LSTM of integers: PlumbQuantizedLSTM, whose parameters are the attributes of the same names.
#include "format/onnx/node_context.h"
#include "op/quantized_lstm.h"

namespace plumb::onnx {
namespace {

class LstmAttributes : public ParamVisitor {
 public:
  explicit LstmAttributes(const NodeContext& c) : c_(c) {}
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

}  // namespace

Status MapTfliteQuantizedLSTM(NodeContext& c) {
  auto param = std::make_shared<QuantizedLstmParam>();
  LstmAttributes attributes(c);
  param->Visit(attributes);
  std::vector<Value> inputs;
  for (size_t i = 0; i < c.NumInputs() && c.Has(i); ++i) inputs.push_back(c.In(i));
  return c.EmitOutput(OpKind::kPlumbQuantizedLSTM, param, inputs);
}

}  // namespace plumb::onnx
