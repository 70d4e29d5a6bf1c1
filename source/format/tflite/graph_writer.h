// SPDX-License-Identifier: Apache-2.0
// GraphWriter: one subgraph of a .tflite file on its way to the importer's nodes (format/onnx/ir.h).
//
// TFLite's tensors have their channels last, our operators theirs first. Each tensor is held in one of the two orders:
// kFile, as the file says, or kFirst, what a convolution reads and writes. Whoever needs the other one gets a
// Transpose, made once; constants are turned here. So between two convolutions nothing is turned at all. Tensors of
// fewer than four dims, and a subgraph's inputs and outputs, are always held as the file says.
//
// A quantised tensor is held as its integers. Real() gives what these stand for (a DequantizeLinear, made once), Set()
// quantises what an operator computed: the same layers that a QDQ file of ONNX becomes.
#ifndef PLUMB_FORMAT_TFLITE_GRAPH_WRITER_H_
#define PLUMB_FORMAT_TFLITE_GRAPH_WRITER_H_

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "format/tflite/constants.h"

namespace plumb::tflite {

constexpr const char* kOwnDomain = "tflite";  // of format/onnx/tflite_node_list.def

enum class Order { kFile, kFirst };

// The axes of a tensor that is held in kFirst: axis i of the blob is axis FirstAxes(rank)[i] of the file's tensor.
std::vector<int> FirstAxes(int rank);
// The reverse: axis i of the file's tensor is axis LastAxes(rank)[i] of the blob.
std::vector<int> LastAxes(int rank);

// What all subgraphs of a file together may still become: one that is called often is written as often.
struct WritingBudget {
  int64_t operators = 200000;
  uint64_t bytes = 0;  // of constants
  bool skip_weights = false;
};

class GraphWriter {
 public:
  // Names get the prefix, so that an inlined subgraph's are not those of the one around it.
  GraphWriter(const ModelFile& file, size_t graph, std::string prefix, WritingBudget* budget)
      : file_(file), graph_(file.graph(graph)), prefix_(std::move(prefix)), budget_(*budget) {}

  // Names every tensor: the file's name, of its second and later bearers with '#' and the index behind it.
  Status Begin();
  const schema::SubGraph& graph() const { return graph_; }
  const std::string& prefix() const { return prefix_; }
  const ModelFile& file() const { return file_; }
  const schema::Tensor& TensorAt(int index) const {
    return *graph_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
  const std::string& NameOf(int tensor) const { return tensors_[static_cast<size_t>(tensor)].name; }
  int RankOf(int tensor) const { return tensors_[static_cast<size_t>(tensor)].rank; }
  Order OrderOf(int tensor) const { return tensors_[static_cast<size_t>(tensor)].order; }
  bool IsQuantized(int tensor) const;
  // ONNX's number of its element type.
  int TypeOf(int tensor) const { return tensors_[static_cast<size_t>(tensor)].type; }
  // Whether the file holds its values, or folding found them.
  bool IsConstant(int tensor) const;
  Result<Tensor> ValueOf(int tensor);

  // A tensor that somebody else defines: a subgraph's input. `value`: its name there.
  Status DefineInput(int tensor, const std::string& value);
  // The tensor is that constant: what a DEQUANTIZE of 16-bit weights gives.
  void DefineConstant(int tensor, const Tensor& value, int type);

  // The name of the tensor's value in that order, with leading dims of 1 up to `rank`: its integers where it is
  // quantised (Raw), or the reals that they stand for (Real). CorruptModel when nobody defined it.
  Result<std::string> Raw(int tensor, Order order, int rank = 0);
  Result<std::string> Real(int tensor, Order order, int rank = 0);
  // Axis i is axis order[i] of the file's tensor: for weights.
  Result<std::string> RealTurned(int tensor, const std::vector<int>& order);
  // Integers in units of `scale`, one or one per channel along axis 0: a bias whose own grid the file leaves out.
  Result<std::string> Dequantized(int tensor, const std::vector<float>& scale);

  // Nodes of the operator that was begun last; returned are the names of their outputs.
  // `file_node`: NodeIr::file_node of what it becomes.
  void BeginOperator(const std::string& name, int file_node = -1) {
    operator_ = name, first_node_ = nodes_.size(), file_node_ = file_node;
  }
  const std::string& operator_name() const { return operator_; }
  // The nodes and constants of a graph that reads values of this one.
  void Append(onnx::GraphIr graph);
  std::string Emit(const std::string& type, const std::vector<std::string>& inputs, onnx::AttributeMap attributes = {});
  std::vector<std::string> EmitMany(const std::string& type, const std::vector<std::string>& inputs, size_t outputs,
                                    onnx::AttributeMap attributes = {});
  // An operator of ours that is none of ONNX's: format/onnx/tflite_node_list.def.
  std::string EmitOwn(const std::string& type, const std::vector<std::string>& inputs, onnx::AttributeMap attributes);
  std::vector<std::string> EmitOwnMany(const std::string& type, const std::vector<std::string>& inputs, size_t outputs,
                                       onnx::AttributeMap attributes);
  std::string Constant(const Tensor& value, int type, const std::string& stem = "constant");
  Result<std::string> Ints(const std::vector<int64_t>& values, bool scalar = false);
  Result<std::string> Floats(const std::vector<float>& values, bool scalar = false);
  Result<std::string> InOrder(const std::string& value, Order from, Order to, int rank);

  // The tensor is this value; Set: reals, which are quantised where the tensor is.
  Status Set(int tensor, const std::string& value, Order order);
  Status SetRaw(int tensor, const std::string& value, Order order);
  // What stays of the value on the tensor's grid, which is one for all.
  Result<std::string> OnGrid(int tensor, const std::string& value);

  // Takes the nodes and constants; outputs as the file says.
  Result<onnx::GraphIr> Finish();
  // By name, the tensors that are held in kFirst, and their rank.
  std::map<std::string, int> HeldFirst() const;

 private:
  struct State {
    std::string name;
    int rank = 0;
    int type = onnx::kTypeUnknown;
    Order order = Order::kFile;
    bool defined = false, constant = false, output = false;
    Tensor value;  // of a constant, once it is read
    // Names of its values by what they are: real or not, and the order of the axes.
    std::map<std::pair<bool, std::vector<int>>, std::string> values;
  };

  State& At(int tensor) { return tensors_[static_cast<size_t>(tensor)]; }
  Status Read(int tensor);
  Status ReadBlocks(int tensor);
  Status Spend(uint64_t bytes);
  Result<Tensor> TurnedConstant(const State& state, const std::vector<int>& order);
  Result<std::string> Turned(int tensor, bool real, const std::vector<int>& order);
  Result<std::string> Quantised(int tensor, const std::string& value);
  Result<std::string> DequantizeAt(int tensor, const std::string& raw, const std::vector<int>& order);
  std::string Unique(const std::string& stem);
  void Rename(const std::string& from, const std::string& to);

  const ModelFile& file_;
  const schema::SubGraph& graph_;
  std::string prefix_;
  WritingBudget& budget_;
  std::vector<State> tensors_;
  std::vector<onnx::NodeIr> nodes_;
  std::map<std::string, onnx::ConstantIr> constants_;
  std::set<std::string> names_, views_;  // views_: values of tensors, which keep their names
  std::string operator_;
  size_t first_node_ = 0;
  int file_node_ = -1;
};

// An attribute of that kind.
onnx::AttributeIr IntAttribute(int64_t value);
onnx::AttributeIr IntsAttribute(std::vector<int64_t> values);
onnx::AttributeIr FloatAttribute(float value);
onnx::AttributeIr TextAttribute(const std::string& value);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_GRAPH_WRITER_H_
