// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's graphs of blocked layouts (NCHWc), made plain.
#ifndef PLUMB_NAMES_BLOCKED_H_
#define PLUMB_NAMES_BLOCKED_H_

#include "format/onnx/ir.h"

namespace plumb {

// ONNX Runtime's operators of blocked layouts become those of plain ones, whose weights are in blocks still.
void MakePlain(onnx::ModelIr* model);
// Such weights, in another order and padded with zeros, become those of `first`, where one tensor alone holds their
// values.
void TakeBlockedWeights(const onnx::ModelIr& first, onnx::ModelIr* second);

}  // namespace plumb

#endif  // PLUMB_NAMES_BLOCKED_H_
