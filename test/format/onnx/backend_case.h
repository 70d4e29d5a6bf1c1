// SPDX-License-Identifier: Apache-2.0
// One case of the ONNX backend tests (libonnx-testdata): a model, inputs, and the outputs that must come out.
#ifndef PLUMB_TEST_FORMAT_ONNX_BACKEND_CASE_H_
#define PLUMB_TEST_FORMAT_ONNX_BACKEND_CASE_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/model.h"

namespace plumb {

struct BackendOutcome {
  enum Kind { kPassed, kFailed, kNotSupported };
  Kind kind = kPassed;
  std::string reason;       // one line
  std::string op_type;      // of the case's only node; "several" otherwise
  int bound_inputs = 0;     // network inputs that had to be given as constants
  int layers = 0;           // that the network ran
  bool fallback = false;    // some layer ran on NAIVE
  bool same_dtypes = true;  // every output has the very dtype of the suite's
};

constexpr const char* kBackendData = "/usr/share/libonnx-testdata/data";  // PLUMB_ONNX_DATA names another folder

// The folders of one group ("node", "simple", ...) that hold a model; empty when the package is not installed.
std::vector<std::string> BackendCases(const std::string& group);

// Runs <folder>/model.onnx on the device with every data set. Inputs whose values the importer needs are bound as
// constants. With `round_trip` the model is written as tnnproto and tnnmodel first, and must give the same bits.
BackendOutcome RunBackendCase(const std::string& folder, const std::string& device, bool round_trip);

// A case as a judge of foreign tensors takes it.
struct BackendModel {
  Graph graph;
  ImportRecord record;
  std::map<std::string, Tensor> inputs;  // of the graph, in its dtypes; what was bound as a constant is not among them
  std::vector<std::string> op_types;     // of its nodes
  std::vector<std::string> tensors;      // that its nodes write
};
// With the first data set.
Result<BackendModel> LoadBackendCase(const std::string& folder);
// The same with its inputs as constants, so that its nodes are folded; each f32 output "y" is read by a node that adds
// the network input "add/y" and writes "sum/y". `tensors` are these outputs.
Result<BackendModel> LoadFoldedCase(const std::string& folder);

}  // namespace plumb

#endif  // PLUMB_TEST_FORMAT_ONNX_BACKEND_CASE_H_
