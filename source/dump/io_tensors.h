// SPDX-License-Identifier: Apache-2.0
// SAVE_IO_TENSORS: the network's inputs or outputs one after the other in one raw file, and a description beside it.
#ifndef PLUMB_DUMP_IO_TENSORS_H_
#define PLUMB_DUMP_IO_TENSORS_H_

#include <string>
#include <vector>

#include "plumb/network.h"

namespace plumb {

// Writes <folder>/input_ref_data.dat and .json (or output_ref_data) and appends their names to *files.
// REQUIRES for outputs: a Forward came before.
Status SaveIoTensors(const Network& network, bool outputs, const std::string& folder, std::vector<std::string>* files);

}  // namespace plumb

#endif  // PLUMB_DUMP_IO_TENSORS_H_
