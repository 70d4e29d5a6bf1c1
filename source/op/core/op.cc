// SPDX-License-Identifier: Apache-2.0
#include "op/core/op.h"

#include <fmt/core.h>

#include <algorithm>

namespace plumb {

#define PLUMB_OP(name, file, min_inputs, max_inputs, outputs) OpDef Define##name();
#include "op/core/op_list.def"
#undef PLUMB_OP

namespace {

OpDef FromRow(OpDef def, OpKind kind, const char* name, int min_inputs, int max_inputs, int outputs) {
  def.kind = kind;
  def.name = name;
  def.min_inputs = min_inputs;
  def.max_inputs = max_inputs;
  def.num_outputs = outputs;
  if (def.make_param == nullptr) def.make_param = MakeParam<NoParam>;
  if (def.infer == nullptr) def.infer = InferSameAsInput;
  return def;
}

// The spreads that op/unary.def says; other operators' files say their own.
std::vector<OpDef>* WithSpreads(std::vector<OpDef>* ops) {
#define PLUMB_UNARY(name, file, max_inputs, zero, of_row, ...) \
  (*ops)[static_cast<size_t>(OpKind::k##name)].spread = Spread::of_row;
#include "op/unary.def"
#undef PLUMB_UNARY
  return ops;
}

}  // namespace

const std::vector<OpDef>& AllOps() {
  static const std::vector<OpDef>* ops = WithSpreads(new std::vector<OpDef>{
#define PLUMB_OP(name, file, min_inputs, max_inputs, outputs) \
  FromRow(Define##name(), OpKind::k##name, #name, min_inputs, max_inputs, outputs),
#include "op/core/op_list.def"
#undef PLUMB_OP
  });
  return *ops;
}

const OpDef& GetOp(OpKind kind) { return AllOps()[static_cast<size_t>(kind)]; }

const OpDef* FindOp(std::string_view name) {
  for (const OpDef& op : AllOps()) {
    if (name == op.name) return &op;
  }
  return nullptr;
}

void ShapeContext::SetAll(DType dtype, const Shape& shape) {
  for (BlobInfo& out : outputs) {
    out.dtype = dtype;
    out.shape = shape;
  }
}

Status InferSameAsInput(ShapeContext& context) {
  context.SetAll(context.inputs[0].dtype, context.inputs[0].shape);
  return Status::Ok();
}

Status InferFloatSameAsInput(ShapeContext& context) {
  if (!IsFloat(context.inputs[0].dtype)) {
    return Status::InvalidArgument(std::string("expects a float blob, found ") + DTypeName(context.inputs[0].dtype));
  }
  return InferSameAsInput(context);
}

Result<int> NormalizeAxis(int axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return Status::InvalidArgument(fmt::format("axis {} is outside a blob of rank {}", axis, rank));
  }
  return axis < 0 ? axis + rank : axis;
}

Result<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a[ia];
    const int64_t db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1) {
      return Status::InvalidArgument(
          fmt::format("shapes {} and {} do not broadcast at dim {}", a.ToString(), b.ToString(), i));
    }
    dims[static_cast<size_t>(i)] = da == 1 ? db : da;
  }
  return Shape(std::move(dims));
}

}  // namespace plumb
