// SPDX-License-Identifier: Apache-2.0
// Element-wise layers in a row that make one function as exporters write it (x * sigmoid(x); GELU as Div, Erf, Add,
// Mul, Mul): sigmoid, erf or tanh, with sums, differences, products and quotients by another blob of the same shape or
// by a single value before and after it.
#ifndef PLUMB_DEVICE_CPU_ELEMENT_CHAIN_H_
#define PLUMB_DEVICE_CPU_ELEMENT_CHAIN_H_

#include <vector>

#include "device/kernel.h"

namespace plumb::cpu {

// OK, or NotSupported where the members are not such a row of two layers or more.
Status IsElementChain(const std::vector<const Layer*>& members, const BlobTable& blobs);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_ELEMENT_CHAIN_H_
