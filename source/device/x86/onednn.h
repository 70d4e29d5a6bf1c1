// SPDX-License-Identifier: Apache-2.0
// What the X86 device says and does once about oneDNN, which makes its sums of products (device/cpu/product.h) unless
// PLUMB_ONEDNN is off (own_products.cc).
#ifndef PLUMB_DEVICE_X86_ONEDNN_H_
#define PLUMB_DEVICE_X86_ONEDNN_H_

#include <string>

#include "plumb/status.h"

namespace plumb::cpu {

// Holds oneDNN to EffectiveIsa() (base/cpu.h). Only the first call has an effect, and it must come before any product
// is made; NotSupported when oneDNN refuses.
Status InitOneDnn();
// "oneDNN 2.6.3, AVX-512" or "without oneDNN", for device_info and reports.
std::string OneDnnVersion();

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_X86_ONEDNN_H_
