// SPDX-License-Identifier: Apache-2.0
// What an import gives: a graph, or why not and what is missing.
#ifndef PLUMB_FORMAT_ONNX_IMPORT_RESULT_H_
#define PLUMB_FORMAT_ONNX_IMPORT_RESULT_H_

#include <string>
#include <vector>

#include "format/open_dims.h"
#include "plumb/graph.h"
#include "plumb/status.h"

namespace plumb::onnx {

struct ImportResult {
  Graph graph;
  std::vector<std::string> unknown_attributes;  // that a node has and no mapper reads; a note of the graph says each
  NeededValues needed;                          // after a failure
  std::vector<DeclaredInput> inputs;            // that are no constants, filled as far as possible
  std::vector<DeclaredInput> open;              // the same, when that leaves some open: then it failed
  Status status;
};

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_IMPORT_RESULT_H_
