// SPDX-License-Identifier: Apache-2.0
// PlumbQuantizedLSTM (op/quantized_lstm.h): integers, which are defined to the last one. With a bound each step takes
// the h that the device had, where its Y is known.
#include "op/quantized_lstm.h"

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

Status RunQuantizedLstm(const ReferenceArgs& args) {
  return ComputeQuantizedLstm(args.layer, args.inputs, nullptr, args.outputs[0]->data<int64_t>());
}

Status BoundQuantizedLstm(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunExact<RunQuantizedLstm>(args, bound));
  const Tensor* given = bound.device_outputs.empty() ? nullptr : bound.device_outputs[0];
  if (given == nullptr || given->empty()) return Status::Ok();
  return ComputeQuantizedLstm(args.layer, args.inputs, given, args.outputs[0]->data<int64_t>());
}

}  // namespace

ReferenceOp ReferencePlumbQuantizedLSTM() {
  ReferenceOp op{RunQuantizedLstm, BoundQuantizedLstm};
  op.propagates = false;
  op.feeds_back = true;
  return op;
}

}  // namespace plumb
