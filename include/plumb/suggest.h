// SPDX-License-Identifier: Apache-2.0
// Names for tensors of a graph that was renamed and fused: which tensor of another file holds the same values as which
// tensor of the model. Found by structure alone: weights, and who reads and writes what. Nothing is run.
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
  std::string because;  // "reads the weights 'conv1.weight' next", "Relu of a pair"
};

struct NameSuggestions {
  std::string model, other;          // the files
  std::vector<SuggestedName> pairs;  // in the order of the other graph
  std::vector<std::string> left;     // tensors of the other graph without a partner
  std::string untraced;              // why the graphs could not be traced, which leaves fewer pairs; "": they were
};

// Both are .onnx or .tflite files. Tensors in a memory layout of a runtime's own (ONNX Runtime's NCHWc) are no
// candidates. The errors of reading the files; InvalidArgument for another format.
Result<NameSuggestions> SuggestNames(const std::string& model, const std::string& other);

std::string FormatNamesText(const NameSuggestions& found, bool all, size_t width);
std::string FormatNamesSummary(const NameSuggestions& found);  // its last sentence
// Two columns, and the reason of each row in a line of its own that begins with '#'; pairs of one name are left out.
// A tensor of the model has one row: further ones that only pass it on are comments.
std::string FormatNamesCsv(const NameSuggestions& found);

}  // namespace plumb

#endif  // PLUMB_SUGGEST_H_
