// SPDX-License-Identifier: Apache-2.0
// A session: one model, its inputs, and what is judged on them: devices of ours, another runtime's tensors (the
// subject), and the framework that the model comes from (the golden). It is what model_check does, without its options
// and its printing.
//
// Example:
//   plumb::SessionOptions options;
//   options.subject.path = "their_dump";
//   options.golden.path = "golden";  // or options.run_onnxruntime = true, or run_litert
//   PLUMB_ASSIGN_OR_RETURN(const auto session, plumb::Session::Open("net.tnnproto", options));
//   PLUMB_ASSIGN_OR_RETURN(const plumb::RunReport golden, session->JudgeGolden());    // is the conversion right?
//   PLUMB_ASSIGN_OR_RETURN(const plumb::RunReport theirs, session->JudgeSubject());   // is their runtime?
//   PLUMB_ASSIGN_OR_RETURN(const plumb::RunReport ours, session->CheckDevice("X86"));
//   for (const auto* run : {&golden, &theirs, &ours}) {
//     std::puts(plumb::FormatSummary(session->Describe(), *run).c_str());
//   }
//
// Errors name fields of these structures and values, each in one sentence.
// Ownership: the session owns everything; what it returns by reference lives as long as it does.
// Threading: a session serves one thread at a time; several sessions may be open.
#ifndef PLUMB_SESSION_H_
#define PLUMB_SESSION_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plumb/golden.h"
#include "plumb/inputs.h"
#include "plumb/model.h"
#include "plumb/network.h"
#include "plumb/report.h"
#include "plumb/subject.h"

namespace plumb {

struct SessionOptions {
  LoadOptions load;  // the evaluator is ReferenceEvaluator() where none is set
  InputOptions inputs;
  TensorSource subject;
  TensorSource golden;
  // Makes the golden now (GoldenRun), on the very inputs that are used; the model is an .onnx.
  bool run_onnxruntime = false;
  bool run_litert = false;                      // the same in LiteRT; the model is a .tflite
  std::string python;                           // GoldenOptions::python
  PairingOptions pairing;                       // of subject and golden
  std::optional<SubjectArithmetic> arithmetic;  // of the subject and the golden; nothing: found once for the whole set
  // With a subject: devices will be checked, too, so that every network input is needed. Without: inputs that nobody
  // has stay unknown, and the layers behind them are not tested.
  bool checks_devices = false;
};

class Session {
 public:
  // Without a model (an empty path) the subject is a dump that carries its own graph (doc/subjects.md, "A runtime
  // without a model file"), and is judged alone; NotFound when it carries none.
  // Opens subject and golden, loads the model at the size that they ran at (unless LoadOptions::input_shapes says
  // otherwise), pairs their tensors with its blobs, and takes the network inputs from InputOptions; else from the
  // golden; else from the subject; else they are generated. Errors: those of loading and reading; InvalidArgument,
  // naming both sides, for tensors of another model or size, for another value of a constant, for inputs that only some
  // sources have.
  static Result<std::unique_ptr<Session>> Open(const ModelFiles& model,
                                               const SessionOptions& options = SessionOptions());
  static Result<std::unique_ptr<Session>> Open(const std::string& model,
                                               const SessionOptions& options = SessionOptions());
  ~Session();

  const std::shared_ptr<const Graph>& graph() const;
  // Of an imported model the operators of its file; else null.
  const std::shared_ptr<const FileNodes>& file_nodes() const;
  const NetworkInputs& inputs() const;
  // Every pair of sources that both have a network input: where they differ, the runs did not see the same data.
  const std::vector<InputMatch>& input_matches() const;
  // The paired tensors, or null.
  const BlobSource* subject() const;
  const BlobSource* golden() const;

  // Each layer whose tensors are there, replayed by the reference on the subject's own inputs. RunReport::judged_as has
  // layout and arithmetic, ::notes how they came to be known. REQUIRES: there is a subject (golden); else
  // InvalidArgument.
  Result<RunReport> JudgeSubject(CheckOptions check = {});
  // The same for the golden, which is the conversion's trial: where it is wrong, the model here is another than the
  // original. Reports made after it say so of each layer (GoldenReport::conversion).
  Result<RunReport> JudgeGolden(CheckOptions check = {});
  // Prepares the model on the device (CreateNetwork), runs it on inputs() and judges every layer; with the golden
  // beside it.
  Result<RunReport> CheckDevice(const std::string& device, const NetworkOptions& network = {}, CheckOptions check = {});
  // The same on a network that the caller prepared of graph() (with observers of its own, say) and on the caller's
  // inputs. `outputs`, where it is not null, gets the network outputs.
  Result<RunReport> CheckNetwork(Network* network, const std::map<std::string, Tensor>& inputs, CheckOptions check = {},
                                 std::map<std::string, Tensor>* outputs = nullptr);

  // What was checked, for FormatText, FormatSummary and CheckResult::subject. `reproduce` is the caller's.
  CheckedModel Describe() const;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumb

#endif  // PLUMB_SESSION_H_
