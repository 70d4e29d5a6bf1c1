// Values in a model's weights and constants that other runtimes are known to compute otherwise (doc/alignment.md).
#ifndef PLUMB_FORMAT_HAZARDS_H_
#define PLUMB_FORMAT_HAZARDS_H_

#include <string>
#include <vector>

#include "plumb/graph.h"

namespace plumb {

// One sentence per hazard and tensor, beginning with its id: "AL09: layer 3 'conv' (Convolution): weight ...".
std::vector<std::string> WeightHazards(const Graph& graph);

}  // namespace plumb

#endif  // PLUMB_FORMAT_HAZARDS_H_
