// SPDX-License-Identifier: Apache-2.0
// TFLite's LSTM of integers: PlumbQuantizedLSTM, whose parameters are the attributes of the same names.
#include "format/onnx/map/attribute_params.h"
#include "op/quantized_lstm.h"

namespace plumb::onnx {

Status MapTfliteQuantizedLSTM(NodeContext& c) {
  auto param = std::make_shared<QuantizedLstmParam>();
  AttributeParams attributes(c);
  param->Visit(attributes);
  std::vector<Value> inputs;
  for (size_t i = 0; i < c.NumInputs() && c.Has(i); ++i) inputs.push_back(c.In(i));
  return c.EmitOutput(OpKind::kPlumbQuantizedLSTM, param, inputs);
}

}  // namespace plumb::onnx
