// SPDX-License-Identifier: Apache-2.0
// Which tensors of a foreign runtime say how it stores and computes: those that a sum of products stands behind. Copies
// of an 8-bit image (k / 255, k / 256 - 0.5, its slices) lie on a grid and are bf16 values whoever computed them, and
// whole numbers are both.
#ifndef PLUMB_CHECK_NUMBERS_TELLING_H_
#define PLUMB_CHECK_NUMBERS_TELLING_H_

#include <set>
#include <string>

#include "plumb/graph.h"

namespace plumb {

// Whether the operator gives whole numbers, which no storage may change: Floor, Ceil, Round, Sign.
bool GivesWholeNumbers(const Layer& layer);

// Convolutions, deconvolutions, InnerProduct, MatMul, Einsum and recurrent layers.
bool SumsProducts(const Layer& layer);

class TellingBlobs {
 public:
  explicit TellingBlobs(const Graph& graph);

  bool Has(const std::string& blob) const { return blobs_.count(blob) != 0; }
  // Whether the graph has sums of products. Of one that has none each result tells that some layer computed, where it
  // has more distinct values than an 8-bit image.
  bool has_products() const { return has_products_; }

 private:
  std::set<std::string> blobs_;
  bool has_products_ = false;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_TELLING_H_
