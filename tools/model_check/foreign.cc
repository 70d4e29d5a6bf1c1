// SPDX-License-Identifier: Apache-2.0
#include "model_check/foreign.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/vocabulary.h"
#include "plumb/report.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

// NAME=1,3,224,224 or NAME=i32:1,10.
Result<std::vector<TensorSpec>> ParseSpecs(const std::vector<std::string>& texts) {
  std::vector<TensorSpec> specs;
  for (const std::string& text : texts) {
    TensorSpec spec;
    const size_t equals = text.rfind('='), colon = text.find(':', equals == std::string::npos ? 0 : equals);
    const std::string wrong = fmt::format("--tensors: expected NAME=1,3,224,224 or NAME=i32:1,10, found '{}'", text);
    if (equals == std::string::npos || equals == 0) return Status::InvalidArgument(wrong);
    if (colon != std::string::npos) {
      const auto dtype = ParseDType(text.substr(equals + 1, colon - equals - 1));
      if (!dtype) return Status::InvalidArgument(wrong);
      spec.dtype = *dtype;
    }
    const std::string dims = text.substr((colon == std::string::npos ? equals : colon) + 1);
    PLUMB_ASSIGN_OR_RETURN(const auto shapes, ParseShapes({"x=" + dims}));
    spec.name = text.substr(0, equals);
    spec.shape = shapes.at("x");
    specs.push_back(std::move(spec));
  }
  return specs;
}

// What people call the runtimes that plumb-golden runs.
struct RuntimeWord {
  const char* word;
  const char* recipe;
};
constexpr RuntimeWord kRuntimes[] = {{"openvino", "openvino"}, {"ov", "openvino"},     {"mnn", "mnn"},
                                     {"ncnn", "ncnn"},         {"pytorch", "torch"},   {"torch", "torch"},
                                     {"litert", "litert"},     {"tflite", "litert"},   {"tensorflow", "litert"},
                                     {"coreai", "coreai"},     {"onnxruntime", "onnx"}};
// And those that --golden runs, by the words that are not quite right.
constexpr RuntimeWord kGoldens[] = {{"ort", "onnxruntime"},
                                    {"onnx", "onnxruntime"},
                                    {"onnxrt", "onnxruntime"},
                                    {"onnx-runtime", "onnxruntime"},
                                    {"onnx_runtime", "onnxruntime"},
                                    {"onnxruntime", "onnxruntime"},
                                    {"litert", "litert"},
                                    {"lite-rt", "litert"},
                                    {"tflite", "litert"},
                                    {"tensorflow", "litert"},
                                    {"tensorflow-lite", "litert"}};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ::tolower);
  return text;
}

// A runtime's name where a folder or file is expected.
Status CheckWord(const std::string& option, const std::string& text) {
  const std::string word = Lower(text);
  const bool golden = option == "--golden";
  if (text.empty() || PathExists(text) || (golden && (text == "onnxruntime" || text == "litert"))) return Status::Ok();
  for (const RuntimeWord& row : kGoldens) {
    if (golden && word == row.word)
      return Status::InvalidArgument(
          fmt::format("--golden: there is no file or folder '{}'; did you mean '{}'?", text, row.recipe));
  }
  for (const RuntimeWord& row : kRuntimes) {
    if (word != row.word) continue;
    return Status::InvalidArgument(fmt::format(
        "{} {}: there is no file or folder of this name; plumb-golden {} MODEL -o dump writes what it computes, then "
        "{} dump{}",
        option, text, row.recipe, option, golden ? " (onnxruntime and litert are run here)" : ""));
  }
  const std::string meant = golden ? DidYouMean(text, {"onnxruntime", "litert"}) : "";
  return meant.empty()
             ? Status::Ok()
             : Status::InvalidArgument(fmt::format("--golden: there is no file or folder '{}'{}", text, meant));
}

}  // namespace

void ForeignArguments::AddTo(CommandLine* c) {
  c->Group("Other runtimes (doc/subjects.md)");
  c->Add(
      "--subject", &subject,
      "DIR or FILE: judge the tensors that another runtime dumped, layer by layer; no -d needed, and no -m where the "
      "dump carries its own graph (ggml)");
  c->Add("--golden", &golden,
         "DIR or FILE: tensors of the original framework, compared with NAIVE and the device; or onnxruntime (of a "
         ".tflite: litert): runs it now");
  words.AddTo(c);
  c->Add(
      "--expect", &expect,
      "fail where subject or golden is computed in anything else: fp32, tf32, fp16, bf16, int8, int4, model (what its "
      "dtypes and the dump say; the default of --junit) or any");
  c->Flag("--pair-by-order", &pair_by_order,
          "pair what no name pairs by its place in the order; the pairs are printed");
  c->Add("--tensors", &tensors,
         "what a file of values only holds (.dat .bmrt .bin): NAME=1,3,224,224 or NAME=i32:1,10");
  for (const char* of_both : {"--names", "--pair-by-order", "--layout", "--tensors", "--expect"}) {
    c->OnlyWith(of_both, {"--subject", "--golden"});
  }
  c->OnlyWith("--arithmetic", {"--subject"});
}

Status ForeignArguments::Read(SessionOptions* options) const {
  PLUMB_RETURN_IF_ERROR(CheckWord("--subject", subject));
  PLUMB_RETURN_IF_ERROR(CheckWord("--golden", golden));
  options->subject.path = subject;
  options->run_onnxruntime = golden == "onnxruntime";
  options->run_litert = golden == "litert";
  if (!options->run_onnxruntime && !options->run_litert) options->golden.path = golden;
  PLUMB_RETURN_IF_ERROR(words.Read(options));
  const std::vector<std::string>& known = Expectations();
  if (!expect.empty() && std::find(known.begin(), known.end(), expect) == known.end())
    return Status::InvalidArgument(UnknownWord("--expect", expect, known));
  PairingOptions& pairing = options->pairing;
  pairing.by_order = pair_by_order;
  PLUMB_ASSIGN_OR_RETURN(pairing.tensors, ParseSpecs(tensors));
  return Status::Ok();
}

}  // namespace plumb
