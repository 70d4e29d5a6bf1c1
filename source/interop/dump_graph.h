// SPDX-License-Identifier: Apache-2.0
// A dump that carries its own graph: the types, inputs and parameters of its layers and the constants they read
// (plumb_dump.h's fields; doc/dump_format.md). So far ggml's, as examples/hooks/ggml_hook.h writes them; what its
// operators are in Plumb's stands in format/onnx/ggml_list.def.
//
// Memory is what ggml computes on: a view reads what is in its buffer at that time. So each read of memory that an
// operator has written into since (a cache, an operator in place) is a choice among what was there and what was
// written.
#ifndef PLUMB_INTEROP_DUMP_GRAPH_H_
#define PLUMB_INTEROP_DUMP_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/model.h"

namespace plumb {

// A layer of the dump that is not in the graph: what it wrote is a network input.
struct LayerLeftOut {
  int index = 0;
  std::string name, type, reason;
  bool is_output = false;  // no other layer reads it
  int64_t values = 0;
  double multiply_adds = 0;  // an estimate: of one that reads two tensors or more, a product of rows
};

struct DumpGraph {
  Graph graph;                               // blobs have the manifest's names
  std::map<std::string, std::string> types;  // by blob: the layer's type in the dump
  std::vector<LayerLeftOut> left_out;
};

// NotFound: no manifest, or one that says no types and inputs. CorruptModel: a graph that cannot be, naming manifest,
// layer and what it lacks. Of the options evaluator, record and max_bytes count.
Result<DumpGraph> LoadDumpGraph(const std::string& folder, const LoadOptions& options);

}  // namespace plumb

#endif  // PLUMB_INTEROP_DUMP_GRAPH_H_
