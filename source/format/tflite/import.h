// SPDX-License-Identifier: Apache-2.0
// A .tflite file as a graph: read and checked (model_file.h), written as nodes (translator.h), imported like an ONNX
// file (format/onnx/import.h), which knows shapes, folds constants and unrolls loops.
#ifndef PLUMB_FORMAT_TFLITE_IMPORT_H_
#define PLUMB_FORMAT_TFLITE_IMPORT_H_

#include <string>
#include <vector>

#include "base/file.h"
#include "format/onnx/ir.h"
#include "format/open_dims.h"
#include "plumb/model.h"

namespace plumb::tflite {

Result<Graph> LoadTflite(const std::string& path, const LoadOptions& options);
// The same of bytes in memory; `path` for messages.
Result<Graph> LoadTfliteBytes(FileBytes bytes, const std::string& path, const LoadOptions& options);

// The first subgraph as nodes of ONNX, weights with their output channels first.
Result<onnx::ModelIr> NodesOf(const std::string& path);

// The tensors of all subgraphs, as the file has them.
Result<std::vector<ModelTensor>> Tensors(const std::string& path);
// The inputs that a network of this file takes, by that signature or, of an empty one, the first subgraph.
Result<std::vector<DeclaredInput>> DeclaredInputs(const std::string& path, const std::string& signature);
Result<std::vector<ModelSignature>> Signatures(const std::string& path);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_IMPORT_H_
