// SPDX-License-Identifier: Apache-2.0
// Reads an ONNX file into the importer's form (ir.h). Built on Debian's protobuf and libonnx_proto; unknown fields and
// newer IR versions are read as far as they are understood. A build without protobuf answers NotSupported.
#ifndef PLUMB_FORMAT_ONNX_PARSE_H_
#define PLUMB_FORMAT_ONNX_PARSE_H_

#include <string>

#include "base/file.h"
#include "format/onnx/ir.h"

namespace plumb::onnx {

// `path` names the file in messages; external data is looked for in its folder and nowhere else.
Result<ModelIr> ParseModel(const FileSource& source, const std::string& path, bool skip_weights = false);

// A serialised TensorProto (the backend tests' data files).
Result<ConstantIr> ParseTensor(const FileBytes& bytes, const std::string& path);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_PARSE_H_
