// SPDX-License-Identifier: Apache-2.0
// The map of the operators: in which file each stands, on every device. Printed from the lists themselves.
#ifndef PLUMB_TEST_OP_OP_MAP_H_
#define PLUMB_TEST_OP_OP_MAP_H_

#include <string>
#include <vector>

namespace plumb {

// Markdown (doc/op_map.md).
std::string OpMap();

// Every source file that the map names, from the repository's root.
std::vector<std::string> FilesOfOpMap();

}  // namespace plumb

#endif  // PLUMB_TEST_OP_OP_MAP_H_
