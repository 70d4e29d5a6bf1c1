// SPDX-License-Identifier: Apache-2.0
// Names for tensors of a graph that was renamed and fused: which tensor of another file holds the same values as which
// tensor of the model. Found by structure: formulas, weights, and who reads and writes what. Nothing is run unless
// SuggestOptions says so.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(const plumb::NameSuggestions found, plumb::SuggestNames("net.onnx", "optimised.onnx"));
//   std::fputs(plumb::FormatNamesCsv(found).c_str(), stdout);  // for --names, once somebody has looked at it
//
// Threading: free functions without shared state.
#ifndef PLUMB_SUGGEST_H_
#define PLUMB_SUGGEST_H_

#include <string>
#include <vector>

#include "plumb/status.h"

namespace plumb {

struct SuggestedName {
  std::string model, other;
  std::string because;    // "the same formula", "made with the weights 'conv1.weight'", "by value"
  bool by_value = false;  // nothing but equal values says so
};

// The last resort, for what structure leaves: a pair is what fits one tensor of the other side alone, and the other way
// round. Constant, all-zero and tiny tensors never fit.
struct SuggestOptions {
  bool by_value = false;                   // run both graphs on two drawn inputs (NAIVE)
  std::string model_values, other_values;  // dumps of one run on one input, instead; both or none
};

struct NameSuggestions {
  std::string model, other;          // the files
  std::vector<SuggestedName> pairs;  // in the order of the other graph
  std::vector<std::string> left;     // tensors of the other graph without a partner
  bool values = false;               // were looked at
  std::string untraced;              // why the graphs could not be traced, which leaves fewer pairs; "": they were
};

// Both are .onnx or .tflite files. Tensors in a memory layout of a runtime's own (ONNX Runtime's NCHWc) are no
// candidates. The errors of reading the files; InvalidArgument for another format, and for graphs that are to be run
// and cannot.
Result<NameSuggestions> SuggestNames(const std::string& model, const std::string& other,
                                     const SuggestOptions& options = {});

std::string FormatNamesText(const NameSuggestions& found, bool all, size_t width);
std::string FormatNamesSummary(const NameSuggestions& found);  // its last sentence
// Two columns, and the reason of each row in a line of its own that begins with '#'; pairs of one name are left out.
// A tensor of the model has one row: further ones that only pass it on are comments.
std::string FormatNamesCsv(const NameSuggestions& found);

}  // namespace plumb

#endif  // PLUMB_SUGGEST_H_
