// SPDX-License-Identifier: Apache-2.0
// The steps of a network behind one of them, run once more by its device.
#ifndef PLUMB_CHECK_WALK_REST_OF_NETWORK_H_
#define PLUMB_CHECK_WALK_REST_OF_NETWORK_H_

#include <map>
#include <string>

#include "plumb/network.h"

namespace plumb {

// From the blobs that the steps behind `position` read: what the device wrote of them, or what it should have. Returns
// those network outputs that these steps compute. NotFound: one of the blobs is not there.
Result<std::map<std::string, Tensor>> RunRestOf(const Network& network, size_t position,
                                                const std::map<std::string, Tensor>& blobs);

}  // namespace plumb

#endif  // PLUMB_CHECK_WALK_REST_OF_NETWORK_H_
