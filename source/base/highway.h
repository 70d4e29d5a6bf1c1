// SPDX-License-Identifier: Apache-2.0
// What tests need to know of the answers to Highway (highway.cc).
#ifndef PLUMB_BASE_HIGHWAY_H_
#define PLUMB_BASE_HIGHWAY_H_

namespace plumb {

// Highway's own choice was made before the last SetMaxIsa: it asks again at its next call.
void ChooseHighwayTargetAgain();

}  // namespace plumb

#endif  // PLUMB_BASE_HIGHWAY_H_
