// SPDX-License-Identifier: Apache-2.0
// Translator: the subgraphs of a .tflite file as the nodes that the ONNX importer turns into a graph.
#ifndef PLUMB_FORMAT_TFLITE_TRANSLATOR_H_
#define PLUMB_FORMAT_TFLITE_TRANSLATOR_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/onnx/ir.h"
#include "format/tflite/graph_writer.h"

namespace plumb::tflite {

class OpContext;

struct Translated {
  onnx::ModelIr model;
  std::map<std::string, int> held_first;  // tensors whose blobs have their channels first, and their rank
};

class Translator {
 public:
  Translator(const ModelFile& file, bool skip_weights) : file_(file) {
    constexpr uint64_t kTimes = 64, kLeast = uint64_t{1} << 20;  // integers of 4 bits take 16 times their place
    budget_.bytes = kTimes * (file.size() + kLeast);
    budget_.skip_weights = skip_weights;
  }

  // That subgraph. All operators that cannot be expressed are named in one Status.
  Result<Translated> Run(size_t graph);

  const ModelFile& file() const { return file_; }
  // Translates a subgraph's operators in order into the writer.
  Status Operators(GraphWriter* writer);
  // Another subgraph, whose inputs are those values of the one around it.
  Result<onnx::GraphIr> Inner(size_t graph, const std::string& prefix, const std::vector<std::string>& inputs);
  Status CheckGraphIndex(int64_t index) const;

  // Variables by name: the value that was written last. Handles: which variable a tensor of a subgraph stands for.
  std::map<std::string, std::string>& variables() { return variables_; }
  std::map<std::pair<const GraphWriter*, int>, std::string>& handles() { return handles_; }
  // Complex tensors: the names of their real and imaginary parts.
  std::map<std::pair<const GraphWriter*, int>, std::pair<std::string, std::string>>& complex() { return complex_; }
  // Those of the operator's first input.
  Result<std::pair<std::string, std::string>> ComplexPartsOf(OpContext& c) const;
  // The variable whose handle is the operator's first input.
  Result<std::string> VariableOf(OpContext& c) const;
  // While one lives, what is translated may not run, or run again.
  class Branch {
   public:
    explicit Branch(Translator* translator) : translator_(*translator) { ++translator_.branches_; }
    Branch(const Branch&) = delete;
    Branch& operator=(const Branch&) = delete;
    ~Branch() { --translator_.branches_; }

   private:
    Translator& translator_;
  };
  bool in_branch() const { return branches_ > 0; }

 private:
  Status Operator(const schema::Operator& op, size_t index, GraphWriter* writer);

  const ModelFile& file_;
  WritingBudget budget_;
  int depth_ = 0;
  std::map<std::string, int> unknown_;  // operators without a row, and how often
  std::map<std::string, std::string> variables_;
  std::map<std::pair<const GraphWriter*, int>, std::string> handles_;
  std::map<std::pair<const GraphWriter*, int>, std::pair<std::string, std::string>> complex_;
  int branches_ = 0;
};

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_TRANSLATOR_H_
