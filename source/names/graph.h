// SPDX-License-Identifier: Apache-2.0
// NameGraph: a graph as far as SuggestNames looks at it: what is computed from what, by which operator, with which
// constants.
#ifndef PLUMB_NAMES_GRAPH_H_
#define PLUMB_NAMES_GRAPH_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "format/onnx/ir.h"

namespace plumb {

// What stays of a constant when its values are put into another order, or padded with zeros.
struct ConstantMark {
  std::string name;
  double count = 0;  // of values that are not zero
  double sum = 0, squares = 0, fourths = 0, least = 0, most = 0;
};

// 0: the same values; below 1e-4 they differ by rounding alone; infinite: others.
double MarkDistance(const ConstantMark& a, const ConstantMark& b);

struct NameNode {
  std::string op;          // operators that do the same have one name
  std::string activation;  // that a fused node ends with
  std::vector<std::string> data, outputs;
  std::vector<ConstantMark> constants;  // of real numbers, in the order of the inputs
  ConstantMark folded;                  // the first of them as the batch norm behind it leaves it
  const NameNode* norm = nullptr;       // that norm
  onnx::AttributeMap attributes;

  // It has weights of its own, which may tell it from all others. An element-wise operator's may be broadcast anyhow.
  bool Weighted() const;
};

struct NameGraph {
  std::vector<NameNode> nodes;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, const NameNode*> writer;
  std::map<std::string, std::vector<const NameNode*>> readers;
  std::set<std::string> foreign;               // tensors in a memory layout of the runtime's own
  std::map<std::string, std::string> same_as;  // tensors that only pass another one on
  std::vector<std::string> tensors;            // as the file names them, in its order

  std::string Canonical(const std::string& name) const;
  // The only node that reads it, null: none or several.
  const NameNode* OnlyReader(const std::string& name) const;
  const NameNode* Writer(const std::string& name) const;
};

struct NameModel {
  onnx::ModelIr ir;
  std::unique_ptr<NameGraph> graph;  // by pointer, since its nodes know one another
};
Result<NameModel> ReadNameModel(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_NAMES_GRAPH_H_
