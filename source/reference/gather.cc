// SPDX-License-Identifier: Apache-2.0
// Gather, GatherND (op/gather.h): copies slices; bit-exact, tau follows its element.
#include "op/gather.h"

#include <cstring>

#include "base/threads.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

constexpr int64_t kGatherGrain = 1 << 14;

// Copies with the data as it is in `g` (a resource is f32 where the storage is f64).
Status CopyGather(const GatherShape& g, Tensor* out) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor indices, g.indices.value.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor data, g.data.value.ConvertedTo(out->dtype()));
  std::vector<int64_t> starts;
  for (int64_t s = 0; s < g.batch * g.count; ++s) {
    PLUMB_ASSIGN_OR_RETURN(const int64_t start, SliceStart(g, indices.data<int64_t>(), s));
    starts.push_back(start);
  }
  const size_t size = DTypeSize(out->dtype());
  const size_t bytes = static_cast<size_t>(g.slice) * size;
  ParallelFor(static_cast<int64_t>(starts.size()), kGatherGrain / (g.slice + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      std::memcpy(static_cast<char*>(out->raw()) + static_cast<size_t>(s) * bytes,
                  static_cast<const char*>(data.raw()) + static_cast<size_t>(starts[static_cast<size_t>(s)]) * size,
                  bytes);
    }
  });
  return Status::Ok();
}

Result<GatherShape> ShapeOfGather(const ReferenceArgs& args) {
  std::vector<BlobInfo> infos;
  for (const Tensor* in : args.inputs) infos.push_back({in->dtype(), in->shape(), *in});
  return ResolveGather(args.layer, infos);
}

Status RunGather(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const GatherShape g, ShapeOfGather(args));
  return CopyGather(g, args.outputs[0]);
}

Status BoundGather(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunGather(args));
  Tensor* tau = bound.tau[0];
  const bool data_is_input = args.layer.kind == OpKind::kGatherND || !ParamOf<GatherParam>(args.layer).data_in_resource;
  if (!data_is_input || InputTau(bound, 0) == nullptr) {
    std::memset(tau->raw(), 0, tau->bytes());
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(GatherShape g, ShapeOfGather(args));
  g.data.value = *bound.input_tau[0];
  return CopyGather(g, tau);
}

}  // namespace

ReferenceOp ReferenceGather() { return {RunGather, BoundGather}; }
ReferenceOp ReferenceGatherND() { return {RunGather, BoundGather}; }

}  // namespace plumb
