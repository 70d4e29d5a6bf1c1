// SPDX-License-Identifier: Apache-2.0
// The rows PLUMB_ONNX_ONE of onnx_list.def: nodes that are one operator of ours, whose parameters are the node's
// attributes of the same names. f64 runs as f64; narrow integers wrap around (Neg, Abs).
#include <fmt/core.h>

#include "format/onnx/node_context.h"
namespace plumb::onnx {
namespace {

// Sets the parameters that the node has attributes for; the others keep our default, which must be ONNX's.
class AttributesToParam : public ParamVisitor {
 public:
  explicit AttributesToParam(const NodeContext& c) : c_(c) {}
  void Int(const char* name, int& value, Need) override { value = static_cast<int>(c_.Int(name, value)); }
  void Float(const char* name, float& value, Need) override { value = c_.Float(name, value); }
  void Bool(const char* name, bool& value, Need) override { value = c_.Int(name, value ? 1 : 0) != 0; }
  void Text(const char* name, std::string& value, Need) override { value = c_.Text(name, value); }
  void Counted(const char* name, std::vector<int>&, Need) override { Refuse(name); }
  void Fixed(const char* name, std::vector<int>&, size_t, Need) override { Refuse(name); }
  void Rest(const char* name, std::vector<int>&) override { Refuse(name); }
  void Ignored(const char*) override {}
  const Status& status() const { return status_; }

 private:
  void Refuse(const char* name) {
    status_ = Status::NotSupported(fmt::format("the parameter '{}' is a list: this needs a mapper of its own", name));
  }

  const NodeContext& c_;
  Status status_;
};

Status MapOne(NodeContext& c, OpKind kind) {
  std::shared_ptr<OpParam> param;
  if (GetOp(kind).make_param != nullptr) {
    param = GetOp(kind).make_param();
    AttributesToParam reader(c);
    param->Visit(reader);
    PLUMB_RETURN_IF_ERROR(reader.status());
  }
  std::vector<Value> inputs;
  for (size_t i = 0; i < c.NumInputs() && c.Has(i); ++i) inputs.push_back(c.In(i));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(kind, param, inputs));
  PLUMB_ASSIGN_OR_RETURN(const Value wrapped, c.Wrap(y, c.In(0).type));
  c.Set(0, wrapped);
  return Status::Ok();
}

}  // namespace

#define PLUMB_ONNX(...)
#define PLUMB_ONNX_MICROSOFT(...)
#define PLUMB_ONNX_ONE(op_type, op, inputs, outputs) \
  Status Map##op_type(NodeContext& c) { return MapOne(c, OpKind::k##op); }
#include "format/onnx/onnx_list.def"
#undef PLUMB_ONNX_ONE
#undef PLUMB_ONNX_MICROSOFT
#undef PLUMB_ONNX

}  // namespace plumb::onnx
