// SPDX-License-Identifier: Apache-2.0
// NodeContext: what a mapper sees of one ONNX node, and how it says what the node becomes.
//
//   Status MapHardSigmoid(NodeContext& c) {
//     auto param = std::make_shared<HardParam>();
//     param->alpha = c.Float("alpha", 0.2f);
//     param->beta = c.Float("beta", 0.5f);
//     return c.EmitOutput(OpKind::kHardSigmoid, param, {c.In(0)});
//   }
//
// Errors need no node name: the importer adds it and goes on with the next node, so that all are named at once.
#ifndef PLUMB_FORMAT_ONNX_NODE_CONTEXT_H_
#define PLUMB_FORMAT_ONNX_NODE_CONTEXT_H_

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "format/onnx/builder.h"
#include "format/open_dims.h"

namespace plumb::onnx {

class NodeContext {
 public:
  NodeContext(const NodeIr& node, int opset, std::vector<Value> inputs, Builder* builder)
      : node_(node), opset_(opset), inputs_(std::move(inputs)), builder_(*builder), outputs_(node.outputs.size()) {}

  const NodeIr& node() const { return node_; }
  int opset() const { return opset_; }
  Builder& builder() { return builder_; }

  // --- inputs
  size_t NumInputs() const { return inputs_.size(); }
  bool Has(size_t i) const { return i < inputs_.size() && inputs_[i].present(); }
  // REQUIRES: Has(i); the importer refuses nodes that lack an input of the row's minimum.
  const Value& In(size_t i) const { return inputs_[i]; }
  const Shape& ShapeOf(const Value& value) const { return builder_.Info(value).shape; }
  const Shape& ShapeOf(size_t i) const { return ShapeOf(inputs_[i]); }
  DType DTypeOf(size_t i) const { return builder_.Info(inputs_[i]).dtype; }
  int Rank(size_t i) const { return ShapeOf(i).rank(); }
  // The value when it is known at import, else null.
  const Tensor* Known(const Value& value) const;
  const Tensor* Known(size_t i) const { return Has(i) ? Known(inputs_[i]) : nullptr; }
  // The same, or an error that says which network inputs would have to be given as constants.
  Result<Tensor> Constant(size_t i, const char* what);
  Result<std::vector<int64_t>> Ints(size_t i, const char* what);
  // Input i when present, else the attribute, else nothing.
  Result<std::vector<int64_t>> IntsOf(size_t i, const char* attribute);

  // --- attributes
  bool HasAttribute(const char* name) const { return Attribute(name) != nullptr; }
  const AttributeIr* Attribute(const char* name) const;
  // An attribute of another type, or an integer beyond 32 bits (no axis, dim or count of ours is one), makes the node
  // fail once its mapper has returned (CheckAttributes); until then the fallback stands in.
  int64_t Int(const char* name, int64_t fallback) const;
  float Float(const char* name, float fallback) const;
  std::string Text(const char* name, const std::string& fallback) const;
  std::vector<int64_t> IntList(const char* name) const;
  // Where ONNX means 64 bits: values, and ends that stand for "as far as it goes".
  int64_t LongInt(const char* name, int64_t fallback) const;
  std::vector<int64_t> LongIntList(const char* name) const;
  std::vector<float> FloatList(const char* name) const;

  // --- outputs
  size_t NumOutputs() const { return node_.outputs.size(); }
  bool Wants(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  Result<std::vector<Value>> EmitMany(LayerSpec spec) { return builder_.Add(std::move(spec)); }
  Result<Value> Emit(OpKind kind, std::shared_ptr<OpParam> param, std::vector<Value> inputs,
                     std::map<std::string, Tensor> resources = {});
  // What the node is as one operator, where it becomes several layers that round otherwise: see ImportRecord::wholes.
  void Whole(LayerSpec spec, const std::vector<Value>& outputs) { builder_.AddWhole(std::move(spec), outputs); }
  Value Const(const Tensor& value) { return builder_.AddConstant(value, TypeOf(value.dtype())); }
  Value ConstInts(const std::vector<int64_t>& values);
  Value ConstFloat(float value, DType dtype = DType::kF32);  // a scalar
  // What the node's output is; `type` 0: the first input's when the dtypes agree, else the blob's own.
  void Set(size_t output, const Value& value, int type = 0);
  Status EmitOutput(OpKind kind, std::shared_ptr<OpParam> param, std::vector<Value> inputs,
                    std::map<std::string, Tensor> resources = {});

  // What another mapper makes of this node's attributes and of other inputs, in another opset: its first output.
  Result<Value> Through(Status (*mapper)(NodeContext& c), std::vector<Value> inputs, int opset = 0);

  // --- steps that many mappers need
  Result<Value> Reshape(const Value& value, const std::vector<int64_t>& dims);
  Result<Value> Transpose(const Value& value, const std::vector<int>& orders);
  Result<Value> CastTo(const Value& value, DType dtype);
  // Wraps carried integers around to the range of a narrow type.
  Result<Value> Wrap(const Value& value, int type);
  // Where only the order counts: a uint64, carried as i64, with its first bit turned (twice gives the value again).
  Result<Value> Ordered(const Value& value);
  Result<Value> Binary(OpKind kind, const Value& a, const Value& b);
  // Elements [begin, end) along an axis, the dim of 1 dropped when `squeeze`.
  Result<Value> Cut(const Value& value, int axis, int64_t begin, int64_t end, bool squeeze = false);
  Result<Value> Unsqueeze(const Value& value, int axis);
  Result<Value> Join(const std::vector<Value>& parts, int axis);
  Result<Value> Select(const Value& condition, const Value& yes, const Value& no);
  // i64 of that shape: each element's own position along the axis.
  Result<Value> Positions(const Shape& shape, int axis);
  // y[i] = data[.. index[i] ..] along the axis, as GatherElements. REQUIRES: indices are i64.
  Result<Value> TakeElements(const Value& data, const Value& indices, int axis);

  // Where input i is a network input whose value must be known: that these would suit.
  void SayWhatSuits(size_t i, const std::vector<int64_t>& values);

  // A hazard of doc/alignment.md that the node shows.
  void Warn(const char* id, const std::string& text) { warnings_.emplace_back(id, text); }

  // The attributes that nobody asked for; whether that matters is not known.
  std::vector<std::string> UnreadAttributes() const;
  const std::vector<std::pair<std::string, std::string>>& warnings() const { return warnings_; }
  // CorruptModel when an attribute that was asked for is of another type, or any integer is beyond 32 bits.
  Status CheckAttributes() const;
  const std::vector<Value>& outputs() const { return outputs_; }
  const NeededValues& needed_inputs() const { return needed_; }

 private:
  const NodeIr& node_;
  int opset_;
  std::vector<Value> inputs_;
  Builder& builder_;
  std::vector<Value> outputs_;
  NeededValues needed_;
  Result<Value> WrapTiny(const Value& value, const TinyType& tiny);
  // The attribute when it is there and of that kind.
  const AttributeIr* OfKind(const char* name, AttributeIr::Kind kind, const char* expected) const;
  void CheckRange(const char* name, int64_t value) const;

  mutable std::set<std::string> read_;  // attributes
  mutable Status attribute_status_;     // the first one that cannot be what it says
  std::vector<std::pair<std::string, std::string>> warnings_;
};

// A mapper of onnx_list.def.
using Mapper = Status (*)(NodeContext& c);

// Tensors from numbers.
Result<Tensor> IntTensor(const std::vector<int64_t>& values);

// An axis out of a tensor, before it is cut to 32 bits: as NormalizeAxis.
Result<int> AxisOf(int64_t axis, int rank);

// ints as the int fields of a parameter; InvalidArgument beyond int32.
Result<std::vector<int>> Narrow(const std::vector<int64_t>& values);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_NODE_CONTEXT_H_
