// SPDX-License-Identifier: Apache-2.0
#include "model_check/operator.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/cli.h"
#include "common/output_options.h"
#include "common/outputs.h"
#include "common/print.h"
#include "plumb/judge.h"
#include "plumb/plumb.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  model_check --op Softmax --input x.npy --output y.npy --attr axis=-1
  model_check --op layer_norm --input x.npy weight.npy bias.npy --output y.npy --attr eps=1e-5
  model_check --op matmul --input a.npy b.npy --output y.npy --arithmetic found
Exit codes: 0 aligned, 1 misaligned or not tested, 2 bad usage or input, 4 failure.)";

struct Options {
  std::string op;
  std::vector<std::string> inputs, attributes;
  std::string output, arithmetic, json;
  OutputOptions shown;

  void AddTo(CommandLine* c) {
    c->Add(
        "--operator", &op,
        "an ONNX operator (Softmax, com.microsoft.QuickGelu), a name such as softmax or layer_norm, a TNN type, or a "
        "model's path; doc/judge.md lists the names");
    c->Required("--operator");
    c->Add("--input", &inputs,
           "its inputs in their order, a file each (.npy, .txt ...); \"none\": left out; may repeat");
    c->Required("--input");
    c->Add("--output", &output, "what the kernel computed: a file; an .npz has several outputs, in its order");
    c->Required("--output");
    c->Add("--attr", &attributes, "an attribute: axis=-1, approximate=tanh, pads=1,1,1,1; may repeat");
    c->Add(
        "--arithmetic", &arithmetic,
        "how it may be computed: fp32, tf32, fp16, bf16, fp16+f16-sums ...; found: any, which is then said; default: "
        "as the output's dtype says");
    c->Add("--json", &json, "write the same as JSON");
    shown.AddTo(c, "only the verdict", "");
  }
};

Result<std::vector<Tensor>> ReadAll(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> named, ReadTensors(path));
  std::vector<Tensor> tensors;
  for (const NamedTensor& one : named) tensors.push_back(one.tensor);
  return tensors;
}

Result<OperatorCall> ReadCall(const Options& options) {
  OperatorCall call;
  call.op = options.op;
  for (const std::string& path : options.inputs) {
    if (path == "none") {
      call.inputs.emplace_back();
      continue;
    }
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, ReadAll(path));
    call.inputs.insert(call.inputs.end(), tensors.begin(), tensors.end());
  }
  for (const std::string& text : options.attributes) {
    PLUMB_ASSIGN_OR_RETURN(auto attribute, ParseAttribute(text));
    call.attributes.insert(std::move(attribute));
  }
  return call;
}

Result<Judgement> Judge(const Options& options) {
  PLUMB_ASSIGN_OR_RETURN(const OperatorCall call, ReadCall(options));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, ReadAll(options.output));
  JudgeCallOptions how;
  how.find = options.arithmetic == "found";
  if (!options.arithmetic.empty() && !how.find) {
    PLUMB_ASSIGN_OR_RETURN(how.arithmetic, ParseCallArithmetic(options.arithmetic));
  }
  return JudgeCall(call, outputs, how);
}

std::string ToJson(const Options& options, const Judgement& judgement) {
  nlohmann::ordered_json json{{"format", "plumb-judgement"},
                              {"version", 1},
                              {"plumb", Version()},
                              {"op", options.op},
                              {"verdict", VerdictName(judgement.verdict)},
                              {"computed_as", judgement.computed_as},
                              {"cause", judgement.cause},
                              {"reason", judgement.reason},
                              {"outputs", nlohmann::ordered_json::array()}};
  for (const JudgedOutput& output : judgement.outputs) {
    nlohmann::ordered_json one{{"verdict", VerdictName(output.report.verdict)},
                               {"E", output.report.excess},
                               {"R", output.report.rms_excess},
                               {"bias", output.report.bias},
                               {"bias_z", output.report.bias_z}};
    if (!output.worst.index.empty()) {
      one["worst"] = {{"index", output.worst.index},
                      {"actual", output.worst.actual},
                      {"expected", output.worst.expected},
                      {"tau", output.worst.tau}};
    }
    json["outputs"].push_back(std::move(one));
  }
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

bool AsksForOperator(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* word) {
    const std::string_view text = word;
    const std::string_view name = text.substr(0, text.find('='));
    return name == "--op" || name == "--operator" || name == "-operator";
  });
}

int JudgeOperator(int argc, char** argv) {
  Options options;
  CommandLine command_line("model_check", "Judges what anybody's kernel computed for one call of an operator.",
                           kExamples);
  options.AddTo(&command_line);
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  const auto judgement = Judge(options);
  if (!judgement.ok()) return Fail(judgement.status());
  const std::string verdict = VerdictName(judgement->verdict);
  Print("{}: {}\n", options.op, options.shown.quiet ? verdict : judgement->Describe());
  if (!options.json.empty()) {
    const Status written = WriteOutput(options.json, ToJson(options, *judgement));
    if (!written.ok()) return Fail(written);
  }
  const bool right = judgement->verdict == Verdict::kAligned || judgement->verdict == Verdict::kGrey;
  return right ? kExitOk : kExitMisaligned;
}

}  // namespace plumb
