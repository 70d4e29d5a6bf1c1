// SPDX-License-Identifier: Apache-2.0
// TensorProto -> Tensor. For the files that see protobuf.
#ifndef PLUMB_FORMAT_ONNX_PROTO_TENSOR_H_
#define PLUMB_FORMAT_ONNX_PROTO_TENSOR_H_

#include <onnx/onnx_pb.h>

#include <string>

#include "format/onnx/ir.h"

namespace plumb::onnx {

// CorruptModel for a tensor that contradicts itself. A type that Plumb does not carry is no error yet: the constant is
// empty and says why. Frees the message's raw data on the way. External data is read from the folder of `model_path`.
Result<ConstantIr> ConvertTensor(::onnx::TensorProto* proto, const std::string& model_path, bool skip_weights = false);

// The other way round: what the message held is gone.
void FillTensorProto(const std::string& name, const Tensor& tensor, ::onnx::TensorProto* proto);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_PROTO_TENSOR_H_
