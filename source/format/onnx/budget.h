// SPDX-License-Identifier: Apache-2.0
// How much an import may do. A kilobyte of Loops inside Loops, or of functions that call functions, stands for any
// number of layers, and a constant that is folded may take any time; both are bounded by what the file holds, so that
// no size of model is refused that is all there.
#ifndef PLUMB_FORMAT_ONNX_BUDGET_H_
#define PLUMB_FORMAT_ONNX_BUDGET_H_

#include <cstdint>

#include "format/onnx/ir.h"

namespace plumb::onnx {

struct ImportBudget {
  // The nodes of the file, and that many more nodes and steps of Loops and Scans: some seconds.
  static constexpr int64_t kExpanded = 200000;  // PLUMB_MAX_NODES says another number
  int64_t max_nodes = kExpanded, nodes = 0;
  // In operations: constants of some 10^8 elements are folded in a second; what the file has is free.
  double max_folding = 2e9, folding = 0;

  bool SpentNodes() const { return nodes > max_nodes; }
  // InvalidArgument: PLUMB_MAX_NODES is no number.
  static Result<ImportBudget> Of(const ModelIr& model);
};

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_BUDGET_H_
