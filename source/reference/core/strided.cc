// SPDX-License-Identifier: Apache-2.0
#include "reference/core/strided.h"

#include "base/threads.h"
#include "op/core/strided.h"

namespace plumb {
namespace {

constexpr int64_t kStridedGrain = 1 << 14;  // elements per thread that are worth a thread

// Elements [begin, end) of the walk.
template <class T>
void CopyStrided(const StridedMap& map, const T* in, T* out, int64_t begin, int64_t end) {
  const int64_t row = map.dims.back();
  const int64_t step = map.strides.back();
  for (int64_t i = begin; i < end;) {
    int64_t at = map.offset, rest = i / row;
    for (size_t d = map.dims.size() - 1; d-- > 0; rest /= map.dims[d]) at += rest % map.dims[d] * map.strides[d];
    int64_t column = i % row;
    for (; column < row && i < end; ++column, ++i) out[i] = in[at + column * step];
  }
}

template <class T>
Status CopyAllStrided(const StridedMap& map, const Tensor& in, Tensor* out) {
  ParallelFor(out->NumElements(), kStridedGrain, [&](int64_t begin, int64_t end) {
    CopyStrided(map, static_cast<const T*>(in.raw()), static_cast<T*>(out->raw()), begin, end);
  });
  return Status::Ok();
}

Status RunStrided(const ReferenceArgs& args) {
  std::vector<BlobInfo> infos;
  for (const Tensor* in : args.inputs) infos.push_back({in->dtype(), in->shape(), *in});
  const Tensor& in = *args.inputs[0];
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(StridedMap map, GetOp(args.layer.kind).map(args.layer, infos, static_cast<int>(i)));
    map.Simplify();
    Tensor* out = args.outputs[i];
    switch (DTypeSize(in.dtype())) {  // moved as unsigned integers: float loads may quieten a signalling NaN
      case 1: PLUMB_RETURN_IF_ERROR(CopyAllStrided<uint8_t>(map, in, out)); break;
      case 2: PLUMB_RETURN_IF_ERROR(CopyAllStrided<uint16_t>(map, in, out)); break;
      case 4: PLUMB_RETURN_IF_ERROR(CopyAllStrided<uint32_t>(map, in, out)); break;
      default: PLUMB_RETURN_IF_ERROR(CopyAllStrided<uint64_t>(map, in, out)); break;
    }
  }
  return Status::Ok();
}

Status BoundStrided(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunStrided, args, bound);
}

}  // namespace

ReferenceOp StridedOp() { return {RunStrided, BoundStrided}; }

}  // namespace plumb
