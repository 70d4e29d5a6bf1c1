// SPDX-License-Identifier: Apache-2.0
#include "reference/core/reference_op.h"

#include <cstring>

namespace plumb {

#define PLUMB_OP(name, file, min_inputs, max_inputs, outputs) ReferenceOp Reference##name();
#include "op/core/op_list.def"
#undef PLUMB_OP

const ReferenceOp& GetReferenceOp(OpKind kind) {
  static const std::vector<ReferenceOp>* ops = new std::vector<ReferenceOp>{
#define PLUMB_OP(name, file, min_inputs, max_inputs, outputs) Reference##name(),
#include "op/core/op_list.def"
#undef PLUMB_OP
  };
  return (*ops)[static_cast<size_t>(kind)];
}

bool HoldsMoved(const Layer& layer, size_t slot) {
  switch (layer.kind) {
    case OpKind::kConcat: return true;
    case OpKind::kWhere: return slot < 2;
    case OpKind::kScatterElements:
    case OpKind::kPlumbScatterElements:
    case OpKind::kScatterND:
    case OpKind::kPlumbScatterND: return slot != 1;
    default: return slot == 0;
  }
}

Status RunMovedWithBound(Status (*run)(const ReferenceArgs&), const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(run(args));
  bool exact = true;
  for (const Tensor* tau : bound.input_tau) exact = exact && tau == nullptr;
  if (exact) {
    for (Tensor* tau : bound.tau) std::memset(tau->raw(), 0, tau->bytes());
    return Status::Ok();
  }
  std::vector<Tensor> zeros(args.inputs.size());
  ReferenceArgs taus{args.layer, args.inputs, bound.tau};
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    if (!HoldsMoved(args.layer, i)) continue;
    if (i < bound.input_tau.size() && bound.input_tau[i] != nullptr) {
      taus.inputs[i] = bound.input_tau[i];
    } else {
      PLUMB_ASSIGN_OR_RETURN(zeros[i], Tensor::Zeros(DType::kF64, args.inputs[i]->shape()));
      taus.inputs[i] = &zeros[i];
    }
  }
  return run(taus);
}

}  // namespace plumb
