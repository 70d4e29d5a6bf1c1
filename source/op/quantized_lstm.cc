// SPDX-License-Identifier: Apache-2.0
#include "op/quantized_lstm.h"

#include <fmt/core.h>

#include <algorithm>

namespace plumb {
namespace {

using LstmShape = QuantizedLstmShape;

Status CheckLstmParam(const QuantizedLstmParam& p) {
  if (static_cast<int>(p.multipliers.size()) != LstmShape::kFactors || p.shifts.size() != p.multipliers.size() ||
      static_cast<int>(p.guards.size()) != LstmShape::kGates) {
    return Status::InvalidArgument(fmt::format("expects {} multipliers and shifts and {} guards, found {}, {} and {}",
                                               LstmShape::kFactors, LstmShape::kGates, p.multipliers.size(),
                                               p.shifts.size(), p.guards.size()));
  }
  const auto within = [](const std::vector<int>& values, int least, int most) {
    return std::all_of(values.begin(), values.end(), [&](int value) { return value >= least && value <= most; });
  };
  if (!within(p.multipliers, 0, static_cast<int>(kInt32Max)) || !within(p.shifts, -31, 30) ||
      !within(p.guards, 1, static_cast<int>(kInt32Max)))
    return Status::InvalidArgument("expects multipliers of 31 bits, shifts of -31 to 30 and guards of 1 at least");
  if (!within({p.x_zero, p.y_zero}, -128, 127) || !within({p.inner_zero}, -128, 128) || !within({p.cell_bits}, 0, 6) ||
      !within({p.cell_clip}, 0, 32767) || !within({p.projection_clip}, 0, 127)) {
    return Status::InvalidArgument(
        fmt::format("expects zero points of int8, 0 to 6 cell_bits and limits of their types, found {}, {}, {}; {}; {} "
                    "and {}",
                    p.x_zero, p.y_zero, p.inner_zero, p.cell_bits, p.cell_clip, p.projection_clip));
  }
  if (p.has_peepholes && p.has_projection)
    return Status::NotSupported("peepholes and a projection together, of which LiteRT's kernel makes no defined sum");
  return Status::Ok();
}

Status InferQuantizedLstm(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const LstmShape s, ResolveQuantizedLstm(context.layer, context.inputs));
  const bool first = ParamOf<QuantizedLstmParam>(context.layer).batch_first;
  context.SetAll(DType::kI64, first ? Shape{s.batch, s.time, s.hidden} : Shape{s.time, s.batch, s.hidden});
  return context.outputs[0].shape.Validate();
}

double FlopsQuantizedLstm(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>&) {
  const auto s = ResolveQuantizedLstm(layer, inputs);
  if (!s.ok()) return 0;
  return 2 * static_cast<double>(s->time * s->batch) * static_cast<double>(LstmShape::kGates * s->cells) *
         static_cast<double>(s->size + s->hidden);
}

}  // namespace

void QuantizedLstmParam::Visit(ParamVisitor& v) {
  v.Bool("batch_first", batch_first);
  v.Bool("has_input_gate", has_input_gate);
  v.Bool("has_peepholes", has_peepholes);
  v.Bool("has_norms", has_norms);
  v.Bool("has_projection", has_projection);
  v.Int("x_zero", x_zero);
  v.Int("y_zero", y_zero);
  v.Int("inner_zero", inner_zero);
  v.Int("cell_bits", cell_bits);
  v.Int("cell_clip", cell_clip);
  v.Int("projection_clip", projection_clip);
  v.Counted("multipliers", multipliers);
  v.Counted("shifts", shifts);
  v.Counted("guards", guards);
}

Result<QuantizedLstmShape> ResolveQuantizedLstm(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const auto& p = ParamOf<QuantizedLstmParam>(layer);
  PLUMB_RETURN_IF_ERROR(CheckLstmParam(p));
  LstmShape s;
  int next = 4;
  if (p.has_peepholes) s.peepholes = next++;
  if (p.has_norms) s.norms = next++;
  if (p.has_projection) s.projection = next, next += 2;
  if (inputs.size() != static_cast<size_t>(next))
    return Status::InvalidArgument(fmt::format("the flags announce {} inputs, found {}", next, inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype != DType::kI64 && inputs[i].dtype != DType::kI32) {
      return Status::InvalidArgument(
          fmt::format("expects integers of i32 or i64, found {} in input {}", DTypeName(inputs[i].dtype), i));
    }
  }
  const Shape& x = inputs[0].shape;
  const Shape& r = inputs[2].shape;
  const int gates = p.has_input_gate ? LstmShape::kGates : LstmShape::kGates - 1;
  if (x.rank() != 3 || r.rank() != 2 || r[0] < gates || r[0] % gates != 0) {
    return Status::InvalidArgument(fmt::format("x must have 3 dims and R 2 with the rows of {} gates, found {} and {}",
                                               gates, x.ToString(), r.ToString()));
  }
  s.time = x[p.batch_first ? 1 : 0];
  s.batch = x[p.batch_first ? 0 : 1];
  s.size = x[2];
  s.cells = r[0] / gates;
  s.hidden = r[1];
  const auto expect = [&](int i, const char* name, const Shape& shape) {
    if (i < 0 || inputs[static_cast<size_t>(i)].shape == shape) return Status::Ok();
    return Status::InvalidArgument(fmt::format("{} must be {}, found {}", name, shape.ToString(),
                                               inputs[static_cast<size_t>(i)].shape.ToString()));
  };
  PLUMB_RETURN_IF_ERROR(expect(1, "W", {r[0], s.size}));
  PLUMB_RETURN_IF_ERROR(expect(3, "B", {r[0]}));
  PLUMB_RETURN_IF_ERROR(expect(s.peepholes, "P", {r[0] - s.cells}));
  PLUMB_RETURN_IF_ERROR(expect(s.norms, "N", {r[0]}));
  PLUMB_RETURN_IF_ERROR(expect(s.projection, "H", {s.hidden, s.cells}));
  PLUMB_RETURN_IF_ERROR(expect(s.projection < 0 ? -1 : s.projection + 1, "H's bias", {s.hidden}));
  if (s.projection < 0 && s.hidden != s.cells) {
    return Status::InvalidArgument(
        fmt::format("without a projection h has the {} numbers of a gate, found {}", s.cells, s.hidden));
  }
  return s;
}

OpDef DefinePlumbQuantizedLSTM() {
  OpDef op;
  op.make_param = MakeParam<QuantizedLstmParam>;
  op.infer = InferQuantizedLstm;
  op.flops = FlopsQuantizedLstm;
  return op;
}

}  // namespace plumb
