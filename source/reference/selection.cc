// SPDX-License-Identifier: Apache-2.0
// PlumbNonZero, PlumbUnique, PlumbNonMaxSuppression: known before the network runs (op/selection.h), so a network does
// not run these; PlumbCompress copies slices: bit-exact, tau follows its element.
#include "op/selection.h"

#include <fmt/core.h>

#include <cstring>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

Status RunSelection(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, Select(args.layer, InfosOf(args)));
  for (size_t i = 0; i < outputs.size() && i < args.outputs.size(); ++i) {
    if (outputs[i].shape() != args.outputs[i]->shape()) {
      return Status::InvalidArgument(fmt::format("the values give an output {}, prepared for {}",
                                                 outputs[i].shape().ToString(), args.outputs[i]->shape().ToString()));
    }
    std::memcpy(args.outputs[i]->raw(), outputs[i].raw(), outputs[i].bytes());
  }
  return Status::Ok();
}

Status RunCompress(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const CompressShape s, ResolveCompress(args.layer, InfosOf(args)));
  const size_t bytes = static_cast<size_t>(s.inner) * DTypeSize(args.inputs[0]->dtype());
  char* out = static_cast<char*>(args.outputs[0]->raw());
  for (int64_t o = 0; o < s.outer; ++o) {
    for (const int64_t i : s.kept) {
      std::memcpy(out, static_cast<const char*>(args.inputs[0]->raw()) + static_cast<size_t>(o * s.size + i) * bytes,
                  bytes);
      out += bytes;
    }
  }
  return Status::Ok();
}

Status BoundCompress(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunCompress, args, bound);
}

}  // namespace

ReferenceOp ReferencePlumbNonZero() { return ExactStep<RunSelection>(); }
ReferenceOp ReferencePlumbCompress() { return {RunCompress, BoundCompress}; }
ReferenceOp ReferencePlumbUnique() { return ExactStep<RunSelection>(); }
ReferenceOp ReferencePlumbNonMaxSuppression() { return ExactStep<RunSelection>(); }

}  // namespace plumb
