// SPDX-License-Identifier: Apache-2.0
// Fused: the larger groups that a runtime may have computed as one although a subject has tensors for what lies inside.
// OpenVINO fuses GELU, HardSwish, Swish and norms by their pattern and computes exposed inner tensors once more, apart:
// the pattern's last layer is then judged on inputs that it never read. Replayed from the group's own inputs, with the
// chained bound or the one of the function that the group is, it is explained; another function is not.
#ifndef PLUMB_CHECK_CAUSE_FUSED_H_
#define PLUMB_CHECK_CAUSE_FUSED_H_

#include <map>
#include <string>
#include <vector>

#include "check/numbers/replay.h"

namespace plumb {

class FusedGroups {
 public:
  FusedGroups() = default;
  // Both outlive it.
  FusedGroups(const Graph& graph, const BlobTable& blobs);

  // Groups that end in the only output of `step` and are at least as large: the layers behind each blob through which
  // everything passes, the smallest first, norms before these; then those up to n layers back. No further than to a sum
  // of products, but at last with the one before constant scales and shifts, which may be folded into its weights. The
  // step itself may be one, when it has several layers: it may compute one function by another form.
  std::vector<LayerGroup> Around(const LayerGroup& step) const;

 private:
  // One product, constant scales or shifts and other functions of one input behind it up to the step's end, more than
  // the step has; no members: there is no such group.
  LayerGroup FoldedProduct(const LayerGroup& step) const;
  LayerGroup GroupOf(const std::map<int, int>& members, const LayerGroup& step) const;
  int ProducerOf(const std::string& blob) const;
  std::map<int, int> Reached(const std::map<int, int>& within, const LayerGroup& step, const std::string& stop) const;

  const Graph* graph_ = nullptr;
  const BlobTable* blobs_ = nullptr;
  std::map<std::string, int> producer_;  // blob -> place of its layer
};

// The bound of a group that computes one function of one variable (GELU, SiLU, HardSwish, Mish ...), as good kernels of
// that function keep it: in place of replay.tau. The function's name, or "" when it is none or does not fit the
// replayed values.
Result<std::string> BoundOfFunction(const LayerGroup& group, const std::vector<Tensor>& inputs, const BlobTable& blobs,
                                    const Arithmetic& arithmetic, ReplayResult* replay);

// "LayerNorm", "RMSNorm", "Softmax" by the kinds of layers inside, else their types: "Mul+Add".
std::string NameOfGroup(const LayerGroup& group);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_FUSED_H_
