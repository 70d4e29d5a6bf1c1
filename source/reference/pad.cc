// SPDX-License-Identifier: Apache-2.0
// Pad, PadV2 (op/pad.h): per dim a table of where each output position comes from; bit-exact.
#include "op/pad.h"

#include "base/threads.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

constexpr int64_t kPadGrain = 1 << 14;

// The input position of every output position of one dim; -1: filled.
std::vector<int64_t> SourcesPad(PadMode mode, int64_t begin, int64_t in, int64_t out) {
  std::vector<int64_t> sources;
  for (int64_t o = 0; o < out; ++o) {
    int64_t i = o - begin;
    if (i < 0) i = mode == kPadConst ? -1 : mode == kPadReflect ? -i : 0;
    if (i >= in) i = mode == kPadConst ? -1 : mode == kPadReflect ? 2 * (in - 1) - i : in - 1;
    sources.push_back(i);
  }
  return sources;
}

template <class T>
void CopyPad(const std::vector<std::vector<int64_t>>& sources, const Shape& in_shape, const T* in, T fill,
             int64_t begin, int64_t end, T* out) {
  const int rank = in_shape.rank();
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = 0, step = 1, rest = i;
    for (int d = rank - 1; d >= 0 && at >= 0; --d) {
      const std::vector<int64_t>& dim = sources[static_cast<size_t>(d)];
      const int64_t source = dim[static_cast<size_t>(rest % static_cast<int64_t>(dim.size()))];
      rest /= static_cast<int64_t>(dim.size());
      at = source < 0 ? -1 : at + source * step;
      step *= in_shape[d];
    }
    out[i] = at < 0 ? fill : in[at];
  }
}

template <class T>
Status CopyAllPad(const PadShape& pad, const Tensor& in, const Tensor& fill, Tensor* out) {
  std::vector<std::vector<int64_t>> sources;
  for (int d = 0; d < pad.out.rank(); ++d) {
    sources.push_back(SourcesPad(pad.mode, pad.begins[static_cast<size_t>(d)], in.shape()[d], pad.out[d]));
  }
  const T value = *static_cast<const T*>(fill.raw());
  ParallelFor(out->NumElements(), kPadGrain, [&](int64_t begin, int64_t end) {
    CopyPad(sources, in.shape(), static_cast<const T*>(in.raw()), value, begin, end, static_cast<T*>(out->raw()));
  });
  return Status::Ok();
}

Status Pad(const ReferenceArgs& args, bool fill_with_zero) {
  const Tensor& in = *args.inputs[0];
  std::vector<BlobInfo> infos;
  for (const Tensor* input : args.inputs) infos.push_back({input->dtype(), input->shape(), *input});
  PLUMB_ASSIGN_OR_RETURN(const PadShape pad, ResolvePad(args.layer, infos));
  PLUMB_ASSIGN_OR_RETURN(Tensor value, Tensor::Create(DType::kF32, {}));
  *value.data<float>() = fill_with_zero ? 0 : pad.value;
  PLUMB_ASSIGN_OR_RETURN(const Tensor fill, value.ConvertedTo(in.dtype()));
  switch (DTypeSize(in.dtype())) {
    case 1: return CopyAllPad<uint8_t>(pad, in, fill, args.outputs[0]);
    case 2: return CopyAllPad<uint16_t>(pad, in, fill, args.outputs[0]);
    case 4: return CopyAllPad<uint32_t>(pad, in, fill, args.outputs[0]);
    default: return CopyAllPad<uint64_t>(pad, in, fill, args.outputs[0]);
  }
}

Status RunPad(const ReferenceArgs& args) { return Pad(args, false); }
Status RunTau(const ReferenceArgs& args) { return Pad(args, true); }  // what is filled in is exact

Status BoundPad(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunMovedWithBound(RunTau, args, bound));
  return RunPad(args);
}

}  // namespace

ReferenceOp ReferencePad() { return {RunPad, BoundPad}; }
ReferenceOp ReferencePadV2() { return {RunPad, BoundPad}; }

}  // namespace plumb
