// SPDX-License-Identifier: Apache-2.0
// blob_diff: compares two dump folders or two tensor files, blob by blob. It knows no model and so no bound: it uses a
// rule with tolerances that it prints. Devices are judged by bound with model_check. With --weights it compares the
// constants of two model files.
#include <fmt/core.h>

#include <cmath>

#include "common/cli.h"
#include "common/option_words.h"
#include "common/output_options.h"
#include "common/outputs.h"
#include "common/print.h"
#include "common/vocabulary.h"
#include "plumb/diff.h"
#include "plumb/suggest.h"
#include "plumb/weights.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  blob_diff plumb_dump plumb_dump-2                 two dumps, paired by layer, slot and blob
  blob_diff plumb_dump tnn_dump --rule tnn          the other one written by TNN
  blob_diff a.npy b.txt --rtol 1e-5 --atol 1e-6     two tensor files, any formats mixed
  blob_diff plumb_dump other.npz --names map.csv    a dump and any other set of named tensors
  blob_diff a.raw b.raw --dtype i32 --shape 1,1000
  blob_diff --weights net.pt net.tflite             the weights of a model and of what it was converted to
  blob_diff --suggest-names net.onnx fused.onnx     which tensor of a fused graph is which of the model
  blob_diff --suggest-names net.onnx fused.onnx --by-value    and what is left, by what both compute
Exit codes: 0 aligned, 1 different or nothing compared (with --strict: also when something has
no pair), 2 bad usage or input.)";

struct Options {
  std::string a, b;
  std::string rule = "default";
  std::string atol, rtol, dtype, shape, json, csv, names;
  std::string epsilon;
  std::string values_a, values_b;
  bool by_value = false;
  bool weights = false;
  bool suggest = false;
  bool pair_by_order = false;
  bool strict = false;
  bool all = false;
  OutputOptions output;
};

void Declare(Options* o, CommandLine* c) {
  c->Positional("A", &o->a, "dump folder (ours by its manifest, TNN's by file names), folder of .npy, or tensor file",
                true);
  c->Positional("B", &o->b, "the same; the side that counts as right", true);
  c->Flag("--weights", &o->weights,
          "A and B are model files, the original and the converted one: compare their constants, undoing what a "
          "conversion folds");
  c->Flag("--suggest-names", &o->suggest,
          "A and B are a model and a graph that was made of it: say by structure which tensor is which; --csv writes "
          "what --names reads");
  c->Flag(
      "--by-value", &o->by_value,
      "with --suggest-names, as the last resort: run both graphs (NAIVE) on two drawn inputs, and pair what is left "
      "where one tensor alone holds the same values");
  c->Add("--values-a", &o->values_a, "the same with the values of a dump of A, of the input that --values-b ran on");
  c->Add("--values-b", &o->values_b, "a dump of B, whose tensors bear B's names");
  c->Add("--epsilon", &o->epsilon, "with --weights: of the original's batch norms, where its file does not say it");
  c->Add("--rule", &o->rule,
         "default: |a-b| <= atol + rtol |b|; allclose: NumPy's defaults; tnn: TNN's rule; cosine: >= 0.999");
  c->Add("--atol", &o->atol, "absolute tolerance (default: 1e-5 of the blob's largest |b|; allclose: 1e-8)");
  c->Add("--rtol", &o->rtol, "relative tolerance (default: 1e-3; allclose: 1e-5)");
  c->Flag("--strict", &o->strict, "blobs without a pair are a difference; with --weights also what was rounded");
  c->Add("--names", &o->names, "CSV of two columns: name in A, name in B");
  c->Flag("--pair-by-order", &o->pair_by_order,
          "pair what no name pairs by its place in the order; the pairs are printed");
  c->OneOf("--dtype", &o->dtype, {"f32", "f16", "bf16", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "bool"},
           "of raw and plain text files: f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 bool");
  c->Add("--shape", &o->shape, "of raw and plain text files: 1,3,224,224");
  c->Add("--json", &o->json, "write the report as JSON");
  c->Add("--csv", &o->csv, "write one row per pair as CSV");
  o->output.AddTo(c, "only the last sentence", "");
  c->Flag(
      "--all", &o->all,
      "every pair, and every blob without one; otherwise what is not aligned, the five that differ most, five blobs");
}

Result<std::optional<double>> Tolerance(const std::string& option, const std::string& text) {
  if (text.empty()) return std::optional<double>();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<double> values, ParseNumbers(option, text));
  if (values.size() != 1 || !(values[0] >= 0)) {
    return Status::InvalidArgument(fmt::format("{} takes one number that is not negative, found '{}'", option, text));
  }
  return std::optional<double>(values[0]);
}

bool IsPlain(const std::string& path) {
  std::string name = path;
  if (EndsWith(name, ".zst")) name.resize(name.size() - 4);
  return EndsWith(name, ".raw") || EndsWith(name, ".bin") || EndsWith(name, ".dat") || EndsWith(name, ".bmrt") ||
         EndsWith(name, ".txt");
}

// What the two sides do not need would do nothing.
Status CheckHints(const Options& o) {
  const bool plain = IsPlain(o.a) || IsPlain(o.b);
  const bool by_name = !o.names.empty() || o.pair_by_order;
  for (const auto& [option, value] : {std::pair("--shape", &o.shape), {"--dtype", &o.dtype}}) {
    if (value->empty() || (plain && !by_name)) continue;
    return Status::InvalidArgument(
        std::string(option) +
        " does nothing here: it is for two tensor files of which one holds values only (.raw .bin .dat .txt)");
  }
  return Status::Ok();
}

Result<DiffOptions> ReadOptions(const Options& o) {
  DiffOptions options;
  PLUMB_RETURN_IF_ERROR(CheckHints(o));
  PLUMB_ASSIGN_OR_RETURN(options.rule.kind, ParseRule(o.rule));
  PLUMB_ASSIGN_OR_RETURN(options.rule.atol, Tolerance("--atol", o.atol));
  PLUMB_ASSIGN_OR_RETURN(options.rule.rtol, Tolerance("--rtol", o.rtol));
  PLUMB_RETURN_IF_ERROR(options.rule.CheckTolerances());
  options.pair_by_order = o.pair_by_order;
  if (!o.names.empty()) {
    PLUMB_ASSIGN_OR_RETURN(options.names, ReadNames(o.names));
  }
  if (!o.dtype.empty()) options.hints.dtype = ParseDType(o.dtype);
  if (!o.shape.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<double> dims, ParseNumbers("--shape", o.shape));
    Shape shape;
    for (double dim : dims) {
      if (!(dim >= 0 && dim <= 0x1p40) || dim != std::floor(dim)) {
        return Status::InvalidArgument(
            fmt::format("--shape takes whole numbers such as 1,3,224,224, found '{}'", o.shape));
      }
      shape.dims().push_back(static_cast<int64_t>(dim));
    }
    PLUMB_RETURN_IF_ERROR(shape.Validate().AddContext("--shape"));
    options.hints.shape = shape;
  }
  return options;
}

// Blobs without a partner count with --strict.
int ExitCode(const Options& o, const DiffReport& report) {
  if (report.verdict != Verdict::kAligned) return kExitMisaligned;
  return o.strict && !(report.only_a.empty() && report.only_b.empty()) ? kExitMisaligned : kExitOk;
}

Result<DiffReport> Diff(const Options& o) {
  PLUMB_ASSIGN_OR_RETURN(DiffOptions options, ReadOptions(o));
  std::unique_ptr<Progress> progress;
  options.progress = [&](size_t done, size_t total) {
    if (progress == nullptr)
      progress = std::make_unique<Progress>("compare", static_cast<int64_t>(total), o.output.quiet);
    progress->Step(static_cast<int64_t>(done), "");
  };
  return DiffDumps(o.a, o.b, options);
}

// Of two models: options of blobs would do nothing.
Status CheckModelOptions(const Options& o) {
  const std::pair<const char*, bool> of_blobs[] = {
      {"--atol", !o.atol.empty()},          {"--rtol", !o.rtol.empty()},
      {"--dtype", !o.dtype.empty()},        {"--csv", !o.csv.empty() && !o.suggest},
      {"--names", !o.names.empty()},        {"--shape", !o.shape.empty()},
      {"--pair-by-order", o.pair_by_order}, {"--rule", o.rule != "default"}};
  for (const auto& [option, given] : of_blobs) {
    if (given)
      return Status::InvalidArgument(
          fmt::format("{} does nothing with {}", option, o.suggest ? "--suggest-names" : "--weights"));
  }
  return Status::Ok();
}

int CompareWeights(const Options& o) {
  Status status = CheckModelOptions(o);
  const auto epsilon = Tolerance("--epsilon", o.epsilon);
  if (status.ok() && !epsilon.ok()) status = epsilon.status();
  if (!status.ok()) return Fail(status);
  WeightsOptions options;
  options.epsilon = *epsilon;
  const auto report = DiffWeights(o.a, o.b, options);
  if (!report.ok()) return Fail(report.status());
  const WeightsStyle style = {o.output.Colored(), o.all, static_cast<size_t>(OutputWidth())};
  PrintText(o.output.quiet ? FormatWeightsSummary(*report) : InOptionWords(FormatWeightsText(*report, style)));
  if (!o.json.empty()) status = WriteOutput(o.json, FormatWeightsJson(*report));
  if (!status.ok()) return Fail(status);
  if (report->pairs.empty() || report->Count(WeightsPair::kDifferent) > 0) return kExitMisaligned;
  const bool left = !(report->only_original.empty() && report->only_converted.empty());
  return o.strict && (left || report->Count(WeightsPair::kRounded) > 0) ? kExitMisaligned : kExitOk;
}

int Suggest(const Options& o) {
  Status status = CheckModelOptions(o);
  if (status.ok() && o.weights) status = Status::InvalidArgument("--weights does nothing with --suggest-names");
  if (status.ok() && !o.json.empty()) status = Status::InvalidArgument("--json does nothing with --suggest-names");
  if (status.ok() && !o.epsilon.empty()) status = Status::InvalidArgument("--epsilon does nothing without --weights");
  if (status.ok() && o.values_a.empty() != o.values_b.empty())
    status = Status::InvalidArgument("--values-a and --values-b go together: two dumps of one input");
  if (status.ok() && o.by_value && !o.values_a.empty())
    status = Status::InvalidArgument("--by-value runs both graphs, --values-a and --values-b give what they computed");
  if (!status.ok()) return Fail(status);
  const auto found = SuggestNames(o.a, o.b, {o.by_value, o.values_a, o.values_b});
  if (!found.ok()) return Fail(found.status());
  const auto width = static_cast<size_t>(OutputWidth());
  PrintText(o.output.quiet ? FormatNamesSummary(*found) : InOptionWords(FormatNamesText(*found, o.all, width)));
  if (!o.csv.empty()) status = WriteOutput(o.csv, FormatNamesCsv(*found));
  if (!status.ok()) return Fail(status);
  return found->pairs.empty() || (o.strict && !found->left.empty()) ? kExitMisaligned : kExitOk;
}

int Main(int argc, char** argv) {
  Options options;
  CommandLine command("blob_diff", "Compares two dump folders or two tensor files, blob by blob.", kExamples);
  Declare(&options, &command);
  command.Brief({{"--rule", "default, allclose, tnn or cosine"},
                 {"--atol", "absolute tolerance; --rtol: relative"},
                 {"--names", "CSV of two columns: name in A, name in B"},
                 {"--shape", "of files of values only: 1,3,224,224"},
                 {"--weights", "A and B are model files: compare their constants"},
                 {"--strict", "blobs without a pair are a difference"},
                 {"--all", "every pair, and every blob without one"},
                 {"--quiet", "only the last sentence"},
                 {"--json", "write the report as JSON; --csv: as CSV"}});
  if (const auto code = command.Parse(argc, argv)) return *code;
  if (options.suggest) return Suggest(options);
  if (options.by_value || !options.values_a.empty() || !options.values_b.empty())
    return Fail(Status::InvalidArgument("--by-value, --values-a and --values-b do nothing without --suggest-names"));
  if (options.weights) return CompareWeights(options);
  if (!options.epsilon.empty()) return Fail(Status::InvalidArgument("--epsilon does nothing without --weights"));
  const auto report = Diff(options);
  if (!report.ok()) return Fail(report.status());
  const DiffStyle style = {options.output.Colored(), options.all, static_cast<size_t>(OutputWidth())};
  PrintText(options.output.quiet ? FormatDiffSummary(*report) : InOptionWords(FormatDiffText(*report, style)));
  Status status;
  if (!options.json.empty()) status = WriteOutput(options.json, FormatDiffJson(*report));
  if (status.ok() && !options.csv.empty()) status = WriteOutput(options.csv, FormatDiffCsv(*report));
  return status.ok() ? ExitCode(options, *report) : Fail(status);
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
