// Reports of a check: a table for people, JSON and CSV for machines. They hold the same numbers.
// The JSON is described in doc/check.md and test/data/check.schema.json.
#ifndef PLUMB_REPORT_H_
#define PLUMB_REPORT_H_

#include <string>
#include <vector>

#include "plumb/check.h"

namespace plumb {

// One network input as two sources have it.
struct InputMatch {
  std::string input;
  std::string a, b;  // "-i", "golden", "subject"
  Shape shape;
  bool equal = true;
  DiffMetrics difference;   // a - b
  std::string explanation;  // what turns a into b: "the channels are swapped (RGB for BGR)"; "": nothing that was tried
};

// What was checked, for the report's head and for the command that reproduces it.
struct CheckSubject {
  std::string model;       // as given
  int num_layers = 0;      // of the model
  std::string weights;     // "squeezenet.tnnmodel" or "generated: philox v1, seed 1"
  bool weights_generated = false;
  uint64_t seed = 1;
  std::vector<std::string> inputs;  // one line each: "data f32 [1,3,227,227]: generated, ..."
  std::vector<InputMatch> input_matches;  // when several sources gave the input
  int num_threads = 1;
  std::string isa;         // "AVX512"; what --max-isa left
  std::string rule = "doc/check.md, The rule (measured)";
  std::string reproduce;   // command line up to the device: "model_check -m x.tnnproto --seed 3"
};

struct ReportStyle {
  bool color = false;
  bool full = false;  // every number of every layer, not only of those that are not aligned
};

// The whole report of one device: head, table, outputs, last sentence.
std::string FormatText(const CheckSubject& subject, const RunReport& run, const ReportStyle& style);
// The last sentence alone: the first guilty layer and the command that reproduces it, or that all is aligned; for a golden,
// whether it computes the same model.
std::string FormatSummary(const CheckSubject& subject, const RunReport& run);
// "input differs: max ...", what explains it, or "" when the inputs agree or only one source gave them.
std::string FormatInputs(const CheckSubject& subject);
// {"verdict": ..., "runs": [...]}.
std::string FormatJson(const CheckSubject& subject, const std::vector<RunReport>& runs);
// One row per layer output and device, with a header line.
std::string FormatCsv(const std::vector<RunReport>& runs);

}  // namespace plumb

#endif  // PLUMB_REPORT_H_
