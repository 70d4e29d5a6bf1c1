// model_convert: reads a model and writes it as PREFIX.tnnproto and PREFIX.tnnmodel, layers one to one.
#include <cstdio>

#include <algorithm>

#include "align.h"
#include "common/cli.h"
#include "format/hazards.h"
#include "plumb/model.h"
#include "plumb/plumb.h"

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
    "      proves the written files equal to the original in ONNX Runtime, or names the first operator that differs\n"
    "Without --random-weights the tnnmodel beside the tnnproto is taken when it exists; otherwise weights are "
    "generated.\n"
    "Exit codes: 0 written, 1 -align found a difference, 2 wrong usage or input, 4 the files could not be written.\n";

struct Options {
  std::string input, structure, weights, prefix;
  std::string format = "v2";
  std::vector<std::string> shapes;
  ConstantOptions constants;
  uint64_t seed = kDefaultSeed;
  bool random_weights = false;
  bool quiet = false;
  AlignOptions align;
};

void Declare(CommandLine* line, Options* options) {
  line->Positional("IN", &options->input, "the model: a tnnproto (its tnnmodel is found beside it) or an ONNX file", false);
  line->Add("-o,--output", &options->prefix, "writes PREFIX.tnnproto and PREFIX.tnnmodel");
  line->Required("--output");
  line->Add("-p,--proto", &options->structure, "the tnnproto, instead of IN");
  line->Add("-m,--model", &options->weights, "the tnnmodel that belongs to it; with -p missing: the model, like IN");
  line->Flag("--random-weights", &options->random_weights, "generate the weights, also when there is a tnnmodel");
  line->Add("--seed", &options->seed, "of the generated weights");
  line->Add("--format", &options->format, "magic of the tnnmodel: v1 or v2");
  line->Add("--shape", &options->shapes, "NAME=1,3,224,224: the shape of a network input; may repeat");
  options->constants.AddTo(line);
  line->Flag("-q,--quiet", &options->quiet, "print errors only");
  options->align.AddTo(line);
}

// IN, -m alone, or -p with or without -m.
Result<ModelFiles> FilesOf(const Options& options) {
  if (!options.input.empty() && (!options.structure.empty())) {
    return Status::InvalidArgument("both IN ('" + options.input + "') and -p ('" + options.structure +
                                   "') are given; name one");
  }
  const std::string& structure = options.input.empty() ? options.structure : options.input;
  if (!structure.empty()) return ModelFiles{structure, options.weights};
  if (options.weights.empty()) return Status::InvalidArgument("no model is named; see model_convert --help");
  return ModelFiles{options.weights, ""};
}

void Report(const Graph& graph, const Options& options) {
  size_t bytes = 0;
  for (const Layer& layer : graph.layers) {
    for (const auto& entry : layer.resources) bytes += entry.second.bytes();
  }
  for (const auto& entry : graph.constants) bytes += entry.second.bytes();
  const auto count = [](size_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  std::printf("read %s: %s, %s, %s\n", graph.source.c_str(), count(graph.layers.size(), "layer").c_str(),
              count(graph.inputs.size(), "input").c_str(), count(graph.outputs.size(), "output").c_str());
  if (graph.weights_generated) {
    std::printf("weights: generated (%s, seed %llu), %.1f MB\n", WeightGeneratorVersion(),
                static_cast<unsigned long long>(graph.weight_seed), static_cast<double>(bytes) / 1e6);
  } else {
    std::printf("weights: %s, %.1f MB\n", graph.weights_source.empty() ? "none needed" : graph.weights_source.c_str(),
                static_cast<double>(bytes) / 1e6);
  }
  for (const std::string& note : graph.notes) std::printf("%s%s\n", note.rfind("warning ", 0) == 0 ? "" : "note: ", note.c_str());
  constexpr size_t kShown = 20;
  const std::vector<std::string> hazards = WeightHazards(graph);
  for (size_t i = 0; i < std::min(hazards.size(), kShown); ++i) std::printf("warning %s\n", hazards[i].c_str());
  if (hazards.size() > kShown) std::printf("and %zu more such tensors (doc/alignment.md)\n", hazards.size() - kShown);
  std::printf("wrote %s.tnnproto (v2) and %s.tnnmodel (%s)\n", options.prefix.c_str(), options.prefix.c_str(),
              options.format.c_str());
}

Result<int> Convert(const Options& options) {
  LoadOptions load;
  load.seed = options.seed;
  load.random_weights = options.random_weights;
  load.keep_half = true;
  load.evaluator = ReferenceEvaluator();
  SaveOptions save;
  if (options.format != "v1" && options.format != "v2") {
    return Status::InvalidArgument("--format: expected v1 or v2, found '" + options.format + "'");
  }
  save.tnnmodel_version = options.format == "v1" ? 1 : 2;
  PLUMB_ASSIGN_OR_RETURN(load.input_shapes, ParseShapes(options.shapes));
  PLUMB_ASSIGN_OR_RETURN(load.input_values, options.constants.Read());
  PLUMB_ASSIGN_OR_RETURN(const ModelFiles files, FilesOf(options));
  PLUMB_ASSIGN_OR_RETURN(const Graph graph, LoadModel(files, load));
  PLUMB_RETURN_IF_ERROR(SaveModel(graph, options.prefix, save));
  if (!options.quiet) Report(graph, options);
  if (options.align.mode.empty()) return static_cast<int>(kExitOk);
  return Align(options.align, files.structure, options.prefix + ".tnnproto", options.seed, options.constants);
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  plumb::Options options;
  plumb::CommandLine line("model_convert",
                          "Reads a model and writes it as TNN's tnnproto (text, v2) and tnnmodel (weights).",
                          plumb::kExamples);
  plumb::Declare(&line, &options);
  std::vector<std::string> arguments = plumb::WithAlignValue(argc, argv);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  if (const std::optional<int> done = line.Parse(static_cast<int>(pointers.size()), pointers.data())) return *done;
  const plumb::Result<int> code = plumb::Convert(options);
  return code.ok() ? *code : plumb::Fail(code.status());
}
