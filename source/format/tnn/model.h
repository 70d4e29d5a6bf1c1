// SPDX-License-Identifier: Apache-2.0
// tnnmodel binary <-> the resources, blob scales and constants of a graph. Both magics, and TNN's oldest form when
// reading.
//
// The file has no lengths around its records and no checksum, so a reader that loses its way cannot find back:
// everything that contradicts itself is refused, with the byte offset. Memory is bounded by the file's size.
#ifndef PLUMB_FORMAT_TNN_MODEL_H_
#define PLUMB_FORMAT_TNN_MODEL_H_

#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/threads.h"
#include "plumb/graph.h"

namespace plumb::tnn {

// Fills the graph's layers, blob scales and constants from the bytes. `escaped`: names are written %XX
// (Proto::escaped). `source` is the file's name for messages. On an error the graph is partly filled.
Status ReadModel(const FileSource& bytes, const std::string& source, bool escaped, Graph* graph,
                 bool skip_weights = false);

// Takes the file piece by piece.
using ByteSink = FunctionRef<Status(const void* data, size_t size)>;

// version: 1 or 2, the file's magic. A v1 file has no dims; where a tensor's dims do not follow from its layer, that
// tensor is written as a v2 buffer, which TNN reads in a v1 file too. REQUIRES: CheckResources(graph) is OK
// (graph/resources.h).
Status WriteModel(const Graph& graph, int version, ByteSink sink);

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_MODEL_H_
