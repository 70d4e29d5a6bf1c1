// SPDX-License-Identifier: Apache-2.0
// The checker: runs a network on a device in lockstep with the float64 reference and judges every layer.
//
// Each step (layer or fused group) is replayed by the reference on the device's own inputs. What the device then
// differs by is the error that this step INTRODUCED; it is judged against the rounding error to be expected of this
// operator on these values (doc/check.md, "The rule"). What the step INHERITED is the replay minus the reference's own
// run from the network input; the two add up to the total.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, plumb::LoadModel("net.tnnproto"));
//   PLUMB_ASSIGN_OR_RETURN(auto network, plumb::CreateNetwork(std::move(graph), "X86"));
//   PLUMB_RETURN_IF_ERROR(network->SetInput("input", image));
//   plumb::Checker checker;
//   PLUMB_RETURN_IF_ERROR(checker.Attach(network.get(), {{"input", image}}));
//   PLUMB_RETURN_IF_ERROR(network->Forward());
//   PLUMB_ASSIGN_OR_RETURN(const plumb::RunReport report, checker.Finish());
//   if (report.first_wrong >= 0) std::puts(report.layers[report.first_wrong].step.name.c_str());
#ifndef PLUMB_CHECK_H_
#define PLUMB_CHECK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plumb/network.h"
#include "plumb/observer.h"
#include "plumb/picture.h"

namespace plumb {

// What a dump says of other runs on the same input. Whether being watched changed what a foreign runtime computed: each
// network output beside the same output of a run that exposed nothing else (`plumb-golden --prove-probe`). And whether
// it computes every tensor again: in a fresh session, as a later run, with other threads, as part of a batch (--runs,
// --threads, --batch). doc/dump_format.md, "probe" and "repeats".
enum class ProbeResult { kSameBits, kWithinRounding, kDifferent };

// "same bits", "within rounding", "different".
const char* ProbeResultName(ProbeResult result);

struct ProbedOutput {
  std::string blob;
  ProbeResult result = ProbeResult::kSameBits;
  double relative = 0;  // the largest difference over the largest value; NaN where there is none
  std::string reason;   // of a difference
};

// Every tensor once more, run otherwise.
struct RepeatedRun {
  std::string how;  // "later runs of one session", "4 threads"
  int64_t runs = 1, tensors = 0, changed = 0;
  ProbeResult result = ProbeResult::kSameBits;  // the worst of its tensors
  std::string first;                            // the first blob that changes; where one is different: of these
  std::string first_type;                       // its operator's, or empty
  double relative = 0;                          // as above, of the first
  std::string reason;                           // of a difference

  // "repeated: with 4 threads 12 of 126 tensors change, within rounding; the first: 'conv1' (Conv), by 1.2e-07 ..."
  std::string Describe() const;
};

struct Probe {
  std::string unwatched;              // how the other run was made: "its default delegates"
  std::vector<ProbedOutput> outputs;  // empty: nobody asked
  std::vector<RepeatedRun> repeats;   // likewise

  // "probe: run unwatched (its default delegates), 1 of 2 outputs has the same bits; 'prob' differs within rounding, by
  // 1.2e-07 of its largest value", and where an output is another result that what is judged is not what runs.
  std::string Describe() const;
};

enum class Verdict { kAligned, kNotTested, kGrey, kWrong };

// "aligned", "not tested", "grey", "wrong".
const char* VerdictName(Verdict verdict);

// Classic metrics of a difference a - b over one tensor; both sides' extremes.
struct DiffMetrics {
  int64_t count = 0;
  double max_abs = 0;
  double max_rel = 0;  // |a - b| / |b| where b != 0
  double cosine = 1;   // 1 when both are zero
  double snr_db = 0;   // 10 log10(sum b^2 / sum (a-b)^2); infinite when equal
  double max_ulp = 0;  // in units in the last place of b in f32
  int64_t worst = -1;  // element of max_abs; -1: all equal
  double worst_a = 0, worst_b = 0;
  int64_t nan_a = 0, inf_a = 0, nan_b = 0, inf_b = 0;
};

// The golden's tensor of a blob beside NAIVE's own run and the device: where conversion and kernel part.
struct GoldenReport {
  bool compared = false;  // false: the golden has not this blob, or in another shape (reason)
  std::string reason;
  Verdict conversion = Verdict::kNotTested;  // the step's layers as the golden computed them, judged like a device
  DiffMetrics naive;                         // NAIVE's own run - golden
  DiffMetrics device;                        // device - golden
};

// How one output blob of a step was judged.
struct OutputReport {
  std::string blob;
  int slot = 0;
  DType dtype = DType::kF32;
  Shape shape;
  std::string layout;
  Verdict verdict = Verdict::kNotTested;
  std::string reason;         // why not tested, or what is wrong beyond the numbers
  double excess = 0;          // E = max |introduced| / tau
  double rms_excess = 0;      // R = rms(8 introduced / tau)
  double channel_excess = 0;  // the largest R of one channel with at least 64 values
  double slope = 0;           // b of the slope test; 0 where it does not apply
  double slope_z = 0;
  // Of what is stored in 16 bits or on a grid, in units of the storage: by how much the values lie on one side of what
  // rounding to nearest gives, on average, and how sure that is; negative: towards zero, or down.
  double bias = 0, bias_z = 0;
  std::string one_sided;  // how they were rounded to one side: "stored by truncation: ..."; "": they were not
  // Of integers that a step quantises: the rule that they follow to the last one; "": none.
  std::string rule;
  double smallest_fault = 0;                    // the smallest relative gain error that this check could have seen
  int level = 0;                                // of the bound that was needed
  DiffMetrics introduced;                       // device - replay
  DiffMetrics inherited;                        // replay - reference's own run
  DiffMetrics total;                            // device - reference's own run
  GoldenReport golden;                          // when there is a golden
  std::shared_ptr<const ErrorPicture> picture;  // CheckOptions::picture_cells; null: none was asked for
};

struct LayerReport {
  StepInfo step;
  Verdict verdict = Verdict::kNotTested;
  std::string reason;
  std::string cause;  // of a wrong or grey layer what explains it: "computed as tanh-GELU; the graph says erf-GELU"
  std::vector<OutputReport> outputs;
  double device_seconds = 0;
  int64_t values = 0;        // that the step writes
  double multiply_adds = 0;  // that it takes: CountOperations / 2

  // The output that decided: the worst verdict, then the largest excess. Null for a layer without outputs.
  const OutputReport* Worst() const;
};

// What the errors that a layer introduces do to a network output: the remaining network is computed by the reference,
// once behind what the device made of the layer, once behind what it should be (check/walk/answer_effects.h).
struct LayerEffect {
  StepInfo step;       // which may be none of RunReport::layers: KeepNamedLayers drops reports
  double share = 0;    // of the output's whole error, signed: errors may cancel, and shares exceed 1
  double max_abs = 0;  // the largest difference that it makes
  double margin = 0;   // of scores whose top-1 changed: by how much it moves the two against each other
  // The answer with this layer as it should be, and the rest run again: by the device, or from there on the reference.
  bool healed_by_device = false;
  double left = 0;           // the error that is then left over, as a part of the whole (both by their squares' sums)
  int64_t top1_healed = -1;  // of scores; -1: no scores
};

struct OutputEffect {
  std::vector<LayerEffect> layers;  // wrong ones, the largest share first; empty: nothing is known
  double others = 0;                // the share of all other layers: with the above the shares add up to 1
  double others_max_abs = 0;
  int others_wrong = 0;  // how many of them are wrong, too
  double max_abs = 0;    // of the whole error
  // Of scores whose top-1 changed: how far the reference's top-1 leads the device's there, and how far the whole error
  // moved the two against each other, at least as much.
  double margin = 0, moved = 0, others_margin = 0;
  int64_t top1_without = -1;  // of scores, without what all these layers do; -1: no scores
};

// A layer that is wrong, and of how many choices it is why they are not the reference's.
struct ChoiceCause {
  StepInfo step;
  int64_t choices = 0;
};

// A step that chooses among scores (TopK, ArgMax, Hardmax: a router, say) beside the reference's own run
// (check/walk/choices.h). What changed is the sum of the four reasons, unless it is too much to follow all of it.
struct ChoiceReport {
  StepInfo step;
  int64_t choices = 0, changed = 0;  // of one element, or of the k best, in whatever order
  int64_t by_rounding = 0;           // the margin is within what rounding may move the scores
  int64_t following = 0;             // the reference chooses the same behind the device's earlier choices
  std::vector<ChoiceCause> layers;   // wrong ones, those with most choices first
  int64_t unexplained = 0;           // moved by more than rounding, and by no wrong layer that is followed
  // Of the choice by rounding with the largest: the reference's lead of what it chose over what the device did, and by
  // how much rounding may move the two against each other.
  double margin = 0, reach = 0;
};

// A network output on both sides.
struct OutputSummary {
  std::string name;
  Tensor device;                     // as downloaded
  std::optional<DType> model_dtype;  // where the model says another one (Graph::model_dtypes)
  Tensor reference;                  // f64 (or the integer dtype)
  OutputEffect effect;
};

// How much of a run was compared.
struct Coverage {
  int steps = 0, all_steps = 0;
  int64_t values = 0, all_values = 0;
  double multiply_adds = 0, all_multiply_adds = 0;  // of the steps that were tested, and of all
  int outputs = 0, all_outputs = 0;                 // network outputs that a step computes
  std::string first_missing_output;                 // of those that were not compared
};

// How a foreign runtime computed, as a whole (doc/check.md).
enum class SubjectArithmetic {
  kFp32,
  kWinograd,
  kTf32,
  kFp16,
  kBf16,
  kChainedF16,
  kChainedBf16,
  kStoredF16,
  kStoredBf16,
  kF16Products,
  kBf16Products,
  kNarrowProducts,
  kInt8
};

// What steps of a foreign runtime were computed with, or stored in, in place of f32, each part for itself.
struct ComputedAs {
  std::string what;                     // "int8 weights", "bf16 operands", "f16 sums"; of a whole run "fp16"
  std::vector<std::string> precisions;  // "int8", "bf16"; several where operands and weights differ
  std::string type;                     // of which operator; empty: of the run's results
  int steps = 0, of = 0;                // so many of so many
  bool declared = false;                // by SessionOptions::arithmetic; else found by the values
  // "int8 weights in 12 of 12 Convolution (found)"
  std::string Describe() const;
};

struct RunReport {
  std::string device;
  std::string device_description;
  std::string precision;  // that the network ran with: "HIGH"; empty: not a device of ours
  bool direct = false;    // NetworkOptions::direct
  Verdict verdict =
      Verdict::kNotTested;     // the worst; kNotTested where too little was compared (CheckOptions::min_tested)
  std::string why_not_tested;  // "2 of 126 steps were compared, fewer than 50 %"; empty otherwise
  Coverage coverage;
  std::vector<LayerReport> layers;  // in execution order
  int first_wrong = -1;             // position in layers, or -1
  std::vector<OutputSummary> outputs;
  std::vector<ChoiceReport> choices;  // of steps that choose, in execution order; with CheckOptions::inherited
  int Count(Verdict verdict) const;
  bool only_named_layers = false;  // CheckOptions::layers was given: the coverage is of those alone
  bool is_golden = false;          // this run judges the golden itself: conversion, not kernels
  bool has_golden = false;         // CheckOptions::golden was given
  std::vector<std::string> notes;  // what the verdict rests on beyond the rule: a subject's layout, arithmetic, pairing
  // With CheckOptions::find_products: how the subject computed its sums of products where that is not fp32's way, and
  // what says so.
  SubjectArithmetic found_arithmetic = SubjectArithmetic::kFp32;
  std::string found_because;
  std::vector<ComputedAs> computed_as;  // of a subject: what of it was not f32; empty: nothing
  // Of a subject: the precisions that its model or its dump itself says, in which it is expected to be computed.
  std::vector<std::string> own_precisions;
  std::string judged_as;            // "NCHW, fp32+winograd": a subject's layout and arithmetic; empty for devices
  Probe probe;                      // of a subject whose dump says it
  std::string reproduce;            // "--subject DIR" in place of "-d X86"; empty: -d and the device
  size_t peak_reference_bytes = 0;  // live blobs that the checker held at most
};

class BlobSource;
struct ImportRecord;  // plumb/model.h

// How the weights of an int8 subject were rounded: to whole steps of the range of each output channel, or of the
// tensor.
struct Int8Weights {
  bool per_channel = true;
  bool zero_point = false;  // from the smallest to the largest weight, one of the steps zero; else from zero to max|w|
  double steps = 127;       // 0: unknown, counted as noise of half a step of 127 per tensor
  bool int32_bias = false;  // the bias, too: to the input's step times the weights'
};

// Int8Weights() of those that are in neither.
struct Int8WeightsOf {
  std::map<std::string, Int8Weights> operators;  // "Convolution"
  std::map<int, Int8Weights> layers;  // by index: single ones whose weights are another kind than their like's
};

// One step with all that it was judged by; tensors in the order of the step's ports.
struct StepCase {
  const LayerReport& report;
  const std::vector<const Layer*>& layers;  // the step's members
  const std::vector<Tensor>& inputs;        // as the device read them, constants included; floats in f64
  const std::vector<Tensor>& device;        // outputs
  const std::vector<Tensor>& reference;     // what they should be: f64, or the integer dtype
  const std::vector<Tensor>& tau;           // f64; empty: no bound is known
};

struct CheckOptions {
  SubjectArithmetic arithmetic = SubjectArithmetic::kFp32;
  Int8WeightsOf int8_weights;  // of kInt8
  // Of kFp32: sums of products beyond it are judged as Winograd's algorithm and as of operands of fewer bits, too, and
  // the run as what they say.
  bool find_products = false;
  // Of these, products of 16 bits need no others like them: the subject says that it ran with less than HIGH precision.
  bool may_be_half = false;
  // The share of steps, of values and of multiply-adds that must each be compared for a verdict other than "not tested"
  // (or "wrong"); every network output must be compared, too, unless it is 0.
  double min_tested = 0.5;
  // Names or indexes of layers: only the steps that hold one of them are judged, on their own device inputs; nothing is
  // inherited then. InvalidArgument for one that no step holds. Empty: every step.
  std::vector<std::string> layers;
  bool inherited = true;  // also run the reference from the network input (twice the reference's work)
  bool causes = true;     // also look for what a layer that is wrong or grey computes instead
  // Draws each output's errors (OutputReport::picture), in maps of so many cells along an axis at most; 0: none.
  int picture_cells = 0;
  // Of a subject whose model is an ONNX file: what LoadOptions::record was filled with; outlives the check. Without it
  // a node that was imported as several layers is judged as these, and constants that the model computes are not
  // judged.
  const ImportRecord* record = nullptr;
  const BlobSource* golden = nullptr;  // outputs are compared with its tensors, too; outlives the check
  // Called with both sides (device, replay) of every output that is wrong; may be empty. Its error makes Forward fail.
  std::function<Status(const std::string& blob, const Tensor& device, const Tensor& reference)> on_wrong;
  // Called with every step that was judged; of a subject with the layers named, else with the first guilty one. May be
  // empty. What it is given lives as long as the call.
  std::function<Status(const StepCase& step)> on_step;
};

class Checker {
 public:
  explicit Checker(CheckOptions options = {});
  ~Checker();

  // Observes the network's next Forward. `inputs` are what SetInput was given. The network must outlive Finish. Once
  // only.
  Status Attach(Network* network, const std::map<std::string, Tensor>& inputs);
  // InvalidArgument unless one Forward ran after Attach. What kept a layer from being judged is in its report.
  Result<RunReport> Finish();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// Tensors that some other runtime computed for the blobs of a graph, in logical order (NCHW) and of the graph's dtypes.
class BlobSource {
 public:
  virtual ~BlobSource() = default;
  virtual bool Has(const std::string& blob) const = 0;
  // REQUIRES: Has. Its shape may be another than the graph's: then that layer is wrong.
  virtual Result<Tensor> Load(const std::string& blob) const = 0;
  // By which algorithm and in what its layer says that it computed it. REQUIRES: Has.
  virtual Numerics ComputedBy(const std::string&) const { return {}; }
};

struct SubjectOptions {
  std::string device = "subject";  // its name in the report
  std::string description;
  std::map<std::string, Shape> input_shapes;  // as for a network
  CheckOptions check;
};

// Judges a subject, which stands where a device stands: every layer whose output it has is replayed by the reference on
// the subject's own inputs. Layers between two of its tensors (fused away) are one step with a chained bound. `inputs`
// are the network inputs that the reference's own run starts from and that stand in for inputs which the subject lacks;
// without one of them nothing is inherited. What the subject lacks altogether is "not tested".
Result<RunReport> CheckSubjectBlobs(const Graph& graph, const BlobSource& subject,
                                    const std::map<std::string, Tensor>& inputs, const SubjectOptions& options);

}  // namespace plumb

#endif  // PLUMB_CHECK_H_
