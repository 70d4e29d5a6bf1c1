// SPDX-License-Identifier: Apache-2.0
// What values a network input may be drawn from, when nobody gives it: found by following it through the graph to where
// a value must fit (indices, lengths, one-hot classes).
#ifndef PLUMB_GRAPH_INPUT_RANGES_H_
#define PLUMB_GRAPH_INPUT_RANGES_H_

#include <map>
#include <string>

#include "graph/random_inputs.h"
#include "plumb/graph.h"

namespace plumb {

struct FoundRange {
  InputRange range;
  bool needed = false;  // another value would make a layer fail; otherwise it only makes sense
  std::string why;      // "rows of 'embedding' (Gather)"
};

// By input name; inputs that the graph says nothing of are not there (InputRange's default holds). An input with
// several readers gets what all of them take. Floats are found where they become indices: then whole numbers are drawn.
std::map<std::string, FoundRange> FindInputRanges(const Graph& graph, const BlobTable& blobs);

}  // namespace plumb

#endif  // PLUMB_GRAPH_INPUT_RANGES_H_
