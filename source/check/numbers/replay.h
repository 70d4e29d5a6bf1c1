// SPDX-License-Identifier: Apache-2.0
// Replay: the float64 reference of a step (a layer or a fused group) on given inputs, with the bound of its outputs.
#ifndef PLUMB_CHECK_NUMBERS_REPLAY_H_
#define PLUMB_CHECK_NUMBERS_REPLAY_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/kernel.h"
#include "reference/core/reference_op.h"

namespace plumb {

// Values of the group's outputs, in port order; floats in f64.
struct ReplayResult {
  std::vector<Tensor> values;
  std::vector<Tensor> tau;  // f64; empty when no bound was asked for
};

// A member that is computed otherwise than its layer says.
struct MemberChange {
  int member = -1;
  ReferenceOp op;  // in place of its reference; without `run`: the reference
  // What it reads in place of an input: elements of it, in another place. Asked of values and of their bounds.
  std::function<Result<Tensor>(size_t slot, const Tensor& input)> reads;
  // What becomes of an output; tau is null where no bound is asked for.
  std::function<void(Tensor* values, Tensor* tau)> writes;
};

// What a caller knows beyond the graph.
struct ReplayExtra {
  std::map<std::string, Tensor> input_tau;  // f64, of inputs that are uncertain themselves, by blob
  std::vector<MemberChange> changes;
  // What the device wrote, by blob: where a recurrent member's steps start from. Left out: from the reference's own.
  std::map<std::string, Tensor> device_outputs;
  DType operands = DType::kF32;  // f16, bf16: sums of products round their operands so first
  bool rounds_bias = false;      // and their bias
  // In what blobs inside the group may have been stored before the next member read them; empty: in none.
  std::function<DType(const std::string& blob)> stored;
  // Whether the members are computed as their layers say.
  bool is_plain() const { return changes.empty() && operands == DType::kF32 && !stored; }
};

// The group on other inputs, beside a plain replay: less work than a ReplayValues of its own, where these inputs are
// close to the replay's; the values then agree with it to 2^-34 of the largest.
struct ReplayBeside {
  std::vector<Tensor> inputs;
  std::vector<Tensor> values;  // filled
};

// Inputs in the order of group.inputs; floats must be f64. The members run one after the other on float64 values.
Result<ReplayResult> ReplayValues(const LayerGroup& group, const std::vector<Tensor>& inputs, const BlobTable& blobs,
                                  const ReplayExtra& extra = {});

// The same with the bound; inside the group each member's tau is handed to the next. NotSupported names the member
// behind which errors cannot be followed (ArgMax, Round, casts to integer).
Result<ReplayResult> ReplayWithBound(const LayerGroup& group, const std::vector<Tensor>& inputs, const BlobTable& blobs,
                                     const Arithmetic& arithmetic, int level, const ReplayExtra& extra = {},
                                     ReplayBeside* beside = nullptr);

// Convolutions, deconvolutions, InnerProduct and MatMul.
bool IsProduct(const Layer& layer);

// Whether a member computes outputs from earlier ones: then the replay with the device's is not the reference's own
// run.
bool FeedsBack(const LayerGroup& group);

// The highest level that widens any member's bound.
int MaxBoundLevel(const LayerGroup& group);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_REPLAY_H_
