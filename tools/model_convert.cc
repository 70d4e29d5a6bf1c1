// SPDX-License-Identifier: Apache-2.0
// model_convert: reads a model and writes it as PREFIX.tnnproto and PREFIX.tnnmodel, layers one to one.
#include <fmt/core.h>

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "align.h"
#include "common/cli.h"
#include "common/model_options.h"
#include "common/outputs.h"
#include "common/print.h"
#include "common/vocabulary.h"
#include "plumb/model.h"
#include "plumb/plumb.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  model_convert resnet50.tnnproto -o out/resnet50 --random-weights --seed 7\n"
    "      a description without weights gets a tnnmodel, the same on every machine\n"
    "  model_convert -p a.tnnproto -m b.tnnmodel -o c --format v1\n"
    "      the weights with TNN's first magic (the tnnproto is always v2, which alone says dtypes)\n"
    "  model_convert net.tnnproto -o net_b4 --shape input=4,3,224,224\n"
    "      fixes the shape of a network input\n"
    "  model_convert vad.onnx -o vad16k --constant sr=16000\n"
    "      a network input becomes a constant: what depends on it is folded, and the written network has no such "
    "input\n"
    "  model_convert net.onnx -o net -align -d X86\n"
    "      proves the written files equal to the original in ONNX Runtime or LiteRT, or names the first operator that "
    "differs\n"
    "Without --random-weights the tnnmodel beside the tnnproto is taken when it exists; otherwise weights are "
    "generated.\n"
    "Exit codes: 0 written, 1 -align found a difference, 2 wrong usage or input, 4 the files could not be written.\n";

struct Options {
  ModelOptions model;
  std::string output, folder, prefix, json;
  std::string format = "v2";
  bool quiet = false;
  AlignArguments align;
};

// -o PREFIX, PREFIX.tnnproto, PREFIX.tnnmodel, or a folder, in which the files are called as the model is; -od FOLDER.
Status FindPrefix(Options* o) {
  std::string name = o->model.Files().structure;
  name = name.substr(name.find_last_of('/') + 1);
  name = name.substr(0, name.find_last_of('.'));
  struct stat info;
  const bool is_folder = !o->output.empty() &&
                         ((::stat(o->output.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) || o->output.back() == '/');
  const std::string folder = is_folder ? o->output : o->folder;
  o->prefix = folder.empty() ? o->output : folder + (folder.back() == '/' ? "" : "/") + name;
  for (const char* suffix : {".tnnproto", ".tnnmodel"}) {
    if (folder.empty() && EndsWith(o->prefix, suffix)) o->prefix.resize(o->prefix.size() - 9);
  }
  if (IsModelFile(o->prefix))
    return Status::InvalidArgument(fmt::format("-o {}: model_convert writes a tnnproto and a tnnmodel", o->output));
  PLUMB_RETURN_IF_ERROR(CheckOutputFile("-o", o->prefix + ".tnnproto"));
  return CheckOutputFile("-o", o->prefix + ".tnnmodel");
}

Status CheckOptions(Options* o) {
  if (o->output.empty() == o->folder.empty()) {
    return Status::InvalidArgument(o->output.empty() ? "where to? give it with -o PREFIX"
                                                     : "-o and --output-dir both say where to; give one");
  }
  return FindPrefix(o);
}

void Declare(CommandLine* line, Options* options) {
  options->model.AddTo(line);
  line->Group("Files");
  line->Add("--output", &options->output,
            "PREFIX: writes PREFIX.tnnproto and PREFIX.tnnmodel; or one of these two names; or a folder");
  line->Add("--output-dir", &options->folder, "a folder; the files are called as the model is");
  line->OneOf("--format", &options->format, {"v1", "v2"}, "magic of the tnnmodel: v1 or v2");
  options->align.AddTo(line);
  line->Group("Report");
  line->Flag("--quiet", &options->quiet, "only the last line");
  line->Add("--json", &options->json, "write what was read, noted and written as JSON");
  line->Check([options] { return CheckOptions(options); });
}

void ReportWhatWasRead(const Graph& graph) {
  size_t bytes = 0;
  for (const Layer& layer : graph.layers) {
    for (const auto& entry : layer.resources) bytes += entry.second.bytes();
  }
  for (const auto& entry : graph.constants) bytes += entry.second.bytes();
  const auto count = [](size_t number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
  };
  Print("read {}: {}, {}, {}\n", graph.source, count(graph.layers.size(), "layer"), count(graph.inputs.size(), "input"),
        count(graph.outputs.size(), "output"));
  if (graph.weights_generated) {
    Print("weights: generated ({}, seed {}), {:.1f} MB\n", WeightGeneratorVersion(), graph.weight_seed,
          static_cast<double>(bytes) / 1e6);
  } else {
    Print("weights: {}, {:.1f} MB\n", graph.weights_source.empty() ? "none needed" : graph.weights_source,
          static_cast<double>(bytes) / 1e6);
  }
  for (const std::string& note : graph.notes)
    Print("{}{}\n", note.rfind("warning ", 0) == 0 ? "" : "note: ", PrintableLine(note));
  constexpr size_t kShown = 20;
  const std::vector<std::string> hazards = WeightHazards(graph);
  for (size_t i = 0; i < std::min(hazards.size(), kShown); ++i) Print("warning {}\n", PrintableLine(hazards[i]));
  if (hazards.size() > kShown) Print("and {} more such tensors (doc/alignment.md)\n", hazards.size() - kShown);
}

void Report(const Graph& graph, const Options& options) {
  if (!options.quiet) ReportWhatWasRead(graph);
  Print("wrote {}.tnnproto (v2) and {}.tnnmodel ({})\n", options.prefix, options.prefix, options.format);
}

std::string ToJson(const Graph& graph, const Options& options, const std::string& align) {
  nlohmann::ordered_json json{{"format", "plumb-model-convert"}, {"version", 1}, {"plumb", Version()}};
  json["model"] = graph.source;
  json["weights"] = options.model.DescribeWeights(graph);
  json["layers"] = graph.layers.size();
  json["inputs"] = nlohmann::ordered_json::array();
  for (const GraphInput& input : graph.inputs) {
    json["inputs"].push_back({{"name", input.name}, {"dtype", DTypeName(input.dtype)}, {"shape", input.shape.dims()}});
  }
  json["outputs"] = graph.outputs;
  json["notes"] = graph.notes;
  json["warnings"] = WeightHazards(graph);
  json["tnnproto"] = options.prefix + ".tnnproto";
  json["tnnmodel"] = options.prefix + ".tnnmodel";
  json["tnnmodel_magic"] = options.format;
  json["align"] = align;
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<int> Convert(const Options& options) {
  PLUMB_ASSIGN_OR_RETURN(const auto graph, options.model.Load({}, OpenDims::kRefuse));
  SaveOptions save;
  save.tnnmodel_version = options.format == "v1" ? 1 : 2;
  PLUMB_RETURN_IF_ERROR(SaveModel(*graph, options.prefix, save));
  Report(*graph, options);
  std::string align = "not asked for";
  int exit_code = kExitOk;
  if (!options.align.mode.empty()) {
    AlignArguments arguments = options.align;
    arguments.signature = options.model.signature;
    PLUMB_ASSIGN_OR_RETURN(
        exit_code, AlignAndPrint(arguments, options.model.Files().structure, *graph, options.prefix + ".tnnproto",
                                 options.model.seed, options.model.constants));
    align = exit_code == kExitOk ? "equal" : "differs";
  }
  if (!options.json.empty()) PLUMB_RETURN_IF_ERROR(WriteOutput(options.json, ToJson(*graph, options, align)));
  return exit_code;
}

int Main(int argc, char** argv) {
  Options options;
  options.model.keep_half = true;
  options.model.keep_quantized = true;
  CommandLine line("model_convert", "Reads a model and writes it as TNN's tnnproto (text, v2) and tnnmodel (weights).",
                   kExamples);
  Declare(&line, &options);
  line.Brief({{"--model", "x.onnx, x.tflite, or x.tnnproto with its x.tnnmodel"},
              {"--output", "PREFIX or a folder: where the two files go"},
              {"--shape", "NAME=1,3,224,224, where the model leaves it open"},
              {"--constant", "NAME=16000: make this network input a constant"},
              {"--align", "prove the files equal to the original"},
              {"--device", "on these devices, too"},
              {"--random-weights", "generate weights"},
              {"--quiet", "only the last line"}});
  if (const std::optional<int> done = line.Parse(argc, argv)) return *done;
  const Result<int> code = Convert(options);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
