// SPDX-License-Identifier: Apache-2.0
// Turns an ONNX model into a graph: nodes in order, local functions inlined, If and Loop unrolled, constants folded.
#ifndef PLUMB_FORMAT_ONNX_IMPORT_H_
#define PLUMB_FORMAT_ONNX_IMPORT_H_

#include <string>
#include <vector>

#include "format/onnx/budget.h"
#include "format/onnx/import_result.h"
#include "format/onnx/ir.h"
#include "plumb/model.h"

namespace plumb::onnx {

inline constexpr int kNewestOpset = 28;  // that is known: whose node tests onnx_newest_test runs

// Uses options.input_shapes, input_values and evaluator. All nodes that cannot be expressed are named in one Status.
ImportResult ImportModel(const ModelIr& model, const LoadOptions& options);
// The same within what is left of a budget that several imports of a model share.
ImportResult ImportModel(const ModelIr& model, const LoadOptions& options, ImportBudget* budget);

// ImportModel with what options.open_dims says of open inputs.
Result<Graph> ImportAtAnyShape(const ModelIr& model, const LoadOptions& options);
// ParseModel and ImportModel of a file, with what options.open_dims says of open inputs.
Result<Graph> LoadOnnx(const std::string& path, const LoadOptions& options);

// The inputs that a network of this file takes, without loading more of it than protobuf must.
Result<std::vector<DeclaredInput>> DeclaredInputs(const std::string& path);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_IMPORT_H_
