// SPDX-License-Identifier: Apache-2.0
#include "format/tnn/translate.h"

#include <fmt/core.h>

#include "op/cast.h"

namespace plumb::tnn {

Status LineLayers::ExpectInputs(size_t least, size_t most, const char* which) const {
  const size_t found = line_.inputs.size();
  if (found >= least && found <= most) return Status::Ok();
  return Status::CorruptModel(fmt::format("expects {}, found {} inputs", which, found));
}

std::string LineLayers::Constant(const std::string& what, Tensor value) {
  graph_.constants[Name(what)] = std::move(value);
  return Name(what);
}

Result<std::string> LineLayers::Scalar(const std::string& what, DType dtype, double value) {
  PLUMB_ASSIGN_OR_RETURN(Tensor wide, Tensor::Create(DType::kF64, {1}));
  wide.data<double>()[0] = value;
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, wide.ConvertedTo(dtype));
  return Constant(what, std::move(tensor));
}

void LineLayers::Add(OpKind kind, std::vector<std::string> inputs, std::vector<std::string> outputs,
                     std::shared_ptr<OpParam> param) {
  Layer layer;
  layer.kind = kind;
  layer.type = GetOp(kind).name;
  layer.param = param != nullptr ? std::move(param) : GetOp(kind).make_param();
  layer.name = outputs[0] == line_.outputs[0] ? line_.name : outputs[0];
  layer.nodes = {line_.name};
  layer.inputs = std::move(inputs);
  layer.outputs = std::move(outputs);
  graph_.layers.push_back(std::move(layer));
}

void LineLayers::AddAsInt32(const std::string& from) {
  constexpr int kInt32 = 3;  // TNN's data type number
  Add(OpKind::kCast, {from}, {line_.outputs[0]}, ParamWith<CastParam>([](CastParam* p) { p->to = kInt32; }));
}

Translation FindTranslation(std::string_view type) {
#define PLUMB_TNN_TRANSLATION(name, file) \
  if (type == #name) return name##Translation();
#include "format/tnn/translation_list.def"
#undef PLUMB_TNN_TRANSLATION
  return {};
}

}  // namespace plumb::tnn
