// SPDX-License-Identifier: Apache-2.0
// What a session takes from other runtimes: the subject (what is judged) and the golden (what is taken as right), their
// names, shapes and layout, and the network inputs among what is given, golden and subject.
#ifndef PLUMB_SESSION_FOREIGN_H_
#define PLUMB_SESSION_FOREIGN_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check/subject/paired_blobs.h"
#include "plumb/inputs.h"
#include "plumb/report.h"
#include "plumb/subject.h"

namespace plumb {

class Foreign {
 public:
  // `expects_both`: PairingOptions::names may be of either.
  Foreign(PairingOptions options, bool expects_both) : options_(std::move(options)), expects_both_(expects_both) {
    subject_names_.by_order = golden_names_.by_order = options_.by_order;
  }

  Status OpenSubject(const TensorSource& source);
  Status OpenGolden(const TensorSource& source);
  // The shapes of all inputs of both sets under the model's names, for inputs that the model leaves open.
  Result<std::map<std::string, Shape>> TensorShapes() const;
  // InvalidArgument when golden or subject is of another model: no tensor but network inputs has a name of this one.
  Status CheckSameModel(const Graph& graph) const;
  // The input shapes that golden or subject ran at, where they are not the graph's. InvalidArgument when the two, or
  // `given`, say different ones: the sentence names both and what to run again.
  Result<std::map<std::string, Shape>> InputShapes(const Graph& graph, const std::map<std::string, Shape>& given) const;
  // InvalidArgument when golden or subject ran with another value of a network input that is a constant here.
  Status CheckConstants(const std::map<std::string, Tensor>& constants) const;
  // Pairs the sets' tensors with the graph's blobs and reads each once; what is paired already stays.
  Status Pair(const Graph& graph, const BlobTable& blobs, const ImportRecord& record);
  // The network inputs: `given` when it is not null; else the golden's; else the subject's; else those of `generate`
  // when all are needed. Fills the matches between all sources that were given.
  Result<NetworkInputs> Inputs(const Graph& graph, const NetworkInputs* given, const std::string& given_name,
                               const std::function<Result<NetworkInputs>()>& generate, bool needs_all,
                               std::vector<InputMatch>* matches) const;

  const PairedBlobs* subject() const { return subject_.get(); }
  const PairedBlobs* golden() const { return golden_.get(); }

 private:
  struct Side {
    std::string what;
    const TensorSet* set;
    const PairedBlobs* blobs;
    const NameOptions* names;
  };
  struct Source {
    std::string what;
    Tensor value;
  };
  Result<TensorSet> OpenSet(const TensorSource& source) const;
  std::vector<Side> Sides() const;
  Result<Shape> ShapeOf(const Side& side, const GraphInput& input, bool* found) const;
  Result<std::vector<Source>> SourcesOf(const GraphInput& input, const NetworkInputs* given,
                                        const std::string& given_name) const;

  PairingOptions options_;
  bool expects_both_;
  NameOptions subject_names_, golden_names_;
  std::unique_ptr<TensorSet> subject_set_, golden_set_;
  std::unique_ptr<PairedBlobs> subject_, golden_;
};

}  // namespace plumb

#endif  // PLUMB_SESSION_FOREIGN_H_
