// SPDX-License-Identifier: Apache-2.0
// Attention as exporters write it: a Permute that turns the keys, the MatMul of queries and turned keys, a scale (Mul
// or Div by one value), a mask that is added and broadcast over heads or rows, Softmax over the keys, the MatMul with
// the values. Permute, scale and mask may be missing.
#ifndef PLUMB_DEVICE_CPU_ATTENTION_GROUP_H_
#define PLUMB_DEVICE_CPU_ATTENTION_GROUP_H_

#include <vector>

#include "device/cpu/scaled_sums.h"
#include "op/matmul.h"

namespace plumb::cpu {

struct AttentionGroup {
  MatMulShape scores;  // m rows of queries, n keys, k values per head
  MatMulShape values;  // m rows, n values per head, k keys
  int product = 0;     // the member that makes the scores
  // A head's keys begin there, in elements, and lie key_step apart; 0: they are columns, turned already.
  std::vector<int64_t> key_offset;
  int64_t key_step = 0;
  SumOperand scale;  // one value
  bool divides = false;
  SumOperand mask;                   // step 1: a value per key; row_step: from one row of queries to the next
  std::vector<int64_t> mask_offset;  // of each head
};

// NotSupported when the members are not such a sequence.
Result<AttentionGroup> ReadAttention(const std::vector<const Layer*>& members, const BlobTable& blobs);

// With how many layers of the chain attention begins; 0: with none.
size_t AttentionAhead(const std::vector<const Layer*>& chain, const BlobTable& blobs);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_ATTENTION_GROUP_H_
