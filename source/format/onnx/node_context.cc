// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/node_context.h"

#include <fmt/core.h>

#include <algorithm>
#include <climits>
#include <limits>

#include "op/binary.h"
#include "op/cast.h"
#include "op/concat.h"
#include "op/permute.h"
#include "op/reshape.h"
#include "op/squeeze.h"
#include "op/strided_slice.h"

namespace plumb::onnx {

const Tensor* NodeContext::Known(const Value& value) const {
  if (value.blob < 0) return nullptr;
  const Tensor& tensor = builder_.Info(value).value;
  return tensor.empty() ? nullptr : &tensor;
}

Result<Tensor> NodeContext::Constant(size_t i, const char* what) {
  if (const Tensor* known = Known(i)) return *known;
  if (!Has(i)) return Status::CorruptModel(fmt::format("{} (input {}) is missing", what, i));
  const std::vector<std::string> names = builder_.Ancestors(inputs_[i]);
  for (const std::string& name : names) needed_[name];
  return Status::NotSupported(
      fmt::format("{} (input {}) must be known when the model is loaded, but {}", what, i, DependsOn(names)));
}

void NodeContext::SayWhatSuits(size_t i, const std::vector<int64_t>& values) {
  const std::string name = Has(i) ? builder_.InputName(inputs_[i]) : "";
  if (!name.empty()) needed_[name] = values;
}

Result<std::vector<int64_t>> NodeContext::Ints(size_t i, const char* what) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, Constant(i, what));
  if (IsFloat(value.dtype())) {
    return Status::CorruptModel(fmt::format("{} must be integers, found {}", what, DTypeName(value.dtype())));
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, value.ConvertedTo(DType::kI64));
  return std::vector<int64_t>(wide.data<int64_t>(), wide.data<int64_t>() + wide.NumElements());
}

Result<std::vector<int64_t>> NodeContext::IntsOf(size_t i, const char* attribute) {
  if (Has(i)) return Ints(i, attribute);
  return IntList(attribute);
}

const AttributeIr* NodeContext::Attribute(const char* name) const {
  read_.insert(name);
  const auto it = node_.attributes.find(name);
  return it == node_.attributes.end() ? nullptr : &it->second;
}

std::vector<std::string> NodeContext::UnreadAttributes() const {
  std::vector<std::string> unread;
  for (const auto& entry : node_.attributes) {
    if (read_.count(entry.first) == 0) unread.push_back(entry.first);
  }
  return unread;
}

const AttributeIr* NodeContext::OfKind(const char* name, AttributeIr::Kind kind, const char* expected) const {
  const AttributeIr* attribute = Attribute(name);
  if (attribute == nullptr || attribute->kind == AttributeIr::kNone) return nullptr;
  if (attribute->kind == kind) return attribute;
  const bool whole = attribute->kind == AttributeIr::kInt || attribute->kind == AttributeIr::kInts;
  const bool single = attribute->kind == AttributeIr::kInt || attribute->kind == AttributeIr::kFloat;
  const bool fits =
      kind == AttributeIr::kFloats || (kind == AttributeIr::kFloat && single) || (kind == AttributeIr::kInts && whole);
  if (attribute->untyped && fits) return attribute;
  if (attribute_status_.ok()) {
    attribute_status_ =
        Status::CorruptModel(fmt::format("attribute '{}' must be {}, found another type", name, expected));
  }
  return nullptr;
}

void NodeContext::CheckRange(const char* name, int64_t value) const {
  if ((value >= INT_MIN && value <= INT_MAX) || !attribute_status_.ok()) return;
  attribute_status_ =
      Status::CorruptModel(fmt::format("attribute '{}' is {}, expected a number of 32 bits", name, value));
}

Status NodeContext::CheckAttributes() const {
  for (const std::string& name : UnreadAttributes()) {
    const AttributeIr& attribute = node_.attributes.at(name);
    if (attribute.kind == AttributeIr::kInt) CheckRange(name.c_str(), attribute.i);
  }
  return attribute_status_;
}

int64_t NodeContext::LongInt(const char* name, int64_t fallback) const {
  const AttributeIr* attribute = OfKind(name, AttributeIr::kInt, "an integer");
  return attribute == nullptr ? fallback : attribute->i;
}

int64_t NodeContext::Int(const char* name, int64_t fallback) const {
  const int64_t value = LongInt(name, fallback);
  CheckRange(name, value);
  return value >= INT_MIN && value <= INT_MAX ? value : fallback;
}

float NodeContext::Float(const char* name, float fallback) const {
  const AttributeIr* attribute = OfKind(name, AttributeIr::kFloat, "a float");
  return attribute == nullptr ? fallback : attribute->f;
}

std::string NodeContext::Text(const char* name, const std::string& fallback) const {
  const AttributeIr* attribute = OfKind(name, AttributeIr::kString, "a string");
  return attribute == nullptr ? fallback : attribute->s;
}

std::vector<int64_t> NodeContext::LongIntList(const char* name) const {
  const AttributeIr* attribute = OfKind(name, AttributeIr::kInts, "a list of integers");
  return attribute == nullptr ? std::vector<int64_t>() : attribute->ints;
}

std::vector<int64_t> NodeContext::IntList(const char* name) const {
  std::vector<int64_t> values = LongIntList(name);
  for (const int64_t value : values) CheckRange(name, value);
  return attribute_status_.ok() ? values : std::vector<int64_t>();
}

std::vector<float> NodeContext::FloatList(const char* name) const {
  const AttributeIr* attribute = OfKind(name, AttributeIr::kFloats, "a list of floats");
  return attribute == nullptr ? std::vector<float>() : attribute->floats;
}

Result<Value> NodeContext::Emit(OpKind kind, std::shared_ptr<OpParam> param, std::vector<Value> inputs,
                                std::map<std::string, Tensor> resources) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> values,
                         builder_.Add({kind, std::move(param), std::move(inputs), std::move(resources), 1}));
  return values[0];
}

Status NodeContext::EmitOutput(OpKind kind, std::shared_ptr<OpParam> param, std::vector<Value> inputs,
                               std::map<std::string, Tensor> resources) {
  PLUMB_ASSIGN_OR_RETURN(const Value value, Emit(kind, std::move(param), std::move(inputs), std::move(resources)));
  Set(0, value);
  return Status::Ok();
}

void NodeContext::Set(size_t output, const Value& value, int type) {
  if (output >= outputs_.size()) return;
  Value& out = outputs_[output];
  out = value;
  if (value.sequence != nullptr) return;
  const DType dtype = builder_.Info(value).dtype;
  if (type != 0) {
    out.type = type;
  } else if (!inputs_.empty() && inputs_[0].blob >= 0 && builder_.Info(inputs_[0]).dtype == dtype) {
    out.type = inputs_[0].type;
  } else {
    out.type = TypeOf(dtype);
  }
}

Result<Value> NodeContext::Through(Status (*mapper)(NodeContext& c), std::vector<Value> inputs, int opset) {
  NodeContext inner(node_, opset == 0 ? opset_ : opset, std::move(inputs), &builder_);
  Status status = mapper(inner);
  if (status.ok()) status = inner.attribute_status_;
  read_.insert(inner.read_.begin(), inner.read_.end());
  needed_.insert(inner.needed_.begin(), inner.needed_.end());
  warnings_.insert(warnings_.end(), inner.warnings_.begin(), inner.warnings_.end());
  if (!status.ok()) return status;
  return inner.outputs_.at(0);
}

Value NodeContext::ConstInts(const std::vector<int64_t>& values) {
  Result<Tensor> tensor = IntTensor(values);
  return Const(tensor.ok() ? *tensor : Tensor());
}

Value NodeContext::ConstFloat(float value, DType dtype) {
  Tensor tensor = std::move(Tensor::Create(DType::kF32, Shape{})).value();
  tensor.data<float>()[0] = value;
  const Result<Tensor> converted = tensor.ConvertedTo(dtype);
  return Const(converted.ok() ? *converted : tensor);
}

Result<Value> NodeContext::Reshape(const Value& value, const std::vector<int64_t>& dims) {
  const Shape& from = ShapeOf(value);
  const Shape to(dims);
  PLUMB_RETURN_IF_ERROR(to.Validate());
  if (from.NumElements() != to.NumElements()) {
    return Status::CorruptModel(fmt::format("cannot reshape {} to {}", from.ToString(), to.ToString()));
  }
  if (from == to) return value;
  if (to.NumElements() == 0) {  // a 0 in Reshape's parameter copies the input's dim
    PLUMB_ASSIGN_OR_RETURN(const Tensor nothing, Tensor::Zeros(builder_.Info(value).dtype, to));
    return Const(nothing);
  }
  if (dims.empty()) {  // an empty parameter means something else, too
    auto squeeze = std::make_shared<SqueezeParam>();
    for (int i = 0; i < from.rank(); ++i) squeeze->axes.push_back(i);
    return Emit(OpKind::kSqueeze, squeeze, {value});
  }
  auto param = std::make_shared<ReshapeParam>();
  PLUMB_ASSIGN_OR_RETURN(param->shape, Narrow(dims));
  return Emit(OpKind::kReshape, param, {value});
}

Result<Value> NodeContext::Transpose(const Value& value, const std::vector<int>& orders) {
  auto param = std::make_shared<PermuteParam>();
  param->orders = orders;
  return Emit(OpKind::kPermute, param, {value});
}

Result<Value> NodeContext::CastTo(const Value& value, DType dtype) {
  if (builder_.Info(value).dtype == dtype) return value;
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
    case DType::kI64: {
      auto param = std::make_shared<CastParam>();
      param->to = dtype == DType::kF32 ? 0 : dtype == DType::kI32 ? 3 : 5;
      return Emit(OpKind::kCast, param, {value});
    }
    default: {
      auto param = std::make_shared<PlumbCastParam>();
      param->to = DTypeName(dtype);
      return Emit(OpKind::kPlumbCast, param, {value});
    }
  }
}

// Of 2 or 4 bits: the lowest bits, shifted down by half the range where the type has a sign.
Result<Value> NodeContext::WrapTiny(const Value& value, const TinyType& tiny) {
  const auto number = [&](int64_t n) -> Result<Value> {
    PLUMB_ASSIGN_OR_RETURN(const Tensor list, IntTensor({n}));
    PLUMB_ASSIGN_OR_RETURN(const Tensor scalar, list.Reshaped(Shape{}));
    return Const(scalar);
  };
  PLUMB_ASSIGN_OR_RETURN(const Value wide, CastTo(value, DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value mask, number((int64_t{1} << tiny.bits) - 1));
  PLUMB_ASSIGN_OR_RETURN(const Value below, number(static_cast<int64_t>(tiny.low)));
  PLUMB_ASSIGN_OR_RETURN(const Value up, Emit(OpKind::kSub, nullptr, {wide, below}));
  PLUMB_ASSIGN_OR_RETURN(const Value bits, Emit(OpKind::kPlumbBitwiseAnd, nullptr, {up, mask}));
  PLUMB_ASSIGN_OR_RETURN(Value y, Emit(OpKind::kAdd, nullptr, {bits, below}));
  y.type = tiny.type;
  return y;
}

Result<Value> NodeContext::Wrap(const Value& value, int type) {
  if (!IsNarrowInteger(type)) return value;
  if (const TinyType* tiny = FindTiny(type)) return WrapTiny(value, *tiny);
  PLUMB_ASSIGN_OR_RETURN(const DType narrow, StoredDType(type));
  PLUMB_ASSIGN_OR_RETURN(const Value wrapped, CastTo(value, narrow));
  PLUMB_ASSIGN_OR_RETURN(Value wide, CastTo(wrapped, DType::kI64));
  wide.type = type;
  return wide;
}

Result<Value> NodeContext::Ordered(const Value& value) {
  if (value.type != kTypeUint64) return value;
  PLUMB_ASSIGN_OR_RETURN(const Tensor first_bit, IntTensor({std::numeric_limits<int64_t>::min()}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scalar, first_bit.Reshaped(Shape{}));
  PLUMB_ASSIGN_OR_RETURN(Value turned, Emit(OpKind::kPlumbBitwiseXor, nullptr, {value, Const(scalar)}));
  turned.type = value.type;
  return turned;
}

Result<Value> NodeContext::Binary(OpKind kind, const Value& a, const Value& b) {
  PLUMB_ASSIGN_OR_RETURN(Value y, Emit(kind, nullptr, {a, b}));
  PLUMB_ASSIGN_OR_RETURN(y, Wrap(y, a.type));
  return y;
}

Result<Value> NodeContext::Cut(const Value& value, int axis, int64_t begin, int64_t end, bool squeeze) {
  auto cut = std::make_shared<StridedSliceV2Param>();
  cut->begins = {static_cast<int>(begin)};
  cut->ends = {static_cast<int>(end)};
  cut->axes = {axis};
  cut->strides = {1};
  PLUMB_ASSIGN_OR_RETURN(Value part, Emit(OpKind::kStridedSliceV2, cut, {value}));
  if (squeeze) {
    auto drop = std::make_shared<SqueezeParam>();
    drop->axes = {axis};
    PLUMB_ASSIGN_OR_RETURN(part, Emit(OpKind::kSqueeze, drop, {part}));
  }
  part.type = value.type;
  return part;
}

Result<Value> NodeContext::Unsqueeze(const Value& value, int axis) {
  auto param = std::make_shared<SqueezeParam>();
  param->axes = {axis};
  PLUMB_ASSIGN_OR_RETURN(Value y, Emit(OpKind::kUnsqueeze, param, {value}));
  y.type = value.type;
  return y;
}

Result<Value> NodeContext::Join(const std::vector<Value>& parts, int axis) {
  if (parts.size() == 1) return parts[0];
  auto param = std::make_shared<ConcatParam>();
  param->axis = axis;
  PLUMB_ASSIGN_OR_RETURN(Value y, Emit(OpKind::kConcat, param, parts));
  y.type = parts[0].type;
  return y;
}

Result<Value> NodeContext::Select(const Value& condition, const Value& yes, const Value& no) {
  PLUMB_ASSIGN_OR_RETURN(Value y, Emit(OpKind::kWhere, nullptr, {yes, no, condition}));
  y.type = yes.type;
  return y;
}

Result<Value> NodeContext::Positions(const Shape& shape, int axis) {
  PLUMB_RETURN_IF_ERROR(builder_.Reserve(DType::kI64, shape));
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kI64, shape));
  const int64_t inner = shape.CountFrom(axis + 1);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<int64_t>()[i] = i / inner % shape[axis];
  return Const(tensor);
}

Result<Value> NodeContext::TakeElements(const Value& data, const Value& indices, int axis) {
  const Shape shape = ShapeOf(indices);
  if (shape.rank() != ShapeOf(data).rank()) {
    return Status::CorruptModel(fmt::format("the indices are {} for {}", shape.ToString(), ShapeOf(data).ToString()));
  }
  std::vector<Value> coordinates;  // index vectors for GatherND: each element's own position but for the axis
  for (int i = 0; i < shape.rank(); ++i) {
    Value part = indices;
    if (i != axis) {
      PLUMB_ASSIGN_OR_RETURN(part, Positions(shape, i));
    }
    PLUMB_ASSIGN_OR_RETURN(part, Unsqueeze(part, shape.rank()));
    coordinates.push_back(part);
  }
  PLUMB_ASSIGN_OR_RETURN(const Value vectors, Join(coordinates, shape.rank()));
  PLUMB_ASSIGN_OR_RETURN(Value y, Emit(OpKind::kGatherND, nullptr, {data, vectors}));
  y.type = data.type;
  return y;
}

Result<Tensor> IntTensor(const std::vector<int64_t>& values) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kI64, Shape{static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), tensor.data<int64_t>());
  return tensor;
}

Result<int> AxisOf(int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  return Status::InvalidArgument(fmt::format("axis {} is outside a blob of rank {}", axis, rank));
}

Result<std::vector<int>> Narrow(const std::vector<int64_t>& values) {
  std::vector<int> narrow;
  for (const int64_t value : values) {
    if (value < INT_MIN || value > INT_MAX) {
      return Status::NotSupported(fmt::format("the value {} does not fit 32 bits", value));
    }
    narrow.push_back(static_cast<int>(value));
  }
  return narrow;
}

}  // namespace plumb::onnx
