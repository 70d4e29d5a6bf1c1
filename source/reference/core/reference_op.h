// SPDX-License-Identifier: Apache-2.0
// The reference: what "correct" means, operator by operator, and how far rounding may carry a device from it.
//
// Each operator's file in this folder defines
//   ReferenceOp Reference<Name>();
// for its row of op_list.def (there is no list here: every row must be covered, or nothing links).
// Rules (design decisions 2 and 12): plain loops, no intrinsics, no code shared with other devices, float64
// accumulation, explicit std::fma where fused, results independent of the thread count (base/threads).
//
// Storage: float blobs are f32 (the NAIVE device) or f64 (the checker's replay); all float inputs and outputs of a call
// have the same storage. Weights and constants are f32. Integer and bool blobs are as the graph says.
#ifndef PLUMB_REFERENCE_CORE_REFERENCE_OP_H_
#define PLUMB_REFERENCE_CORE_REFERENCE_OP_H_

#include <vector>

#include "op/core/op.h"
#include "plumb/observer.h"

namespace plumb {

// How the judged device stores and accumulates; unit roundoffs.
struct Arithmetic {
  double u = 0x1p-24;      // of the accumulation
  double u_out = 0x1p-24;  // of the stored result
  double min_normal = 0x1p-126;
  // How sums of products are computed: as a kernel declares, or by any form of an algorithm (Numerics::tile).
  Numerics products;
  bool any_integer_of_nan = false;  // what a NaN becomes as an integer: a foreign runtime's choice, tau is infinite
};

// One call. Outputs are allocated by the caller with the shapes of InferShapes.
struct ReferenceArgs {
  const Layer& layer;
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
  // The same layer on other inputs, all f64, whose outputs (without a bound) are wanted, too. Null: nothing; never
  // given to an operator without ReferenceOp::runs_beside.
  const ReferenceArgs* beside = nullptr;
};

// The bound of one call: per output element tau = 8 sigma + eta of tolerance.md ("The rule (measured)"; "Other
// operators" give tau directly). A device's introduced error e is then judged by E = |e| / tau and R = rms(8 e / tau).
// tau = 0 means bit-exact.
struct BoundArgs {
  Arithmetic arithmetic;
  // 0: the cheapest valid part of the bound. Higher levels only widen it (more orders, the serial term d) and cost
  // more; an operator that has no more to add treats them like its highest.
  int level = 0;
  // Inside a fused group the inputs are uncertain themselves: their tau (f64 tensors), or null where the input is
  // exact.
  std::vector<const Tensor*> input_tau;
  // What later members of the group add to this operator's result, in its units: a device may begin its sums with it.
  // f64, like output 0; null: nothing. Counts from level 1 on, in sums of products.
  const Tensor* later = nullptr;
  // The part of it that is constant, where it has others, too: sums may begin with one of the two and the other be
  // added at the end.
  const Tensor* later_constant = nullptr;
  // The judged device's own outputs where they are known, else null (or empty): ReferenceOp::feeds_back.
  std::vector<const Tensor*> device_outputs;
  std::vector<Tensor*> tau;  // f64, shaped like the outputs, allocated by the caller; for integer outputs: 0
};

struct ReferenceOp {
  // Computes the outputs.
  Status (*run)(const ReferenceArgs& args) = nullptr;
  // Computes the outputs (f64 storage) and their tau in one go.
  Status (*run_with_bound)(const ReferenceArgs& args, const BoundArgs& bound) = nullptr;
  int max_level = 0;
  // False: cannot be judged inside a fused group behind uncertain inputs.
  bool propagates = true;
  // Of those that do not propagate: the outputs follow the inputs without steps (Softmax, norms, sums), so a chain may
  // find by trying how far its inputs' errors carry.
  bool smooth = false;
  // Computes outputs from earlier ones (recurrent layers). With a bound it then follows BoundArgs::device_outputs, so
  // that every step is judged on its own inputs, as every layer is; what the device did before is inherited.
  bool feeds_back = false;
  // True: the output (and its tau) may be the memory of a floating-point input of the same shape (and of its tau).
  bool in_place = false;
  // Whether uncertain inputs may be integers, too.
  bool takes_uncertain_integers = false;
  // Computes ReferenceArgs::beside in less time than a call of its own would take.
  bool runs_beside = false;
  // Picks one of equal elements (ArgMax, TopK): with a bound it looks at BoundArgs::device_outputs, and tau is how far
  // the device's choice lies from its own where that one is as good.
  bool picks = false;
};

// The reference of an operator.
const ReferenceOp& GetReferenceOp(OpKind kind);

// Of an operator that moves elements: whether this input holds them; the others are indices, conditions, lengths.
bool HoldsMoved(const Layer& layer, size_t slot);

// For operators whose outputs are input elements moved around: runs `run` on the values and again on the taus (an exact
// input counts as zeros), so tau follows its element.
Status RunMovedWithBound(Status (*run)(const ReferenceArgs&), const ReferenceArgs& args, const BoundArgs& bound);

// Input i's tau data, or null when it is exact.
inline const double* InputTau(const BoundArgs& bound, size_t i) {
  return i < bound.input_tau.size() && bound.input_tau[i] != nullptr ? bound.input_tau[i]->data<double>() : nullptr;
}

// The inputs as the shape rules see them, with their values.
inline std::vector<BlobInfo> InfosOf(const ReferenceArgs& args) {
  std::vector<BlobInfo> infos;
  for (const Tensor* in : args.inputs) infos.push_back({in->dtype(), in->shape(), *in});
  return infos;
}

// Calls f(float{}) or f(double{}) by the storage of the float blob.
template <class F>
Status WithStorage(DType dtype, F&& f) {
  if (dtype == DType::kF32) return f(float{});
  if (dtype == DType::kF64) return f(double{});
  return Status::NotSupported(std::string("the reference has no kernel for ") + DTypeName(dtype) + " blobs here");
}

}  // namespace plumb

#endif  // PLUMB_REFERENCE_CORE_REFERENCE_OP_H_
