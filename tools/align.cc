#include "align.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/printable.h"
#include "common/model_options.h"
#include "plumb/golden.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

struct Difference {
  double largest = 0;   // |ours - theirs|
  double relative = 0;  // of the largest |theirs|
  int64_t at = 0;
  double ours = 0, theirs = 0;
  std::string problem;  // another shape

  bool Within(double tolerance) const { return problem.empty() && relative <= tolerance; }
};

Difference Compare(const Tensor& ours, const Tensor& theirs) {
  Difference d;
  if (ours.shape() != theirs.shape()) {
    d.problem = "has the shape " + ours.shape().ToString() + ", ONNX Runtime's is " + theirs.shape().ToString();
    return d;
  }
  double scale = 0;
  for (int64_t i = 0; i < ours.NumElements(); ++i) {
    const double a = ours.ValueAt(i), b = theirs.ValueAt(i);
    if (std::isfinite(b)) scale = std::max(scale, std::fabs(b));
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY;
    if (difference <= d.largest) continue;
    d.largest = difference;
    d.at = i;
  }
  if (d.largest > 0) {
    d.ours = ours.ValueAt(d.at);
    d.theirs = theirs.ValueAt(d.at);
    d.relative = scale > 0 ? d.largest / scale : INFINITY;
  }
  return d;
}

std::string Text(const Difference& d) {
  if (!d.problem.empty()) return d.problem;
  char text[160];
  if (d.largest == 0) return "the same bits or values";
  std::snprintf(text, sizeof(text), "largest difference %.3g (%.2g of the largest value) at #%lld: %.9g, ONNX Runtime has %.9g", d.largest,
                d.relative, static_cast<long long>(d.at), d.ours, d.theirs);
  return text;
}

// Compares every tensor that both sides have while the network runs.
class LayerWatcher : public Observer {
 public:
  LayerWatcher(const Golden& golden, double tolerance, bool print_all) : golden_(golden), tolerance_(tolerance), print_all_(print_all) {}

  Status After(const LayerEvent& event) override {
    for (size_t i = 0; i < event.step().outputs.size(); ++i) {
      const auto it = golden_.tensors.find(event.step().outputs[i].blob);
      if (it == golden_.tensors.end()) {
        ++unpaired_;
        continue;
      }
      PLUMB_ASSIGN_OR_RETURN(const Tensor ours, event.Output(i));
      const Difference d = Compare(ours, it->second);
      ++compared_;
      const std::string line = Describe(event.step()) + " tensor '" + it->first + "' " + Text(d);
      if (print_all_) std::printf("  %s %s\n", d.Within(tolerance_) ? "equal  " : "DIFFERS", PrintableLine(line).c_str());
      if (!d.Within(tolerance_) && first_.empty()) first_ = line;
    }
    return Status::Ok();
  }

  void Report() const {
    std::printf("  layer by layer: %d tensors compared, %d have no tensor of their name in ONNX Runtime\n", compared_, unpaired_);
    if (!first_.empty()) std::printf("  the first operator that differs: %s\n", PrintableLine(first_).c_str());
  }
  bool differs() const { return !first_.empty(); }

 private:
  static std::string Describe(const StepInfo& step) {
    std::string nodes;
    for (const std::string& node : step.members.back().nodes) nodes += (nodes.empty() ? "" : ", ") + node;
    return "layer " + std::to_string(step.index) + " '" + step.name + "' (" + step.type + ", " + step.kernel + ", node " + nodes + ")";
  }

  const Golden& golden_;
  double tolerance_;
  bool print_all_;
  int compared_ = 0, unpaired_ = 0;
  std::string first_;
};

Status Forward(const std::shared_ptr<const Graph>& graph, const std::string& device, bool unfuse, const NetworkInputs& inputs,
               Observer* observer, std::unique_ptr<Network>* network) {
  NetworkOptions options;
  options.unfuse = unfuse;
  options.fallback = true;
  PLUMB_ASSIGN_OR_RETURN(*network, CreateNetwork(graph, device, options));
  if (observer != nullptr) (*network)->AddObserver(observer);
  for (const auto& [name, value] : inputs.values) PLUMB_RETURN_IF_ERROR((*network)->SetInput(name, value));
  return (*network)->Forward();
}

// Whether the device's outputs equal the golden's.
Result<bool> AlignDevice(const AlignOptions& o, const std::shared_ptr<const Graph>& graph, const std::string& device, const NetworkInputs& inputs,
                         const Golden& golden) {
  std::unique_ptr<Network> network;
  PLUMB_RETURN_IF_ERROR(Forward(graph, device, false, inputs, nullptr, &network));
  bool equal = true;
  for (const std::string& name : graph->outputs) {
    const auto it = golden.tensors.find(name);
    if (it == golden.tensors.end()) return Status::InvalidArgument("ONNX Runtime gave no tensor named '" + name + "'");
    PLUMB_ASSIGN_OR_RETURN(const Tensor ours, network->GetOutput(name));
    const Difference d = Compare(ours, it->second);
    std::printf("align   %-6s output '%s' %s: %s\n", device.c_str(), Printable(name).c_str(), ours.shape().ToString().c_str(), Text(d).c_str());
    equal = equal && d.Within(o.tolerance);
  }
  if (equal && o.mode != "all") return true;
  LayerWatcher watcher(golden, o.tolerance, o.mode == "all");
  PLUMB_RETURN_IF_ERROR(Forward(graph, device, true, inputs, &watcher, &network));
  watcher.Report();
  return equal && !watcher.differs();
}

}  // namespace

void AlignOptions::AddTo(CommandLine* c) {
  c->Group("Alignment");
  c->Choice("--align", &mode, {"outputs", "all"},
            "run the original in ONNX Runtime and the converted files on NAIVE and -d, and compare the outputs; all: "
            "every layer");
  c->Add("--device", &devices, "devices to align beside NAIVE: X86,OPENCL or ALL");
  c->Add("--align-inputs", &num_inputs, "how many generated inputs are tried (seeds --seed, --seed + 1, ...)");
  c->Add("--align-tolerance", &tolerance, "largest difference that counts as equal, as a part of the tensor's largest value");
  input.AddTo(c);
  for (const char* of_alignment : {"--device", "--align-inputs", "--align-tolerance", "--input", "--input-range",
                                   "--bias", "--scale", "--channel-order"}) {
    c->OnlyWith(of_alignment, {"--align"});
  }
  c->NotWith("--align-inputs", {"--input"}, "that is the only input");
}

Result<int> Align(const AlignOptions& o, const std::string& original, const std::string& proto, uint64_t seed,
                  const ConstantOptions& constants) {
  if (o.num_inputs < 1) return Status::InvalidArgument("--align-inputs: expected 1 or more, found " + std::to_string(o.num_inputs));
  std::vector<std::string> devices = {"NAIVE"};
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> more, ParseDevices(o.devices));
  for (const std::string& device : more) {
    if (device != "NAIVE") devices.push_back(device);
  }
  PLUMB_ASSIGN_OR_RETURN(Graph loaded, LoadModel(proto));
  const auto graph = std::make_shared<const Graph>(std::move(loaded));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(*graph));
  bool equal = true;
  std::string path;
  for (const std::string& device : devices) path += (path.empty() ? "" : ", ") + device;
  for (int k = 0; k < (o.input.files.empty() ? o.num_inputs : 1); ++k) {
    PLUMB_ASSIGN_OR_RETURN(const InputOptions input, o.input.Read(seed + static_cast<uint64_t>(k)));
    PLUMB_ASSIGN_OR_RETURN(const NetworkInputs inputs, PrepareInputs(input, *graph, blobs));
    GoldenOptions options;
    PLUMB_ASSIGN_OR_RETURN(options.constants, constants.Read());
    PLUMB_ASSIGN_OR_RETURN(const GoldenRun run, GoldenRun::OnnxRuntime(original, inputs.values, options));
    PLUMB_ASSIGN_OR_RETURN(const Golden golden, ReadGolden(run.folder()));
    for (const std::string& line : inputs.lines) std::printf("align   input %s\n", PrintableLine(line).c_str());
    for (const std::string& line : constants.Lines()) std::printf("align   input %s\n", PrintableLine(line).c_str());
    if (k == 0) std::printf("align   original: %s; tolerance %g of a tensor's largest value\n", golden.description.c_str(), o.tolerance);
    for (const std::string& device : devices) {
      PLUMB_ASSIGN_OR_RETURN(const bool same, AlignDevice(o, graph, device, inputs, golden));
      equal = equal && same;
    }
  }
  std::printf("%s: %s in ONNX Runtime and %s with its tnnmodel on %s\n", equal ? "proved equal" : "NOT equal", original.c_str(), proto.c_str(), path.c_str());
  return equal ? kExitOk : kExitMisaligned;
}

}  // namespace plumb
