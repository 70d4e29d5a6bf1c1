// SPDX-License-Identifier: Apache-2.0
// NameTrace: the cells (cells.h) of every blob of a graph.
#ifndef PLUMB_NAMES_TRACE_H_
#define PLUMB_NAMES_TRACE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "names/cells.h"
#include "op/core/op.h"
#include "plumb/model.h"

namespace plumb {

// A layer that is traced: what it reads, and what is known of its blobs.
struct TracedLayer {
  const Layer& layer;
  std::vector<Cells> inputs;
  std::vector<BlobInfo> infos;  // of the inputs, values where they are constants
  std::vector<BlobInfo> outputs;
  ConstantTable* constants;
};

// elements.cc: operators that compute each element for itself; nothing: it is none.
Result<std::vector<Cells>> TraceElements(const TracedLayer& traced);
// products.cc: products and convolutions.
Result<std::vector<Cells>> TraceProducts(const TracedLayer& traced);
// rows.cc: sums over axes and normalisations; every other operator as a function of all that it reads.
Result<std::vector<Cells>> TraceRows(const TracedLayer& traced);
Result<std::vector<Cells>> TraceWhole(const TracedLayer& traced);

// Steps that several of them take.
Result<Cells> Broadcast(const Cells& x, const Shape& shape);
Result<Cells> Baked(const Cells& x, ConstantTable* constants);  // scale 1
Result<Cells> SumOfCells(const Cells& x, const Cells& y, const Shape& shape, ConstantTable* constants);
Result<Cells> ProductOfCells(const Cells& x, const Cells& y, const Shape& shape);
Result<Cells> FunctionOfCells(std::string_view function, const Cells& x, ConstantTable* constants);
Result<Cells> InverseOfCells(const Cells& x, ConstantTable* constants);
Result<Cells> ClippedCells(double low, double high, const Cells& x, ConstantTable* constants);
Result<Cells> SwishOfCells(const Cells& x, ConstantTable* constants);
Result<Cells> ConstantCells(double value, ConstantTable* constants);  // of one element
// The sum over `count` cells, `step` apart, each times a power of the base: their order counts.
Cell OrderedSum(const Cell* cells, int64_t count, int64_t step);
// Constants that the channels of a tensor share, `inner` elements each.
Result<Cells> PerChannel(const Tensor& value, int64_t inner, const Shape& shape, ConstantTable* constants);
// `bias` may be null.
Result<Cells> WithBias(const Cells& x, const Tensor* bias, int64_t inner, ConstantTable* constants);
CellsMark MarkOfCells(const Cells& x, ConstantTable* constants);

class NameTrace {
 public:
  NameTrace(const Graph& graph, const BlobTable& table, ConstantTable* constants)
      : graph_(graph), table_(table), constants_(constants) {}

  // `given`: cells that stand for a blob whatever computes it, network inputs among them. `keep`: blobs whose cells
  // stay.
  Status Run(const std::map<std::string, Cells>& given, const std::set<std::string>& keep);

  const std::map<std::string, CellsMark>& marks() const { return marks_; }
  const std::map<std::string, Cells>& kept() const { return cells_; }

 private:
  Result<Cells> Of(const std::string& blob);
  Status Step(const Layer& layer, const std::map<std::string, Cells>& given);

  const Graph& graph_;
  const BlobTable& table_;
  ConstantTable* constants_;
  std::map<std::string, Cells> cells_;
  std::map<std::string, CellsMark> marks_;
};

}  // namespace plumb

#endif  // PLUMB_NAMES_TRACE_H_
