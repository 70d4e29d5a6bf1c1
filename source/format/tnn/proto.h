// SPDX-License-Identifier: Apache-2.0
// tnnproto text <-> graph. Reading takes both magics and what TNN's old files leave out; writing is always v2.
// The graph holds structure only: weights come from a tnnmodel (model.h) or from the generator
// (graph/random_weights.h).
#ifndef PLUMB_FORMAT_TNN_PROTO_H_
#define PLUMB_FORMAT_TNN_PROTO_H_

#include <string>
#include <string_view>

#include "plumb/graph.h"

namespace plumb::tnn {

struct Proto {
  Graph graph;
  bool escaped = false;  // names are written with %XX, in the tnnmodel too
};

// CorruptModel with line, layer and field; NotSupported that names every layer whose type Plumb has no operator for.
// `source` is the file's name for messages.
Result<Proto> ParseProto(std::string_view text, const std::string& source);

// InvalidArgument when the graph has an empty name, NotSupported when a quantised layer has no type string.
Result<std::string> FormatProto(const Graph& graph);

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_PROTO_H_
