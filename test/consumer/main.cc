// SPDX-License-Identifier: Apache-2.0
// A program of somebody else's, built against an installed Plumb: makes a tensor and an error, runs every example that
// README.md, doc/ and the headers show, and finds a planted fault with them. consumer absent|present: whether
// net.tnnproto lies in the current folder; consumer careless: asks for the model without looking whether there is one.
#include <plumb/align.h>
#include <plumb/check.h>
#include <plumb/diff.h>
#include <plumb/dump.h>
#include <plumb/golden.h>
#include <plumb/graph.h>
#include <plumb/inputs.h>
#include <plumb/judge.h>
#include <plumb/plumb.h>
#include <plumb/report.h>
#include <plumb/session.h>
#include <plumb/stage.h>
#include <plumb/subject.h>
#include <plumb/suggest.h>
#include <plumb/tensor_file.h>
#include <plumb/tool/baseline.h>
#include <plumb/tool/bisect.h>
#include <plumb/tool/bisect_wheels.h>
#include <plumb/tool/bundle.h>
#include <plumb/tool/check_all.h>
#include <plumb/tool/environment.h>
#include <plumb/tool/exit_code.h>
#include <plumb/tool/file.h>
#include <plumb/tool/headroom.h>
#include <plumb/tool/interrupt.h>
#include <plumb/tool/many.h>
#include <plumb/tool/many_parts.h>
#include <plumb/tool/printing.h>
#include <plumb/tool/reduce.h>
#include <plumb/tool/remote.h>
#include <plumb/tool/step_case.h>
#include <plumb/tool/support.h>
#include <plumb/weights.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "examples.inc"

namespace {

bool Says(const plumb::Status& status, const char* words) { return status.message().find(words) != std::string::npos; }

// Every blob, as NAIVE computes it.
plumb::Status Dump(const plumb::Graph& graph, const plumb::Tensor& image, const std::string& folder) {
  PLUMB_ASSIGN_OR_RETURN(const auto network, plumb::CreateNetwork(graph, "NAIVE"));
  plumb::DumpOptions dump;
  dump.inputs = dump.outputs = true;
  dump.format = plumb::DumpOptions::Format::kNpy;
  dump.folder = folder;
  PLUMB_RETURN_IF_ERROR(plumb::AddDump(network.get(), dump));
  PLUMB_RETURN_IF_ERROR(network->SetInput("input", image));
  return network->Forward();
}

// Another runtime whose pool2 is off by 1 %: the subject's judge and the comparison of dumps both name it.
plumb::Status FindPlantedFault() {
  PLUMB_ASSIGN_OR_RETURN(plumb::Golden theirs, plumb::ReadGolden("golden"));
  PLUMB_ASSIGN_OR_RETURN(theirs.tensors["pool2"], theirs.tensors["pool2"].Clone());
  plumb::Tensor& pool = theirs.tensors["pool2"];
  for (int64_t i = 0; i < pool.NumElements(); ++i) pool.data<float>()[i] *= 1.01f;
  plumb::SessionOptions options;
  for (const auto& [name, tensor] : theirs.tensors) options.subject.tensors.push_back({name, tensor});
  PLUMB_ASSIGN_OR_RETURN(const auto session, plumb::Session::Open("net.tnnproto", options));
  PLUMB_ASSIGN_OR_RETURN(const plumb::RunReport judged, session->JudgeSubject());
  if (judged.first_wrong < 0 || judged.layers[static_cast<size_t>(judged.first_wrong)].step.name != "pool2") {
    return plumb::Status::Mismatch("the subject's pool2 was not found: " +
                                   plumb::FormatSummary(session->Describe(), judged));
  }
  PLUMB_RETURN_IF_ERROR(plumb::WriteTensors("theirs.npz", options.subject.tensors));
  PLUMB_ASSIGN_OR_RETURN(const plumb::DiffReport diff, plumb::DiffDumps("theirs.npz", "golden"));
  if (diff.FirstWrong() != nullptr && diff.FirstWrong()->blob == "pool2") return plumb::Status::Ok();
  return plumb::Status::Mismatch("the difference in pool2 was not found: " + plumb::FormatDiffSummary(diff));
}

// Prints the first example that does not end as it should.
bool RunExamples(bool present, const plumb::Tensor& image) {
  auto graph = plumb::LoadModel("net.tnnproto");
  if (graph.ok() != present) return false;
  std::unique_ptr<plumb::Network> network;
  if (present) {
    for (const char* folder : {"their_dump", "golden"}) {  // what the examples call other runtimes' tensors
      if (const plumb::Status dumped = Dump(*graph, image, folder); !dumped.ok())
        return std::puts(dumped.message().c_str()), false;
    }
    auto made = plumb::CreateNetwork(std::move(*graph), "NAIVE");
    if (!made.ok()) return false;
    network = std::move(*made);
  }
  for (const Example& example : kExamples) {
    if (!present && std::strncmp(example.where, "dump.md", 7) == 0) continue;  // it takes a network that there is
    const auto is_of = [&](const char* file) { return std::strncmp(example.where, file, std::strlen(file)) == 0; };
    if (is_of("bisect_wheels.h") || is_of("many_parts.h")) continue;  // compiled alone: they start programs
    const plumb::Status status = example.run(image, network);
    // The first makes its model itself, the others need none.
    const bool reads = !is_of("graph.h") && !is_of("judge.h") && !is_of("stage.h");
    // Of models of other formats, which are never here.
    const bool of_others = is_of("bisect.h") || is_of("bundle.h") || is_of("reduce.h") || is_of("suggest.h");
    if (of_others ? Says(status, "'net.onnx'") : is_of("weights.h") && Says(status, "'net.pt'")) continue;
    if (present || !reads ? status.ok() : Says(status, "net.tnnproto") || Says(status, "there is no file or folder"))
      continue;
    std::printf("%s: %s\n", example.where, status.ToString().c_str());
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::strcmp(argv[1], "careless") == 0) return static_cast<int>(plumb::LoadModel("net.tnnproto")->layers.size());
  const bool present = std::strcmp(argv[1], "present") == 0;
  const plumb::Result<plumb::Tensor> image = plumb::Tensor::Zeros(plumb::DType::kF32, {1, 1, 8, 8});
  if (!image.ok() || image->NumElements() != 64) return 1;
  const plumb::Result<plumb::Tensor> wrong = plumb::Tensor::Zeros(plumb::DType::kF32, {1, -3});
  if (wrong.ok()) return 1;
  std::printf("consumer: %s; %s\n", image->shape().ToString().c_str(), wrong.status().ToString().c_str());
  if (sizeof(kExamples) / sizeof(kExamples[0]) < 3) return 1;  // network.h, check.h, doc/dump.md
  const bool has_x86 = plumb::OpenDevice("X86").ok();          // which the examples name
  if (present && !has_x86) return std::puts("every example ran: none here, this build has no X86"), 0;
  if (!RunExamples(present, *image)) return 1;
  const plumb::Status found = present ? FindPlantedFault() : plumb::Status::Ok();
  if (!found.ok()) return std::puts(found.message().c_str()), 1;
  const plumb::Result<plumb::Tensor> prob = Classify(*image);
  if (present ? !prob.ok() || prob->NumElements() != 10 : !Says(prob.status(), "net.tnnproto")) {
    return std::printf("README.md: %s\n", prob.status().ToString().c_str()), 1;
  }
  std::puts(present ? "every example ran" : "every example says that 'net.tnnproto' is not there");
  return 0;
}
