// SPDX-License-Identifier: Apache-2.0
// A part of a model, on values that its inputs had, that becomes smaller and smaller: of an ONNX file as an ONNX file,
// else as a graph.
#ifndef PLUMB_SESSION_CASE_MODEL_H_
#define PLUMB_SESSION_CASE_MODEL_H_

#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "format/onnx/small_model.h"
#include "graph/model_size.h"
#include "plumb/model.h"
#include "plumb/tensor_file.h"

namespace plumb {

// A size of the model, or dim `at` of the input `name`.
struct CaseSize {
  bool input = false;
  ModelSize of;
};

class CaseModel {
 public:
  // The layers (positions in the graph) as a model of their own. `values` has what they read from outside. Outputs are
  // the blobs that others read, and `shown`. NotSupported where an ONNX file has no such part.
  static Result<CaseModel> Make(const ModelFiles& files, const Graph& graph, const std::set<int>& layers,
                                const std::map<std::string, Tensor>& values, const std::set<std::string>& shown,
                                const std::string& work);
  // The blobs that such a part reads from outside, constants left out.
  static std::vector<std::string> InputsOf(const Graph& graph, const std::set<int>& layers);

  std::vector<CaseSize> Sizes() const;
  Status Cut(const CaseSize& size, int64_t begin, int64_t end);
  // model.onnx, or model.tnnproto and model.tnnmodel, in the folder, and inputs.npz. The model's path.
  Result<std::string> Write(const std::string& folder) const;
  // Whether it fits together.
  Status CheckSizes(const std::string& folder) const;

  const std::vector<NamedTensor>& inputs() const { return inputs_; }
  bool is_onnx() const { return std::holds_alternative<onnx::SmallModel>(model_); }

 private:
  std::variant<Graph, onnx::SmallModel> model_;
  std::vector<NamedTensor> inputs_;
};

}  // namespace plumb

#endif  // PLUMB_SESSION_CASE_MODEL_H_
