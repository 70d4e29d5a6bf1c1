// SPDX-License-Identifier: Apache-2.0
// check_model MODEL [DEVICE]: loads a model, runs it on a device in lockstep with the reference, and prints the first
// layer that computes something else than it should. Exit code 0: none does, 1: one does, 2: it could not be done.
#include <plumb/check.h>
#include <plumb/plumb.h>

#include <cmath>
#include <cstdio>

namespace {

// Any values will do to compare two computations; those of a real input judge the layers where it matters.
plumb::Result<plumb::Tensor> Ramp(const plumb::BlobInfo& info) {
  PLUMB_ASSIGN_OR_RETURN(plumb::Tensor tensor, plumb::Tensor::Zeros(info.dtype, info.shape));
  if (info.dtype != plumb::DType::kF32) return tensor;
  float* values = tensor.data<float>();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) values[i] = std::sin(0.7f * static_cast<float>(i));
  return tensor;
}

plumb::Result<plumb::RunReport> Check(const std::string& path, const std::string& device) {
  plumb::LoadOptions load;
  load.evaluator = plumb::ReferenceEvaluator();  // folds what is constant in an .onnx
  PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, plumb::LoadModel(path, load));
  PLUMB_ASSIGN_OR_RETURN(const auto network, plumb::CreateNetwork(std::move(graph), device));
  std::map<std::string, plumb::Tensor> inputs;
  for (const plumb::GraphInput& input : network->graph().inputs) {
    PLUMB_ASSIGN_OR_RETURN(inputs[input.name], Ramp(network->blobs().at(input.name)));
    PLUMB_RETURN_IF_ERROR(network->SetInput(input.name, inputs[input.name]));
  }
  plumb::Checker checker;
  PLUMB_RETURN_IF_ERROR(checker.Attach(network.get(), inputs));
  PLUMB_RETURN_IF_ERROR(network->Forward());
  return checker.Finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s MODEL [DEVICE]\n", argv[0]);
    return 2;
  }
  const auto report = Check(argv[1], argc == 3 ? argv[2] : "X86");
  if (!report.ok()) {
    std::fprintf(stderr, "check_model: %s\n", report.status().message().c_str());
    return 2;
  }
  std::printf("%s: %s, %d of %zu layers aligned, %lld values compared\n", report->device.c_str(),
              plumb::VerdictName(report->verdict), report->Count(plumb::Verdict::kAligned), report->layers.size(),
              static_cast<long long>(report->coverage.values));
  for (const plumb::OutputSummary& output : report->outputs) {
    std::printf("output '%s' %s begins with %g\n", output.name.c_str(), output.device.shape().ToString().c_str(),
                output.device.NumElements() > 0 ? output.device.ValueAt(0) : 0.0);
  }
  if (report->first_wrong < 0) {
    std::puts("no layer is wrong");
    return report->verdict == plumb::Verdict::kNotTested ? 1 : 0;
  }
  const plumb::LayerReport& layer = report->layers[static_cast<size_t>(report->first_wrong)];
  std::printf("the first wrong layer is %d '%s' (%s), kernel %s: %s\n", layer.step.index, layer.step.name.c_str(),
              layer.step.type.c_str(), layer.step.kernel.c_str(), layer.reason.c_str());
  return 1;
}
