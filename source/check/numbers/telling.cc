// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/telling.h"

#include <algorithm>

#include "check/numbers/int8.h"
#include "op/core/op.h"

namespace plumb {

bool GivesWholeNumbers(const Layer& layer) {
  switch (layer.kind) {
    case OpKind::kFloor:
    case OpKind::kCeil:
    case OpKind::kPlumbRound:
    case OpKind::kSign: return true;
    default: return false;
  }
}

bool SumsProducts(const Layer& layer) {
  switch (layer.kind) {
    case OpKind::kEinsum:
    case OpKind::kPlumbLSTM:
    case OpKind::kPlumbGRU:
    case OpKind::kPlumbRNN:
    case OpKind::kPlumbDynamicQuantizeLSTM: return true;
    default: return IsProduct(layer);
  }
}

TellingBlobs::TellingBlobs(const Graph& graph)
    : has_products_(std::any_of(graph.layers.begin(), graph.layers.end(), SumsProducts)) {
  std::set<std::string> computed, whole;  // what a sum of products (or, without any, a computation) stands behind
  for (const Layer& layer : graph.layers) {
    const auto reads = [&](const std::set<std::string>& blobs) {
      return std::any_of(layer.inputs.begin(), layer.inputs.end(),
                         [&](const std::string& blob) { return blobs.count(blob) != 0; });
    };
    const bool moves = GetOp(layer.kind).moves_data_only;
    const bool computes = has_products_ ? SumsProducts(layer) : !moves;
    const bool is_whole = GivesWholeNumbers(layer) || (moves && reads(whole));
    for (const std::string& blob : layer.outputs) {
      if (computes || reads(computed)) computed.insert(blob);
      if (is_whole) whole.insert(blob);
    }
  }
  std::set_difference(computed.begin(), computed.end(), whole.begin(), whole.end(),
                      std::inserter(blobs_, blobs_.end()));
}

}  // namespace plumb
