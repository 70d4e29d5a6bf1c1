// SPDX-License-Identifier: Apache-2.0
// Stages: what a program does to an image before the network, and to the network's outputs after it. A program writes
// its stages down; two programs that should do the same are then compared stage by stage, and the first one that
// differs is named with its cause (doc/pipeline.md, tool stage_diff).
//
//   DUMP_STAGE_DIR=original ./app        each Stage(...) of the program writes one .npy file into original/sample-00000
//
// Example:
//   plumb::StageInfo info;
//   info.parameters = {{"method", "bilinear"}, {"size", {224, 224}}};
//   info.layout = "CHW", info.library = "OpenCV 4.6.0";
//   PLUMB_RETURN_IF_ERROR(plumb::Stage("resize", image, info));
//
// Without DUMP_STAGE_DIR Stage returns at once and looks at nothing. Errors: one sentence with the folder, file and
// field. Threading: Stage and BeginSample may be called from any thread, one call at a time is written; all else are
// free functions without shared state.
#ifndef PLUMB_STAGE_H_
#define PLUMB_STAGE_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

// --- Writing stages down.

// The value of a parameter: a text, or numbers. {224, 224}, "bilinear", 0.5.
struct StageValue {
  StageValue() = default;
  StageValue(const char* value) : text(value) {}                     // NOLINT(google-explicit-constructor)
  StageValue(std::string value) : text(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  StageValue(double value) : is_text(false), numbers{value} {}       // NOLINT(google-explicit-constructor)
  StageValue(int value) : StageValue(static_cast<double>(value)) {}  // NOLINT(google-explicit-constructor)
  StageValue(std::initializer_list<double> all)
      : is_text(false), numbers(all) {}  // NOLINT(google-explicit-constructor)
  StageValue(std::vector<double> all)
      : is_text(false), numbers(std::move(all)) {}  // NOLINT(google-explicit-constructor)

  bool is_text = true;
  std::string text;
  std::vector<double> numbers;
};

// What is known of a stage beside its values. All of it may be empty. A stage reads the one before it, or those that
// its parameter "of" names: {"of", "decode"} of each level of an image pyramid, {"of", "decode, boxes"} of what boxes
// cut out.
struct StageInfo {
  std::vector<std::pair<std::string, StageValue>> parameters;
  std::string kind;     // "resize", "normalise", ...; empty: what the stage's name says (StageKind)
  std::string layout;   // of the values: "HWC", "CHW", "NHWC", "NCHW", "HW"; empty: what the shape says
  std::string color;    // of the channels: "RGB", "BGR", "GRAY", "RGBA", "BGRA", "NV12", ...; empty: not said
  std::string library;  // what computed it: "Pillow 13.0.0"

  // The parameter of that name, or null.
  const StageValue* Find(const std::string& name) const;
};

// Whether DUMP_STAGE_DIR asks for stages. Programs ask it before they fetch values from a device.
bool StagesWanted();
// Writes the values down as the next stage of the sample. OK at once where nobody asked. IoError, InvalidArgument.
Status Stage(const std::string& name, const Tensor& values, const StageInfo& info = StageInfo());
// The stages from now on are those of another sample, in a folder of this name (what a folder cannot be called becomes
// '_'). Without it a sample is sample-00000; the next one begins when its first stage comes again.
Status BeginSample(const std::string& name);

// --- Reading them.

struct StageRecord {
  std::string name;
  std::string kind;  // "" where neither the manifest nor the name says it
  std::string path;  // of the file that holds the values
  DType dtype = DType::kF32;
  Shape shape;
  StageInfo info;
  Tensor values = {};           // where they come from a file of all samples: `path` is empty
  std::vector<int> reads = {};  // places in the sample of the stages whose values it reads; none: a file, say
};

struct StageSample {
  std::string name, folder;
  bool complete = true;  // false: the program said that something could not be written
  std::vector<StageRecord> stages;
};

// The kind that a stage's name stands for: "resize" of "resize_2", "normalise" of "Normalize", "" of "magic".
std::string StageKind(const std::string& name);
// All samples of a folder that DUMP_STAGE_DIR named, or the one of a sample's own folder, by name; or the detections of
// a .json file of COCO's form, a sample per image. NotFound, IoError, CorruptModel (which manifest, entry and field).
Result<std::vector<StageSample>> ReadStages(const std::string& folder);
Result<Tensor> LoadStage(const StageRecord& stage);

// --- Which convention computed a stage.

struct StageMatch {
  std::string convention;   // "OpenCV's INTER_AREA"
  std::string code;         // the line that computes it: "cv2.resize(x, (w, h), interpolation=cv2.INTER_AREA)"; or ""
  bool reproduces = false;  // within the convention's bound
  double max_abs = 0;       // beside what was written
  int64_t differing = 0;    // values that differ at all
};

// Every convention that Plumb knows for such a pair of values, the best first.
Result<std::vector<StageMatch>> MatchStage(const Tensor& before, const StageRecord& stage, const Tensor& after);

// --- Comparing.

enum class StageVerdict {
  kAligned,
  kIntroduced,  // this stage itself differs
  kInherited,   // it does the same on other values
  kDiffers,     // and nobody can say which of the two
  kNotTested,
};
// "aligned", "introduced", "inherited", "differs", "not tested"
const char* StageVerdictName(StageVerdict verdict);

struct StageRow {
  std::string stage, kind;
  StageVerdict verdict = StageVerdict::kNotTested;
  std::string reason;
  DType dtype = DType::kF32;  // of the original
  Shape original_shape, port_shape;
  double max_abs = 0;  // integers in a wider type
  double max_own = 0;  // the same against the original's stage on the port's own input; only where that is known
  bool has_own = false;
  int64_t count = 0, differing = 0;
  std::vector<int64_t> worst;  // where max_abs lies, as the original's axes are
  double worst_original = 0, worst_port = 0;
  std::string original_does, port_does;  // conventions; "" where none reproduces it
  std::string cause, mend;               // of an introduced difference: a sentence, and a line of code or ""
};

struct StageAnswer {
  bool known = false;
  std::string stage;
  bool top = false;            // a top-1 of scores; else boxes, a mask or a text
  std::string original, port;  // "#751 0.93 (margin 0.4)", "3 boxes, the best 0.998", "'hello'"
  std::string mended;          // the same with the first guilty stage mended; "" where it cannot be told
  std::string why;             // how `mended` is known, or why not
  bool same = true;
};

struct StageSampleReport {
  std::string original, port;  // names of the samples
  std::vector<StageRow> rows;  // in the original's order
  std::vector<std::string> only_original, only_port;
  std::vector<std::string> notes;
  StageAnswer answer;
  int first_guilty = -1;  // row; the first introduced one, else the first that differs
};

struct StageReport {
  std::string original, port;
  std::vector<StageSampleReport> samples;
  std::vector<std::string> notes;
  int aligned = 0, different = 0, not_tested = 0;  // samples
  int broken = 0;                                  // samples that could not be read; a note says why of each
  bool both_empty = false;                         // two lists of detections without any
};

// A network of one input to its outputs, in order.
using StageModel = std::function<Result<std::vector<Tensor>>(const Tensor& input)>;
// The model of that file on the CPU. Errors: those of LoadModel and CreateNetwork; NotSupported for several inputs.
Result<StageModel> StageNetwork(const std::string& path);

struct StageDiffOptions {
  // Runs on the mended input. Empty: the answer is told where the original's own input comes out.
  StageModel model;
  double tolerance = 1e-3;  // of the network's outputs: share of the largest value that may differ
};

// Pairs samples by name (one sample on each side: with each other), stages by name and place. Of several samples one
// that cannot be read is a note, and the others are compared.
Result<StageReport> DiffStages(const std::string& original, const std::string& port,
                               const StageDiffOptions& options = StageDiffOptions());

struct StageStyle {
  bool color = false;
  size_t width = 100;
};
std::string FormatStageText(const StageReport& report, const StageStyle& style = StageStyle());
// The last sentence.
std::string FormatStageSummary(const StageReport& report);
std::string FormatStageJson(const StageReport& report);

}  // namespace plumb

#endif  // PLUMB_STAGE_H_
