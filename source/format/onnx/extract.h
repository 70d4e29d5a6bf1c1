// SPDX-License-Identifier: Apache-2.0
// A part of an ONNX file as a file of its own. A build without protobuf answers NotSupported.
#ifndef PLUMB_FORMAT_ONNX_EXTRACT_H_
#define PLUMB_FORMAT_ONNX_EXTRACT_H_

#include <string>
#include <vector>

#include "plumb/tensor_file.h"

namespace plumb::onnx {

// Writes FOLDER/model.onnx, the nodes of `model` that make the outputs of the inputs, with their initialisers, and the
// tensors as FOLDER/test_data_set_0/input_0.pb, output_0.pb ...: a case of ONNX's backend tests. The folder and the one
// inside it exist. Inputs that no such node reads are left out. NotSupported where the nodes read something else that
// is no constant, or no node makes an output.
Status WriteOnnxPart(const std::string& model, const std::string& folder, const std::vector<NamedTensor>& inputs,
                     const std::vector<NamedTensor>& outputs);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_EXTRACT_H_
