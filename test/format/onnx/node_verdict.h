// SPDX-License-Identifier: Apache-2.0
// A healthy subject of an imported ONNX model: NAIVE's own run, under the names of the ONNX tensors only.
#ifndef PLUMB_TEST_FORMAT_ONNX_NODE_VERDICT_H_
#define PLUMB_TEST_FORMAT_ONNX_NODE_VERDICT_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/plumb.h"
#include "util/spoilt.h"
#include "util/stored_blobs.h"

namespace plumb {

// Everything that a network reads and writes, by blob.
class Recorder : public Observer {
 public:
  Status Before(const LayerEvent& event) override {
    for (size_t i = 0; i < event.step().inputs.size(); ++i) {
      if (event.step().inputs[i].constant) continue;
      PLUMB_ASSIGN_OR_RETURN(blobs[event.step().inputs[i].blob], event.Input(i));
    }
    return Status::Ok();
  }
  Status After(const LayerEvent& event) override {
    for (size_t i = 0; i < event.step().outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(blobs[event.step().outputs[i].blob], event.Output(i));
    }
    return Status::Ok();
  }
  std::map<std::string, Tensor> blobs;
};

inline Result<Stored> NaiveSubject(const Graph& graph, const std::map<std::string, Tensor>& inputs,
                                   const std::vector<std::string>& tensors) {
  NetworkOptions options;
  options.num_threads = 1;
  PLUMB_ASSIGN_OR_RETURN(const auto network, CreateNetwork(std::make_shared<const Graph>(graph), "NAIVE", options));
  const auto recorder = std::make_shared<Recorder>();
  network->AddObserver(recorder);
  for (const auto& [name, value] : inputs) PLUMB_RETURN_IF_ERROR(network->SetInput(name, value));
  PLUMB_RETURN_IF_ERROR(network->Forward());
  Stored subject{inputs};
  for (const std::string& name : tensors) {
    const auto it = recorder->blobs.find(name);
    if (it != recorder->blobs.end()) subject.blobs.insert(*it);
  }
  return subject;
}

inline Result<RunReport> JudgeSubject(const Graph& graph, const ImportRecord& record, const Stored& subject,
                                      const std::map<std::string, Tensor>& inputs) {
  SubjectOptions options;
  options.check.record = &record;
  for (const auto& [name, value] : inputs) options.input_shapes[name] = value.shape();
  return CheckSubjectBlobs(graph, subject, inputs, options);
}

}  // namespace plumb

#endif  // PLUMB_TEST_FORMAT_ONNX_NODE_VERDICT_H_
