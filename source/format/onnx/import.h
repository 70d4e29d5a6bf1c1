// Turns an ONNX model into a graph: nodes in order, local functions inlined, If and Loop unrolled, constants folded.
#ifndef PLUMB_FORMAT_ONNX_IMPORT_H_
#define PLUMB_FORMAT_ONNX_IMPORT_H_

#include <set>
#include <string>

#include "format/onnx/ir.h"
#include "plumb/model.h"

namespace plumb::onnx {

struct ImportResult {
  Graph graph;
  std::set<std::string> needed;  // after a failure: network inputs whose values would have to be known
  Status status;
};

// Uses options.input_shapes, input_values and evaluator. All nodes that cannot be expressed are named in one Status.
ImportResult ImportModel(const ModelIr& model, const LoadOptions& options);

// ParseModel and ImportModel of a file.
Result<Graph> LoadOnnx(const std::string& path, const LoadOptions& options);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_IMPORT_H_
