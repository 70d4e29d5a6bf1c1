// SPDX-License-Identifier: Apache-2.0
// Reports of a check: a table for people, JSON and CSV for machines. They hold the same numbers.
// The JSON is described in doc/check.md and doc/check.schema.json.
#ifndef PLUMB_REPORT_H_
#define PLUMB_REPORT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plumb/check.h"

namespace plumb {

struct FileNodes;  // plumb/model.h

// One network input as two sources have it.
struct InputMatch {
  std::string input;
  std::string a, b;  // "-i", "golden", "subject"
  Shape shape;
  bool equal = true;
  DiffMetrics difference;   // a - b
  std::string explanation;  // what turns a into b: "the channels are swapped (RGB for BGR)"; "": nothing that was tried
};

// "[0,3,5,7]": the element of that flat index (DiffMetrics::worst), as reports name it.
std::string Coordinates(int64_t index, const Shape& shape);

// The values of a network input.
struct InputExtent {
  std::string input;
  double min = 0, max = 0;  // of those that are finite
  int64_t not_finite = 0;
};

// One per input, by name.
std::vector<InputExtent> ExtentsOf(const std::map<std::string, Tensor>& inputs);

// What was checked, for the report's head and for the command that reproduces it.
struct CheckedModel {
  std::string model;    // as given
  int num_layers = 0;   // of the model
  std::string weights;  // "squeezenet.tnnmodel" or "generated: philox v1, seed 1"
  bool weights_generated = false;
  uint64_t seed = 1;
  std::vector<std::string> inputs;        // one line each: "data f32 [1,3,227,227]: generated, ..."
  std::vector<InputExtent> input_ranges;  // of those whose values are known
  std::vector<InputMatch> input_matches;  // when several sources gave the input
  std::string tool_version;               // "Plumb 1.2.3"
  std::string precision = "HIGH";         // asked for; a run has the one that its device ran with
  double min_tested = 0.5;                // CheckOptions::min_tested
  // In what a subject or golden must be computed and stored, one of Expectations(); a run that is otherwise fails.
  std::string expect = "any";
  std::vector<std::string> notes;  // of loading
  int num_threads = 1;
  std::string isa;  // "AVX512"; what RuntimeOptions::max_isa left
  std::string rule = "doc/check.md, The rule (measured)";
  std::string reproduce;  // command line up to the device: "model_check -m x.tnnproto --seed 3"
};

// A device that was asked for, by its name or as one of ALL.
struct AskedDevice {
  enum class State { kNotRun, kRan, kSkipped, kFailed };
  std::string device;
  bool by_name = true;
  State state = State::kNotRun;
  std::string error;                  // kSkipped, kFailed: why, in one sentence
  StatusCode code = StatusCode::kOk;  // of that error, where CheckAll found it
  int exit_code = 0;  // kFailed: 3 where it is not there, 2 where it lacks a kernel, 4 where it broke down
};

// Tensors compared by a rule in place of a bound (-e, -f, -a), or verdicts with a baseline.
struct FileComparison {
  std::string what;  // "X86 outputs against ref.npy"
  Verdict verdict = Verdict::kNotTested;
  std::vector<std::string> worse = {};  // of a baseline: a sentence per layer (Baseline::Compare)
};

// What was in the way: loading failed, a report could not be written.
struct CheckError {
  std::string message;
  int exit_code = 0;
  StatusCode code = StatusCode::kOk;  // where CheckAll found it
};

// All that one call found out. Last line, exit code and JSON are derived from it by Conclude, and so agree.
struct CheckResult {
  CheckedModel checked;
  std::vector<RunReport> runs;  // the golden's first
  std::vector<AskedDevice> devices;
  std::vector<FileComparison> comparisons;
  std::vector<CheckError> errors;
  // For FormatHtml: the model that was checked (null: none was loaded) and, where it was imported, its file's
  // operators.
  std::shared_ptr<const Graph> model;
  std::shared_ptr<const FileNodes> file_nodes;
};

// "any"; "model": what the model's dtypes, its quantisation and the dump's own manifest say, or f32; "fp32", "tf32",
// "fp16", "bf16", "int8", "int4": that, or f32.
const std::vector<std::string>& Expectations();
// Of a run what is not as expected (RunReport::computed_as); empty: all is.
std::vector<ComputedAs> Unexpected(const std::string& expect, const RunReport& run);

struct Conclusion {
  // "aligned", "grey" (exit code 0), "wrong", "not tested" (1), "error" (2, 3, 4).
  std::string verdict;
  int exit_code = 0;
  std::string line;  // "FAILED: conversion wrong at 'Relu_20'; X86 aligned (exit 1)"
};
Conclusion Conclude(const CheckResult& result);
// "LoadOptions::input_shapes x=1,3,48,320 LoadOptions::input_values sr=16000": what was chosen for inputs that the
// model leaves open, which nobody gave; quoted for a shell. "": nothing.
std::string ChosenOptions(const CheckedModel& checked);
// The line, with its first words coloured.
std::string FormatLastLine(const Conclusion& conclusion, bool color);

struct ReportStyle {
  bool color = false;
  bool full = false;  // every number of every layer, not only of those that are not aligned; implies all
  bool all = false;  // every step: otherwise those that are not aligned, and the five that come nearest to their bounds
  size_t width = 100;  // columns give way and sentences are wrapped to keep it
  bool legend = true;  // the rule and what the columns mean, which a report of several devices says once
};

// The whole report of one device: head, table, outputs, last sentence.
std::string FormatText(const CheckedModel& checked, const RunReport& run, const ReportStyle& style);
// The last sentence alone: the first guilty layer and the command that reproduces it, or that all is aligned; for a
// golden, whether it computes the same model.
std::string FormatSummary(const CheckedModel& checked, const RunReport& run);
// "input differs: max ...", what explains it, or "" when the inputs agree or only one source gave them.
std::string FormatInputs(const CheckedModel& checked);
// {"verdict": ..., "runs": [...]}.
std::string FormatJson(const CheckResult& result);
// One row per layer output and device, with a header line.
std::string FormatCsv(const std::vector<RunReport>& runs);
// JUnit's XML, for continuous integration: a suite per device with a case per step, and one of the whole.
std::string FormatJunit(const CheckResult& result);
// A summary in Markdown, for the page of a pull request or a job: a row per run, the guilty layers, the command.
std::string FormatMarkdown(const CheckResult& result);
// SARIF 2.1.0, for code review tools: a result per step that is not aligned.
std::string FormatSarif(const CheckResult& result);
// Node data for Google's Model Explorer: E by tensor, of the first run that is wrong, else of the first.
std::string FormatModelExplorer(const CheckResult& result);
// One page for a browser, which needs nothing beside it: the network as a graph coloured by E, every layer's numbers
// and, with CheckOptions::picture_cells, how its errors are spread and where they lie.
std::string FormatHtml(const CheckResult& result);
// CheckOptions::picture_cells with which the page of a model of so many layers stays at a few MB.
int PictureCells(size_t layers);

}  // namespace plumb

#endif  // PLUMB_REPORT_H_
