// SPDX-License-Identifier: Apache-2.0
#include "op/reverse_sequence.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Status InferReverseSequence(ShapeContext& context) {
  const auto& p = ParamOf<ReverseSequenceParam>(context.layer);
  const Shape& data = context.shape(0);
  PLUMB_ASSIGN_OR_RETURN(const int batch, NormalizeAxis(p.batch_axis, data.rank()));
  PLUMB_ASSIGN_OR_RETURN(const int time, NormalizeAxis(p.time_axis, data.rank()));
  if (batch == time) {
    return Status::InvalidArgument("batch_axis and time_axis are both " + std::to_string(time));
  }
  if (IsFloat(context.inputs[1].dtype) || context.shape(1) != Shape{data[batch]}) {
    return Status::InvalidArgument(fmt::format("expects one integer length per batch entry, [{}], found {} {}",
                                               data[batch], DTypeName(context.inputs[1].dtype),
                                               context.shape(1).ToString()));
  }
  return InferSameAsInput(context);
}

}  // namespace

Result<std::vector<int64_t>> ReversedElements(const Layer& layer, const Shape& data, const Tensor& lengths) {
  const auto& p = ParamOf<ReverseSequenceParam>(layer);
  PLUMB_ASSIGN_OR_RETURN(const int batch, NormalizeAxis(p.batch_axis, data.rank()));
  PLUMB_ASSIGN_OR_RETURN(const int time, NormalizeAxis(p.time_axis, data.rank()));
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, lengths.ConvertedTo(DType::kI64));
  for (int64_t b = 0; b < wide.NumElements(); ++b) {
    const int64_t length = wide.data<int64_t>()[b];
    if (length >= 0 && length <= data[time]) continue;
    return Status::InvalidArgument(fmt::format("length {} of entry {} is outside 0 .. {}", length, b, data[time]));
  }
  const int64_t batch_step = data.CountFrom(batch + 1), time_step = data.CountFrom(time + 1);
  std::vector<int64_t> from(static_cast<size_t>(data.NumElements()));
  for (int64_t i = 0; i < data.NumElements(); ++i) {
    const int64_t t = i / time_step % data[time], length = wide.data<int64_t>()[i / batch_step % data[batch]];
    from[static_cast<size_t>(i)] = t < length ? i + (length - 1 - 2 * t) * time_step : i;
  }
  return from;
}

OpDef DefinePlumbReverseSequence() {
  OpDef op;
  op.make_param = MakeParam<ReverseSequenceParam>;
  op.infer = InferReverseSequence;
  op.moves_data_only = true;
  return op;
}

}  // namespace plumb
