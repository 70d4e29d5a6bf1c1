// SPDX-License-Identifier: Apache-2.0
#include "op/round_float.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Status InferRoundFloat(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(RoundFloatFormat(context.layer).status());
  return InferFloatSameAsInput(context);
}

}  // namespace

Result<const SmallFloat*> RoundFloatFormat(const Layer& layer) {
  const std::string& name = ParamOf<RoundFloatParam>(layer).format;
  if (const SmallFloat* format = FindSmallFloat(name)) return format;
  return Status::InvalidArgument(
      fmt::format("'{}' is no small float; e4m3fn, e4m3fnuz, e5m2, e5m2fnuz and e2m1fn are", name));
}

OpDef DefinePlumbRoundFloat() {
  OpDef op;
  op.make_param = MakeParam<RoundFloatParam>;
  op.infer = InferRoundFloat;
  return op;
}

}  // namespace plumb
