// SPDX-License-Identifier: Apache-2.0
// What Convolution, Deconvolution, InnerProduct and MatMul share: a call's tensors as the images of a sum of products.
#ifndef PLUMB_REFERENCE_SUM_OP_H_
#define PLUMB_REFERENCE_SUM_OP_H_

#include "reference/core/reference_op.h"
#include "reference/sum/products.h"

namespace plumb::reference {

// Input 0 is a batch of images, output 0 theirs; `bound` may be null (values only). operands.bias is taken from the
// layer. Fills the outputs of args.beside, too.
Status RunBatch(const SumGeometry& geometry, SumOperands operands, int64_t batch, const ReferenceArgs& args,
                const BoundArgs* bound);

// The activation of a layer's `activation` parameter, for SumOperands::activate.
using ActivateRow = void (*)(int64_t count, double* value, double* tau);
ActivateRow ActivationRow(int activation);

inline ConstReals RealsOf(const Tensor& tensor, int64_t offset) {
  return tensor.dtype() == DType::kF64 ? ConstReals(tensor.data<double>() + offset)
                                       : ConstReals(tensor.data<float>() + offset);
}
inline Reals RealsOf(Tensor* tensor, int64_t offset) {
  return tensor->dtype() == DType::kF64 ? Reals(tensor->data<double>() + offset)
                                        : Reals(tensor->data<float>() + offset);
}
inline SumBound SumBoundOf(const BoundArgs* bound) {
  if (bound == nullptr) return {};
  return {bound->level, bound->arithmetic.u, bound->arithmetic.u_out, bound->arithmetic.min_normal};
}

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_OP_H_
