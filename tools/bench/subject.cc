// SPDX-License-Identifier: Apache-2.0
// bench_subject [NETWORK [SIZE [KIND]]]: what judging a subject costs by how it was computed, against one in f32 of the
// same network (default: squeezenet_v1.0 of 64x64 pixels).
//
// The subjects are computed here, layer by layer, by the reference: in f32; with weights and results rounded to f16 or
// bf16; with weights rounded to int8 per channel or per tensor and results on grids of 255 steps. Each is judged
// healthy and with one layer off. Processor time of all threads, the best of three.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "check/numbers/stored_half.h"
#include "graph/random_inputs.h"
#include "plumb/session.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

using Round = std::function<Result<Tensor>(const Tensor& values)>;

struct Kind {
  const char* name;
  Round weights, results;
  bool constants = false;  // biases are rounded as weights are
};

// To `levels` steps of the largest value of each of `runs` equal runs.
Result<Tensor> OnGrid(const Tensor& values, int64_t runs, double levels) {
  PLUMB_ASSIGN_OR_RETURN(Tensor rounded, values.Clone());
  const int64_t length = values.NumElements() / std::max<int64_t>(runs, 1);
  for (int64_t r = 0; r < runs && values.dtype() == DType::kF32; ++r) {
    float *first = rounded.data<float>() + r * length, *last = first + length;
    float largest = 0;
    for (const float* x = first; x < last; ++x) largest = std::max(largest, std::fabs(*x));
    const double step = static_cast<double>(largest) / levels;
    for (float* x = first; x < last && step > 0; ++x)
      *x = static_cast<float>(std::nearbyint(static_cast<double>(*x) / step) * step);
  }
  return rounded;
}

std::vector<Kind> Kinds() {
  const Round as_is = [](const Tensor& values) { return Result<Tensor>(values); };
  const auto stored = [](DType format) -> Round {
    return [format](const Tensor& values) { return RoundedTo(format, values); };
  };
  const Round grid = [](const Tensor& values) { return OnGrid(values, 1, 127); };
  const Round channels = [](const Tensor& values) { return OnGrid(values, values.shape()[0], 127); };
  return {{"f32", as_is, as_is},
          {"f16", stored(DType::kF16), stored(DType::kF16), true},
          {"bf16", stored(DType::kBF16), stored(DType::kBF16), true},
          {"dumped as f16", as_is, stored(DType::kF16)},
          {"int8, weights per channel", channels, grid},
          {"int8, weights per tensor", grid, grid}};
}

// All blobs; with `off` the result of the layer in the middle is off by 5 %.
Result<std::vector<NamedTensor>> Compute(const Graph& graph, const BlobTable& infos, const Kind& kind, bool off) {
  std::map<std::string, Tensor> blobs;
  for (const GraphInput& input : graph.inputs) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor drawn, RandomInput(input.name, input.dtype, infos.at(input.name).shape, 1, {}));
    PLUMB_ASSIGN_OR_RETURN(blobs[input.name], kind.results(drawn));
  }
  for (size_t l = 0; l < graph.layers.size(); ++l) {
    Layer layer = graph.layers[l];
    for (auto& [slot, value] : layer.resources) {
      if (slot != "weight" && !kind.constants) continue;
      PLUMB_ASSIGN_OR_RETURN(value, kind.weights(value));
    }
    std::vector<Tensor> outputs;
    for (const std::string& name : layer.outputs) {
      PLUMB_ASSIGN_OR_RETURN(Tensor output, Tensor::Create(DType::kF32, infos.at(name).shape));
      outputs.push_back(std::move(output));
    }
    ReferenceArgs args{layer, {}, {}};
    for (Tensor& output : outputs) args.outputs.push_back(&output);
    for (const std::string& name : layer.inputs) args.inputs.push_back(&blobs.at(name));
    PLUMB_RETURN_IF_ERROR(GetReferenceOp(layer.kind).run(args));
    for (size_t o = 0; o < outputs.size(); ++o) {
      float* values = outputs[o].data<float>();
      for (int64_t i = 0; off && l == graph.layers.size() / 2 && i < outputs[o].NumElements(); ++i) values[i] *= 1.05f;
      PLUMB_ASSIGN_OR_RETURN(blobs[layer.outputs[o]], kind.results(outputs[o]));
    }
  }
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : blobs) tensors.push_back({name, tensor});
  return tensors;
}

Result<double> SecondsToJudge(const std::string& model, SessionOptions options, std::string* summary) {
  double best = INFINITY;
  for (int round = 0; round < 3; ++round) {
    PLUMB_ASSIGN_OR_RETURN(const auto session, Session::Open({model, ""}, options));
    const std::clock_t before = std::clock();
    PLUMB_ASSIGN_OR_RETURN(const RunReport report, session->JudgeSubject());
    best = std::min(best, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
    *summary = fmt::format("{} wrong, {} grey, {}", report.Count(Verdict::kWrong), report.Count(Verdict::kGrey),
                           report.judged_as);
  }
  return best;
}

Status Run(const std::string& network, int64_t size, const std::string& only) {
  const std::string model = std::string(PLUMB_NETWORKS "/") + network + ".tnnproto";
  SessionOptions options;
  PLUMB_ASSIGN_OR_RETURN(const Graph declared, LoadModel(model));
  const Shape& shape = declared.inputs[0].shape;
  options.load.input_shapes[declared.inputs[0].name] = {shape[0], shape[1], size, size};
  PLUMB_ASSIGN_OR_RETURN(const Graph graph, LoadModel(model, options.load));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  for (const bool off : {false, true}) {
    double of_f32 = 0;
    for (const Kind& kind : Kinds()) {
      if (std::string(kind.name).rfind(only, 0) != 0) continue;
      PLUMB_ASSIGN_OR_RETURN(options.subject.tensors, Compute(graph, blobs, kind, off));
      std::string summary;
      PLUMB_ASSIGN_OR_RETURN(const double seconds, SecondsToJudge(model, options, &summary));
      if (of_f32 == 0) of_f32 = seconds;
      std::printf("%-8s %-26s %7.2f s %6.2f times the first   %s\n", off ? "one off" : "healthy", kind.name, seconds,
                  seconds / of_f32, summary.c_str());
      std::fflush(stdout);
    }
    if (of_f32 == 0) return Status::InvalidArgument(fmt::format("no kind of subject begins with '{}'", only));
  }
  return Status::Ok();
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  const plumb::Status status =
      plumb::Run(argc > 1 ? argv[1] : "squeezenet_v1.0", argc > 2 ? std::atoll(argv[2]) : 64, argc > 3 ? argv[3] : "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 2;
}
