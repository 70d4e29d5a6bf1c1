// SPDX-License-Identifier: Apache-2.0
// One operator: its facts, each written once (design decision 13).
//
// A row of op_list.def names the operator (the canonical tnnproto string), its file and arity. The file defines
//   OpDef Define<Name>();
// with the parameters in tnnproto field order (OpParam::Visit), the shape rule, the resources (weights) in tnnmodel
// order, what they must look like (which is also what the random generator fills) and the cost. Loading, saving,
// validation, reports, option lists and tests derive from these.
#ifndef PLUMB_OP_CORE_OP_H_
#define PLUMB_OP_CORE_OP_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "op/core/op_kind.h"
#include "plumb/graph.h"

namespace plumb {

// Walks an operator's parameters in the order that the tnnproto has them. Implementations load, save, print and
// compare. A field with kRequired is an error when the token is missing; others keep their default (TNN's old files
// stop early).
class ParamVisitor {
 public:
  enum Need { kOptional, kRequired };
  virtual ~ParamVisitor() = default;
  virtual void Int(const char* name, int& value, Need need = kOptional) = 0;
  virtual void Float(const char* name, float& value, Need need = kOptional) = 0;
  virtual void Bool(const char* name, bool& value, Need need = kOptional) = 0;  // 0 or 1
  virtual void Text(const char* name, std::string& value, Need need = kOptional) = 0;
  // A count token, then that many values.
  virtual void Counted(const char* name, std::vector<int>& values, Need need = kOptional) = 0;
  // `count` values without a count token (the count is another field's).
  virtual void Fixed(const char* name, std::vector<int>& values, size_t count, Need need = kOptional) = 0;
  // All remaining tokens.
  virtual void Rest(const char* name, std::vector<int>& values) = 0;
  // A token that nobody reads; `written` is what we write.
  virtual void Ignored(const char* written) = 0;
  // True while loading (then HasMore says whether tokens are left); false while saving or printing.
  virtual bool loading() const { return false; }
  virtual bool HasMore() const { return true; }
};

struct OpParam {
  virtual ~OpParam() = default;
  virtual void Visit(ParamVisitor& v) = 0;  // saving and printing visitors do not change the fields
  virtual std::shared_ptr<OpParam> Clone() const = 0;
};

// struct LeakyReluParam : ParamBase<LeakyReluParam> { float slope; void Visit(ParamVisitor& v) override {...} };
template <class P>
struct ParamBase : OpParam {
  std::shared_ptr<OpParam> Clone() const override { return std::make_shared<P>(static_cast<const P&>(*this)); }
};

struct NoParam : ParamBase<NoParam> {
  void Visit(ParamVisitor&) override {}
};

// The layer's parameters as the operator's own struct. REQUIRES: P belongs to layer.kind.
template <class P>
const P& ParamOf(const Layer& layer) {
  return static_cast<const P&>(*layer.param);
}

// Walks a layer's resource body in tnnmodel order (after the record header). Readers fill layer.resources, writers emit
// it.
class ResourceVisitor {
 public:
  virtual ~ResourceVisitor() = default;
  virtual void Name() = 0;  // str: the layer's name, ignored on reading
  // i32: whether the slot follows; writers write 1 when the layer has it. Returns whether it follows.
  virtual bool Flag(const char* slot) = 0;
  virtual bool Flag8(const char* slot) = 0;  // the same as one byte
  virtual void Raw(const char* slot) = 0;    // a RawBuffer; an empty one leaves the slot empty
  // int8 weights carry zero point and scale behind them (tnn-format.md 2.1); does nothing for other weights.
  virtual void QuantTail(const char* weight_slot) = 0;
};

// What a resource must look like, and how the generator fills it when there is no tnnmodel.
struct ResourceSpec {
  enum Fill { kHe, kSmall, kNearOne, kPositive, kSlope, kZeroPoint };
  std::string slot;
  Shape shape;      // expected; the element count is what is enforced (v1 files carry no dims)
  Fill fill = kHe;  // kHe: uniform with variance 2 / fan_in
  int64_t fan_in = 1;
  bool required = true;
};

struct StridedMap;  // op/core/strided.h

// Everything the shape rule of a layer sees and fills.
struct ShapeContext {
  const Layer& layer;
  std::vector<BlobInfo> inputs;
  std::vector<BlobInfo> outputs;  // one per layer output; the rule sets dtype and shape (and value, when it is known)

  const Shape& shape(int i) const { return inputs[static_cast<size_t>(i)].shape; }
  // Sets every output to that dtype and shape.
  void SetAll(DType dtype, const Shape& shape);
};

// What an operator adds up, whose sums may overflow or be computed in int8.
enum class Sums { kNothing, kTerms, kSquares, kProducts };

// What an operator makes of the mean square of the values that it reads, which generated weights keep near 1
// (graph/mean_square.h): kept, halved as by a ReLU, of [0, 1], of [-1, 1], or 1 whatever it was.
enum class Spread { kKept, kHalved, kPositive, kBounded, kNormalised };

struct OpDef {
  OpKind kind{};
  const char* name = "";  // from the row
  int min_inputs = 0;
  int max_inputs = 0;   // -1: any number
  int num_outputs = 1;  // -1: any number
  std::shared_ptr<OpParam> (*make_param)() = nullptr;
  Status (*infer)(ShapeContext& context) = nullptr;
  // null: no resources. REQUIRES for resource_specs: shapes of the inputs are known.
  void (*visit_resources)(ResourceVisitor& v, const Layer& layer) = nullptr;
  Status (*resource_specs)(const Layer& layer, const std::vector<BlobInfo>& inputs,
                           std::vector<ResourceSpec>* specs) = nullptr;
  // Multiply-add counts as 2; null: one operation per output element.
  double (*flops)(const Layer& layer, const std::vector<BlobInfo>& inputs,
                  const std::vector<BlobInfo>& outputs) = nullptr;
  // For operators whose outputs are the elements of their first input in another order: where output `output` finds
  // them. Shape rule, host evaluation, the reference and the devices' copying kernels follow from it
  // (op/core/strided.h).
  Result<StridedMap> (*map)(const Layer& layer, const std::vector<BlobInfo>& inputs, int output) = nullptr;
  Sums sums = Sums::kNothing;
  Spread spread = Spread::kKept;
  bool moves_data_only = false;  // outputs are input elements unchanged (Permute, Concat, Reshape ...)
};

template <class P>
std::shared_ptr<OpParam> MakeParam() {
  return std::make_shared<P>();
}

// The definition of an operator.
const OpDef& GetOp(OpKind kind);
// The operator with that canonical name, or null. (File aliases are the format's business.)
const OpDef* FindOp(std::string_view name);
// All operators in row order.
const std::vector<OpDef>& AllOps();

// Ready-made shape rules.
Status InferSameAsInput(ShapeContext& context);
Status InferFloatSameAsInput(ShapeContext& context);  // refuses integer and bool blobs

// Axis with negatives counted from the end; InvalidArgument when it is outside [-rank, rank).
Result<int> NormalizeAxis(int axis, int rank);
// NumPy broadcasting of two shapes (missing leading dims count as 1).
Result<Shape> BroadcastShapes(const Shape& a, const Shape& b);

}  // namespace plumb

#endif  // PLUMB_OP_CORE_OP_H_
