// Lockstep: judges steps one after the other beside the float64 reference, whoever computed them: a network of ours
// (Checker) or a foreign runtime whose tensors stand in files (subject.cc).
//
// What is common to both stands here: replay on the step's own inputs, bound levels, the reference's own run from the
// network input, verdicts. Memory: live blobs only.
#ifndef PLUMB_CHECK_JUDGE_LOCKSTEP_H_
#define PLUMB_CHECK_JUDGE_LOCKSTEP_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "check/cause/alternatives.h"
#include "check/judge/relative_class.h"
#include "check/judge/replay.h"
#include "check/subject/arithmetic.h"
#include "check/subject/fused.h"
#include "plumb/check.h"

namespace plumb {

class Lockstep : public Observer {
 public:
  // What is judged. Graph and blobs outlive the Lockstep.
  struct Scene {
    std::string device, description, precision;
    const Graph* graph = nullptr;
    const BlobTable* blobs = nullptr;
    std::vector<const StepInfo*> steps;  // all that will be shown, in order
    std::function<Result<Tensor>(const std::string& name)>
        output;  // a network output; NotFound: left out of the report
    std::function<Result<Tensor>(const std::string& blob)> earlier;  // any blob that was read or written; may be empty
    std::function<DType(const std::string& blob)> storage;           // of float blobs, of a subject
  };

  explicit Lockstep(CheckOptions options) : options_(std::move(options)) {}

  // `inputs`: the network inputs that the reference's own run starts from and that the device reads; none: nothing is
  // inherited.
  Status Begin(Scene scene, const std::map<std::string, Tensor>& inputs);
  // Only the former: what a subject read may be something else.
  Status NoteWritten(const std::string& blob, const Tensor& value);
  Status SetOwnInputs(const std::map<std::string, Tensor>& inputs);
  bool Wants(const StepInfo&, int) override { return !done_; }
  Status Before(const LayerEvent& event) override;
  Status After(const LayerEvent& event) override;
  Status ForwardEnd(int) override;
  // In place of Before and After: the step has this report already; only the reference's own run goes through it.
  void Skip(const StepInfo& step, Verdict verdict, const std::string& reason);
  Result<RunReport> Finish();

 private:
  // Whether CheckOptions::layers asks for it.
  bool IsNamed(const StepInfo& step) const;
  // A step that is wrong or grey on its own inputs becomes grey when a larger group, computed as one, explains it.
  void ExplainAsFused(const StepInfo& info, LayerReport* layer);
  bool TryFused(const StepInfo& info, const LayerGroup& group, const LayerReport& own, LayerReport* tried,
                std::string* name);
  Result<std::vector<Tensor>> InputsOf(const LayerGroup& group) const;
  void NoteFused();
  // lockstep_products.cc. Whether the step, which is beyond fp32, is not beyond other ways to compute products; then
  // all that would be said of it waits for SettleProducts.
  bool PutOffAsProduct(const StepInfo& info, const LayerReport& layer);
  bool TryProduct(const StepInfo& info, const NumericModel& model, const LayerReport& layer, LayerReport* tried);
  Status SettleProducts();
  Status ExplainPutOff(size_t position);
  // Of a step that is wrong or grey: what explains it.
  void NameCause(const StepInfo& info, LayerReport* layer);
  // The sentences of those of `found` that explain the step.
  std::string CausesAmong(const std::vector<Alternative>& found, const StepInfo& info, const ReplayedStep& step);
  // Adds to the reason of each wrong output what it looks like.
  void DescribeWrong(LayerReport* layer) const;
  // Names an earlier tensor with the same bits, or "".
  std::string EarlierTensor(const std::string& blob, const Tensor& value) const;
  Status HandOverWrong(const LayerReport& layer);
  Status JudgeStep(const LayerEvent& event, LayerReport* layer);
  // Level by level until it is aligned; `own`: level 0 is the reference's own run, too.
  Status JudgeBounded(const StepInfo& step, const Arithmetic& arithmetic, const ReplayExtra& extra, bool own,
                      LayerReport* layer);
  Status JudgeWithStorageNoise(const StepInfo& step, const Arithmetic& arithmetic, ReplayExtra extra,
                               LayerReport* layer);
  Status JudgeOutputs(const StepInfo& step, const std::vector<Tensor>& device, const ReplayResult& replay, int level,
                      LayerReport* layer);
  // Of an aligned step whose operator may be right relatively, too.
  Status NoteRelative(const StepInfo& step, const LayerReport& layer);
  // Of an int8 subject: float inputs that the step rounds itself, weights of unknown scale.
  Status AddInputNoise(const StepInfo& step, ReplayExtra* extra) const;
  // Of inputs that stand rounded in the dump; false: there are none.
  Result<bool> AddStorageNoise(const LayerGroup& group, const std::vector<Tensor>& inputs, ReplayExtra* extra) const;
  Status AddWeightNoise(const LayerGroup& group, ReplayResult* replay) const;
  // Without a bound: values against the replay's, where errors cannot be followed through a group.
  Status JudgeValues(const StepInfo& step, const std::string& why, LayerReport* layer);
  void CompareGolden(const Tensor& device, OutputReport* output) const;
  // The reference's own values of the group's inputs; fewer when an earlier layer could not be replayed: then nothing
  // is inherited from here on.
  std::vector<Tensor> OwnInputs(const LayerGroup& group) const;
  bool SameInputs(const std::vector<Tensor>& own_inputs) const;
  // The reference's own run from the network input.
  Status RunOwn(const LayerGroup& group, const std::vector<Tensor>& inputs);
  void TakeOwn(const LayerGroup& group, const std::vector<Tensor>& values);
  // Drops what nobody will read any more.
  void Release(const StepInfo& step);

  CheckOptions options_;
  Scene scene_;
  bool done_ = false;
  RunReport report_;
  std::map<std::string, int> readers_;
  std::map<std::string, Tensor> own_;  // the reference's own values of live blobs
  // Fingerprints of what was written, and of the same rounded where blobs are stored so.
  std::map<std::string, std::pair<uint64_t, uint64_t>> written_;
  std::map<uint64_t, std::string> seen_;  // which blob had these bits first
  DType storage_ = DType::kF32;           // f16 or bf16 where some blob is stored so
  std::vector<Tensor> inputs_;            // of the current step, widened
  std::vector<Tensor> device_;            // outputs of the current step
  ReplayResult replayed_;                 // what they should be
  bool inputs_finite_ = true;
  std::string changed_;
  int causes_sought_ = 0;
  RelativeClasses relative_;
  // Ways to compute products that are looked for, and by position what was put off because of them.
  struct OtherProducts {
    ProductEvidence evidence;
    std::map<size_t, LayerReport> put_off;
  };
  std::vector<OtherProducts> products_;
  int beyond_fp32_ = 0;  // steps of any kind
  FusedGroups fused_;
  std::map<std::string, int> num_fused_;  // by name
};

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_LOCKSTEP_H_
