// SPDX-License-Identifier: Apache-2.0
// What the mapper of one TFLite operator sees: its options, its tensors, and the nodes that it becomes.
#ifndef PLUMB_FORMAT_TFLITE_OP_CONTEXT_H_
#define PLUMB_FORMAT_TFLITE_OP_CONTEXT_H_

#include <string>
#include <vector>

#include "format/tflite/graph_writer.h"

namespace plumb::tflite {

class Translator;

class OpContext {
 public:
  OpContext(const schema::Operator& op, GraphWriter* writer, Translator* translator)
      : op_(op), writer_(*writer), translator_(*translator) {}

  const schema::Operator& op() const { return op_; }
  GraphWriter& writer() { return writer_; }
  Translator& translator() { return translator_; }
  // The operator's number, for families that share a mapper.
  schema::BuiltinOperator code() const;
  int version() const;  // of the operator, as the file says it
  // CorruptModel where the file leaves them out.
  template <class T>
  Result<const T*> Options() const {
    const T* options = op_.builtin_options_as<T>();
    if (options == nullptr) return Status::CorruptModel("it has no options, or those of another operator");
    return options;
  }

  // --- tensors, by their place among the operator's
  size_t NumInputs() const { return op_.inputs() == nullptr ? 0 : op_.inputs()->size(); }
  size_t NumOutputs() const { return op_.outputs() == nullptr ? 0 : op_.outputs()->size(); }
  bool Has(size_t i) const { return i < NumInputs() && InputIndex(i) >= 0; }
  int InputIndex(size_t i) const { return op_.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i)); }
  int OutputIndex(size_t i) const { return op_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i)); }
  const schema::Tensor& Input(size_t i) const { return writer_.TensorAt(InputIndex(i)); }
  Shape InShape(size_t i) const { return ShapeOf(Input(i)); }
  Shape OutShape(size_t i = 0) const { return ShapeOf(writer_.TensorAt(OutputIndex(i))); }
  int Rank(size_t i) const { return writer_.RankOf(InputIndex(i)); }
  Order OrderOf(size_t i) const { return writer_.OrderOf(InputIndex(i)); }
  bool IsConstant(size_t i) const { return writer_.IsConstant(InputIndex(i)); }
  bool IsFloat(size_t i) const;
  // Floats, or integers that stand for reals.
  bool IsReal(size_t i) const { return IsFloat(i) || writer_.IsQuantized(InputIndex(i)); }
  // Both integers on one grid, so that moving them moves what they stand for.
  bool SameGrid(size_t input, size_t output) const;
  // The order that most of the work is saved with: kFirst when a tensor of that rank is held so.
  Order CommonOrder(int rank) const;
  // REQUIRES: Has(i).
  Result<std::string> Real(size_t i, Order order, int rank = 0) { return writer_.Real(InputIndex(i), order, rank); }
  Result<std::string> Raw(size_t i, Order order, int rank = 0) { return writer_.Raw(InputIndex(i), order, rank); }
  Result<std::string> RealTurned(size_t i, const std::vector<int>& order) {
    return writer_.RealTurned(InputIndex(i), order);
  }
  // The integers of a constant.
  Result<std::vector<int64_t>> Ints(size_t i, const char* what);
  // An axis of the file's tensor where a blob of that order has it; InvalidArgument when it is none.
  static Result<int> AxisIn(Order order, int64_t axis, int rank);

  // --- nodes
  std::string Emit(const std::string& type, const std::vector<std::string>& inputs,
                   onnx::AttributeMap attributes = {}) {
    return writer_.Emit(type, inputs, std::move(attributes));
  }
  Result<std::string> IntsConstant(const std::vector<int64_t>& values) { return writer_.Ints(values); }
  Result<std::string> Number(float value) { return writer_.Floats({value}, true); }
  // What a fused activation makes of a value.
  Result<std::string> Activated(const std::string& value, schema::Activation activation);
  Status Set(size_t output, const std::string& value, Order order,
             schema::Activation activation = schema::Activation::NONE);
  Status SetRaw(size_t output, const std::string& value, Order order) {
    return writer_.SetRaw(OutputIndex(output), value, order);
  }
  // Of an operator that only moves elements: the integers themselves when input and output have one grid.
  Result<std::string> Moved(size_t i, Order order, int rank = 0);
  Status SetMoved(size_t output, const std::string& value, Order order);

 private:
  const schema::Operator& op_;
  GraphWriter& writer_;
  Translator& translator_;
};

using TfliteMapper = Status (*)(OpContext& c);

// A row of tflite_list.def.
struct TfliteRow {
  schema::BuiltinOperator code;
  const char* name;
  TfliteMapper mapper;
  size_t least_inputs, least_outputs;
};
const std::vector<TfliteRow>& AllTfliteRows();
const TfliteRow* FindTfliteRow(schema::BuiltinOperator code);
// Of a custom operator, by its name; null: none here.
TfliteMapper FindCustom(const std::string& name);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_OP_CONTEXT_H_
