// SPDX-License-Identifier: Apache-2.0
// PlainGraph: a file's graph in Plumb's own operators, which is what SuggestNames traces.
#ifndef PLUMB_NAMES_PLAIN_H_
#define PLUMB_NAMES_PLAIN_H_

#include <map>
#include <string>

#include "format/onnx/ir.h"
#include "plumb/model.h"

namespace plumb {

struct PlainGraph {
  Graph graph;
  BlobTable blobs;
  std::map<std::string, std::string> handed_on;  // tensors that are another one of the file

  // The blob that holds a tensor of the file; "": none.
  std::string BlobOf(std::string tensor) const;
};

// The graph before its loops and branches: without them, and without what follows from them.
onnx::ModelIr WithoutLoops(const onnx::ModelIr& model);

// `shapes`: of network inputs with open dims. The errors of importing.
Result<PlainGraph> ReadPlainGraph(const std::string& path, onnx::ModelIr model,
                                  const std::map<std::string, Shape>& shapes);

}  // namespace plumb

#endif  // PLUMB_NAMES_PLAIN_H_
