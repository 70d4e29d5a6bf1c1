// Concat: joins blobs along one axis; moves elements, bit-exact.
#include "op/concat.h"

#include <cstring>

#include "reference/core/reference_op.h"

namespace plumb {
namespace {

Status RunConcat(const ReferenceArgs& args) {
  Tensor* out = args.outputs[0];
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ConcatParam>(args.layer).axis, out->shape().rank()));
  const int64_t outer = out->shape().Count(0, axis);
  const size_t row = static_cast<size_t>(out->shape().CountFrom(axis)) * DTypeSize(out->dtype());
  char* dst = static_cast<char*>(out->raw());
  for (const Tensor* in : args.inputs) {
    const size_t piece = static_cast<size_t>(in->shape().CountFrom(axis)) * DTypeSize(in->dtype());
    const char* src = static_cast<const char*>(in->raw());
    for (int64_t i = 0; i < outer; ++i)
      std::memcpy(dst + static_cast<size_t>(i) * row, src + static_cast<size_t>(i) * piece, piece);
    dst += piece;
  }
  return Status::Ok();
}

Status BoundConcat(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunConcat, args, bound);
}

}  // namespace

ReferenceOp ReferenceConcat() { return {RunConcat, BoundConcat}; }

}  // namespace plumb
