// SPDX-License-Identifier: Apache-2.0
#include "op/reduce.h"

#include <string_view>

namespace plumb {
namespace {

Status InferReducedShape(ShapeContext& context) {
  const auto& p = ParamOf<ReduceParam>(context.layer);
  const Shape& in = context.shape(0);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedDims(p, in.rank()));
  Shape out;
  for (int i = 0; i < in.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      out.dims().push_back(in[i]);
    } else if (p.keep_dims) {
      out.dims().push_back(1);
    }
  }
  context.SetAll(context.inputs[0].dtype, out);
  return Status::Ok();
}

Status InferFloat(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  return InferReducedShape(context);
}

Status InferReduce(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  const bool whole = dtype == DType::kI32 || dtype == DType::kI64;
  return whole && ReducesWhole(context.layer.kind) ? InferReducedShape(context) : InferFloat(context);
}

double FlopsReduce(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  return static_cast<double>(inputs[0].shape.NumElements());
}

OpDef DefineReduce(std::string_view combine, std::string_view term) {
  OpDef op;
  if (combine == "Sum") op.sums = term == "x * x" ? Sums::kSquares : Sums::kTerms;
  op.make_param = MakeParam<ReduceParam>;
  op.infer = InferReduce;
  op.flops = FlopsReduce;
  return op;
}

}  // namespace

Result<std::vector<bool>> ReducedDims(const ReduceParam& param, int rank) {
  std::vector<bool> reduced(static_cast<size_t>(rank), param.axes.empty());
  for (const int axis : param.axes) {
    PLUMB_ASSIGN_OR_RETURN(const int normal, NormalizeAxis(axis, rank));
    reduced[static_cast<size_t>(normal)] = true;
  }
  return reduced;
}

bool ReducesWhole(OpKind kind) {
  enum class Numbers { floats, whole };
  switch (kind) {
#define PLUMB_REDUCE(name, combine, numbers, ...) \
  case OpKind::k##name:                           \
    return Numbers::numbers == Numbers::whole;
#include "op/reduce.def"
#undef PLUMB_REDUCE
    default: return false;
  }
}

#define PLUMB_REDUCE(name, combine, numbers, term, ...) \
  OpDef Define##name() { return DefineReduce(#combine, #term); }
#include "op/reduce.def"
#undef PLUMB_REDUCE

}  // namespace plumb
