// SPDX-License-Identifier: Apache-2.0
// Layouts: which tensors of a model are channels first, in a model that goes from one layout to the other itself (as
// converters from NHWC frameworks write it). A runtime that keeps to NHWC has those turned and the others as they are.
#ifndef PLUMB_CHECK_SUBJECT_LAYOUTS_H_
#define PLUMB_CHECK_SUBJECT_LAYOUTS_H_

#include <map>
#include <string>

#include "plumb/graph.h"

namespace plumb {

// Whether some layer goes from channels last to channels first, or back.
bool ChangesLayout(const Graph& graph);

// blob -> whether it is channels first. `known`: what shapes tell; the rest follows from that through the layers, from
// convolutions and pools, and from the layers that change the layout.
std::map<std::string, bool> SpreadLayouts(const Graph& graph, std::map<std::string, bool> known);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_LAYOUTS_H_
