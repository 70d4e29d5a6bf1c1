// What model_check takes from other runtimes: --subject (what is judged) and --golden (what is taken as right), their
// names, shapes and layout, and the network inputs among -i, golden and subject.
#ifndef PLUMB_TOOLS_FOREIGN_H_
#define PLUMB_TOOLS_FOREIGN_H_

#include <memory>
#include <string>
#include <vector>

#include "check/survey.h"
#include "common/inputs.h"
#include "common/model_options.h"
#include "plumb/report.h"

namespace plumb {

struct ForeignOptions {
  std::string subject, golden;
  std::string names, golden_names;
  bool pair_by_order = false;
  std::string layout, arithmetic;
  std::vector<std::string> tensors;  // of raw files: NAME=1,3,224,224 or NAME=i32:1,10

  void AddTo(CommandLine* command_line);
  bool any() const { return !subject.empty() || !golden.empty(); }
};

class Foreign {
 public:
  explicit Foreign(const ForeignOptions& options) : options_(options) {}

  // Opens the subject, and the golden unless it is to be made (wants_onnxruntime). InvalidArgument: an option that is
  // not understood.
  Status Open();
  bool wants_onnxruntime() const { return options_.golden == "onnxruntime"; }
  Status OpenGolden(const std::string& path);
  // The shapes of all tensors of both sets under the model's names, for inputs that the model leaves open.
  Result<std::map<std::string, Shape>> TensorShapes() const;
  // InvalidArgument when golden or subject is of another model: no tensor but network inputs has a name of this one.
  Status CheckSameModel(const Graph& graph) const;
  // The input shapes that golden or subject ran at, where they are not the graph's. InvalidArgument when the two, or
  // `given` (from --shape), say different ones: the sentence names both and what to run again.
  Result<std::map<std::string, Shape>> InputShapes(const Graph& graph, const std::map<std::string, Shape>& given) const;
  // InvalidArgument when golden or subject ran with another value of a network input that is a constant here.
  Status CheckConstants(const std::map<std::string, Tensor>& constants) const;
  // Pairs the sets' tensors with the graph's blobs and reads each once.
  Status Pair(const Graph& graph, const BlobTable& blobs);
  // The network inputs: of -i when `given` has them; else the golden's; else the subject's; else those of `generate`
  // when a device needs them. Fills the matches between all sources that were given.
  Result<NetworkInputs> Inputs(const Graph& graph, const NetworkInputs* given,
                               const std::function<Result<NetworkInputs>()>& generate, bool device_needs_them,
                               std::vector<InputMatch>* matches) const;

  const PairedBlobs* subject() const { return subject_.get(); }
  const PairedBlobs* golden() const { return golden_.get(); }

  Result<RunReport> JudgeSubject(const Graph& graph, const NetworkInputs& inputs, CheckOptions check) const;
  Result<RunReport> JudgeGolden(const Graph& graph, const NetworkInputs& inputs, CheckOptions check) const;
  // Tells each step of `run` how the golden's own run judged its layers.
  static void AddConversion(const RunReport& golden, RunReport* run);

 private:
  struct Side {
    std::string what;
    const TensorSet* set;
    const PairedBlobs* blobs;
    const NameOptions* names;
  };
  std::vector<Side> Sides() const;
  Result<Shape> ShapeOf(const Side& side, const GraphInput& input, bool* found) const;
  Result<RunReport> Check(const Graph& graph, const PairedBlobs& blobs, const std::string& device,
                          const std::string& reproduce, const NetworkInputs& inputs, CheckOptions check) const;

  const ForeignOptions& options_;
  std::map<std::string, std::string> names_;
  TensorSetOptions open_;
  SubjectArithmetic arithmetic_ = SubjectArithmetic::kFp32;  // as declared
  NameOptions subject_names_, golden_names_;
  std::unique_ptr<TensorSet> subject_set_, golden_set_;
  std::unique_ptr<PairedBlobs> subject_, golden_;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_FOREIGN_H_
