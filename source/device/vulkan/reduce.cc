// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes: reduce.comp. The dims that stay come first, then those that are reduced.
#include "op/reduce.h"

#include "device/shared/walk.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/row_lanes.h"

namespace plumb::vulkan {
namespace {

constexpr size_t kReduceMaxRank = 9;

// The rows of op/reduce.def, whose numbers are the shader's cases (CMakeLists.txt writes them).
const OpKind kReduceOps[] = {
#define PLUMB_REDUCE(name, ...) OpKind::k##name,
#include "op/reduce.def"
#undef PLUMB_REDUCE
};

struct Dims {
  Walk kept, reduced;
};

Result<Dims> DimsOf(const KernelSpec& spec) {
  const Shape& shape = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> reduced,
                         ReducedDims(ParamOf<ReduceParam>(spec.layer()), shape.rank()));
  Dims dims;
  dims.kept.strides.resize(1);
  dims.reduced.strides.resize(1);
  for (int d = 0; d < shape.rank(); ++d) {
    Walk& walk = reduced[static_cast<size_t>(d)] ? dims.reduced : dims.kept;
    walk.dims.push_back(shape[d]);
    walk.strides[0].push_back(shape.CountFrom(d + 1));
  }
  dims.kept.Simplify();
  dims.reduced.Simplify();
  if (dims.kept.rank() + dims.reduced.rank() > kReduceMaxRank) return Status::NotSupported("walks more than 9 dims");
  return dims;
}

int64_t TermsOf(const Dims& dims) {
  int64_t terms = 1;
  for (const int64_t dim : dims.reduced.dims) terms *= dim;
  return terms;
}

// Per term: its turn of the loop and those over the dims that find it; LogSumExp looks for the largest first.
int64_t RoundsOf(const KernelSpec& spec, const Dims& dims) {
  const int64_t passes = spec.layer().kind == OpKind::kReduceLogSumExp ? 2 : 1;
  return passes * (2 + static_cast<int64_t>(dims.reduced.rank()));
}

Status RequireDims(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(CaseOf(kReduceOps, spec.layer()).status());
  PLUMB_ASSIGN_OR_RETURN(const Dims dims, DimsOf(spec));
  return RequireRow(spec, TermsOf(dims), RoundsOf(spec, dims));
}

Status SupportsReduce(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  return RequireDims(spec);
}

Status SupportsWholeReduce(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireNumber(spec));
  return RequireDims(spec);
}

Status BuildReduce(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(Dims dims, DimsOf(b->spec));
  const auto kept = static_cast<uint32_t>(dims.kept.rank()), reduced = static_cast<uint32_t>(dims.reduced.rank());
  PLUMB_ASSIGN_OR_RETURN(const uint32_t op, CaseOf(kReduceOps, b->layer()));
  LaunchSpec launch;
  launch.shader = "reduce" + DTypeSuffix(b->inputs[0].dtype);
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  const int64_t count = b->outputs[0].shape.NumElements();
  const int64_t terms = TermsOf(dims);
  launch.push.Int(count).Int(terms);
  OverRows(b, count, terms, dims.reduced.strides[0].back() <= 1, RoundsOf(b->spec, dims), &launch);
  launch.constants.insert(launch.constants.end(), {op, kept, kept + reduced});
  dims.kept.dims.insert(dims.kept.dims.end(), dims.reduced.dims.begin(), dims.reduced.dims.end());
  auto& strides = dims.kept.strides[0];
  strides.insert(strides.end(), dims.reduced.strides[0].begin(), dims.reduced.strides[0].end());
  launch.push.Ints(dims.kept.dims, kReduceMaxRank).Ints(strides, kReduceMaxRank);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_reduce = {SupportsReduce, BuildReduce};
const KernelFunctions kernel_reduce_int = {SupportsWholeReduce, BuildReduce};

}  // namespace plumb::vulkan
