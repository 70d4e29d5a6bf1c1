// SPDX-License-Identifier: Apache-2.0
#include "op/top_k.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<int64_t> KOf(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  if (layer.kind == OpKind::kTopK && ParamOf<TopKParam>(layer).k >= 0) return int64_t{ParamOf<TopKParam>(layer).k};
  if (inputs.size() < 2) return Status::InvalidArgument("k is neither a parameter nor an input");
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> k, KnownInts(inputs[1], "k"));
  if (k.size() == 1) return k[0];
  return Status::InvalidArgument("k must be one number, found " + std::to_string(k.size()));
}

// Of known integers.
Status EvaluateTopK(const TopKShape& s, const Tensor& x, BlobInfo* values, BlobInfo* indices) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, x.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(Tensor best, Tensor::Create(DType::kI64, s.out));
  PLUMB_ASSIGN_OR_RETURN(Tensor where, Tensor::Create(DType::kI64, s.out));
  std::vector<int64_t> order(static_cast<size_t>(s.size));
  for (int64_t r = 0; r < s.outer * s.inner; ++r) {
    const int64_t* row = wide.data<int64_t>() + r / s.inner * s.size * s.inner + r % s.inner;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      return s.largest ? row[i * s.inner] > row[j * s.inner] : row[i * s.inner] < row[j * s.inner];
    });
    const int64_t to = r / s.inner * s.k * s.inner + r % s.inner;
    for (int64_t i = 0; i < s.k; ++i) {
      where.data<int64_t>()[to + i * s.inner] = order[static_cast<size_t>(i)];
      best.data<int64_t>()[to + i * s.inner] = row[order[static_cast<size_t>(i)] * s.inner];
    }
  }
  PLUMB_ASSIGN_OR_RETURN(values->value, best.ConvertedTo(values->dtype));
  PLUMB_ASSIGN_OR_RETURN(indices->value, where.ConvertedTo(indices->dtype));
  return Status::Ok();
}

Status InferTopK(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kI32 && dtype != DType::kI64) {
    return Status::NotSupported(std::string("expects f32, f64, i32 or i64, found ") + DTypeName(dtype));
  }
  PLUMB_ASSIGN_OR_RETURN(const TopKShape s, ResolveTopK(context.layer, context.inputs));
  context.SetAll(dtype, s.out);
  context.outputs[1].dtype = context.layer.kind == OpKind::kTopK ? DType::kI32 : DType::kI64;
  if (!HasHostValue(context.inputs[0])) return Status::Ok();
  return EvaluateTopK(s, context.inputs[0].value, &context.outputs[0], &context.outputs[1]);
}

template <class P>
OpDef DefineOfTopK() {
  OpDef op;
  op.make_param = MakeParam<P>;
  op.infer = InferTopK;
  return op;
}

}  // namespace

Result<TopKShape> ResolveTopK(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  TopKShape s;
  const bool tnn = layer.kind == OpKind::kTopK;
  const Shape& in = inputs[0].shape;
  const int wanted = tnn ? ParamOf<TopKParam>(layer).axis : ParamOf<PlumbTopKParam>(layer).axis;
  s.largest = tnn ? ParamOf<TopKParam>(layer).largest : ParamOf<PlumbTopKParam>(layer).largest;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(wanted, in.rank()));
  PLUMB_ASSIGN_OR_RETURN(s.k, KOf(layer, inputs));
  s.outer = in.Count(0, axis);
  s.size = in[axis];
  s.inner = in.CountFrom(axis + 1);
  if (s.k < 0 || s.k > s.size) {
    return Status::InvalidArgument(
        fmt::format("k {} is outside 0 .. {}, the size of axis {} of {}", s.k, s.size, axis, in.ToString()));
  }
  s.out = in;
  s.out[axis] = s.k;
  return s;
}

OpDef DefineTopK() { return DefineOfTopK<TopKParam>(); }
OpDef DefinePlumbTopK() { return DefineOfTopK<PlumbTopKParam>(); }

}  // namespace plumb
