// SPDX-License-Identifier: Apache-2.0
// Tensors whose writer names layers and not tensors (OpenVINO's nodes, msprobe's modules): which blob each one is.
//
// By the name of a layer or of one of its source nodes; else by a module's path, when exactly one blob leaves the nodes
// that the exporter put under it ("/layer1/layer1.0/conv/Conv" lies in module layer1.0.conv). Of what a layer read only
// network inputs are taken. Never by order or by value.
#ifndef PLUMB_CHECK_SUBJECT_PAIRED_LAYERS_H_
#define PLUMB_CHECK_SUBJECT_PAIRED_LAYERS_H_

#include <map>
#include <string>
#include <vector>

#include "interop/tensor_set.h"
#include "plumb/graph.h"

namespace plumb {

// Blob -> place in `tensors`, of those at the places `left`; blobs may be paired already by their own names.
std::map<std::string, size_t> PairLayers(const Graph& graph, const std::vector<StoredTensor>& tensors,
                                         const std::vector<size_t>& left);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_PAIRED_LAYERS_H_
