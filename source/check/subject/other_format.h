// SPDX-License-Identifier: Apache-2.0
// What differs when a subject ran another file of the same network, in another format: a converter may hold a tensor
// with its axes in another order, and name a tensor before its activation as the other file names what is behind it.
#ifndef PLUMB_CHECK_SUBJECT_OTHER_FORMAT_H_
#define PLUMB_CHECK_SUBJECT_OTHER_FORMAT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plumb/graph.h"

namespace plumb {

// By the suffixes of both; false where one is no model's.
bool AreOfDifferentFormats(const std::string& model, const std::string& other);

// The one order of axes that gives `to` of `from` (axis i is axis order[i]); none where there are several or no such.
std::optional<std::vector<int>> OnlyTurn(const Shape& from, const Shape& to);

// Outputs of activations whose input nothing else reads -> that input, of those that hold what no result can be.
class BeforeActivations {
 public:
  explicit BeforeActivations(const Graph& graph);
  // The activation's input that these values of its output must be; "": none.
  std::string InputOf(const std::string& output, const Tensor& value) const;

 private:
  struct Activation {
    std::string input;
    double low = 0, high = 0;
  };
  std::map<std::string, Activation> activations_;  // by output
};

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_OTHER_FORMAT_H_
