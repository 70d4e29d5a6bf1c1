// SPDX-License-Identifier: Apache-2.0
// In a build without oneDNN: the sums of products are device/arm/product.cc's.
#include "device/x86/onednn.h"

namespace plumb::cpu {

Status InitOneDnn() { return Status::Ok(); }
std::string OneDnnVersion() { return "without oneDNN"; }

}  // namespace plumb::cpu
