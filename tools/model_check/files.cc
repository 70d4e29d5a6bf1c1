// SPDX-License-Identifier: Apache-2.0
#include "model_check/files.h"

#include <fmt/core.h>

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/outputs.h"
#include "common/print.h"
#include "plumb/plumb.h"
#include "plumb/report.h"
#include "plumb/tensor_file.h"
#include "plumb/tool/file.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

std::string FileName(std::string name) {
  for (char& c : name) c = c == '/' || c == ':' ? '_' : c;
  return name;
}

Status MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST) return Status::Ok();
  return Status::IoError(fmt::format("cannot make folder '{}': {}", folder, std::strerror(errno)));
}

std::string ValuesText(const Tensor& tensor) {
  std::string text;
  char line[40];
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    std::snprintf(line, sizeof(line), "%.9g\n", tensor.ValueAt(i));
    text += line;
  }
  return text;
}

Result<Tensor> BatchItem(const Tensor& tensor, int64_t item) {
  const size_t bytes = tensor.bytes() / static_cast<size_t>(tensor.shape()[0]);
  Shape shape = tensor.shape();
  shape[0] = 1;
  PLUMB_ASSIGN_OR_RETURN(Tensor part, Tensor::Create(tensor.dtype(), shape));
  std::memcpy(part.raw(), static_cast<const char*>(tensor.raw()) + bytes * static_cast<size_t>(item), bytes);
  return part;
}

Result<bool> CompareOne(const ComparisonRule& rule, const std::string& label, const Tensor& device,
                        const Tensor& reference) {
  auto compared = CompareByRule(rule, device, reference);
  if (!compared.ok()) return compared.status().AddContext(label);
  const ComparisonResult& result = *compared;
  const DiffMetrics& m = result.metrics;
  Print("{}  max abs {:.3e} at {}  max rel {:.3e}  cosine {:.9f}  SNR {:.1f} dB  {}{}\n", PrintableLine(label),
        m.max_abs, m.worst < 0 ? "-" : Coordinates(m.worst, device.shape()), m.max_rel, m.cosine, m.snr_db,
        result.pass ? "aligned" : "wrong: ", PrintableLine(result.reason));
  return result.pass;
}

// Compares the outputs of every layer with text files.
class FileObserver : public Observer {
 public:
  explicit FileObserver(const FileOptions& options, ComparisonRule rule) : options_(options), rule_(rule) {}

  Status After(const LayerEvent& event) override {
    for (size_t i = 0; i < event.step().outputs.size(); ++i) PLUMB_RETURN_IF_ERROR(Compare(event, i));
    return Status::Ok();
  }

  int compared = 0, missing = 0, wrong = 0;

 private:
  Status Compare(const LayerEvent& event, size_t i) {
    const PortInfo& port = event.step().outputs[i];
    const std::string path = fmt::format("{}{}.txt", options_.layer_files, FileName(port.blob));
    TensorHints hints;
    hints.dtype = port.dtype;
    const auto file = ReadTensors(path, hints);
    const std::string label = fmt::format("layer {} '{}' blob '{}'", port.layer_index, port.layer_name, port.blob);
    if (!file.ok()) {
      ++missing;
      Print("{}  not tested: {}\n", PrintableLine(label), PrintableLine(file.status().message()));
      return Status::Ok();
    }
    PLUMB_ASSIGN_OR_RETURN(const Tensor own, event.Output(i));
    PLUMB_ASSIGN_OR_RETURN(const bool pass, CompareOne(rule_, label, own, file->front().tensor));
    ++compared;
    wrong += !pass;
    if (!pass && !options_.failing_folder.empty())
      return WritePair(options_.failing_folder, port.blob, file->front().tensor, own);
    return Status::Ok();
  }

  const FileOptions& options_;
  ComparisonRule rule_;
};

}  // namespace

void FileOptions::AddTo(CommandLine* c) {
  c->Group("Comparing without a bound (TNN's options)");
  c->Flag("--outputs-only", &outputs_only, "compare network outputs only, by --rule");
  c->Add("--reference", &reference, "also compare network outputs with this file (needs -i)");
  c->Flag("--double-batch", &double_batch, "double dim 0 of all inputs and compare each batch item");
  c->Add("--layer-files", &layer_files, "compare every layer of NAIVE with <this><blob>.txt ('/' and ':' as '_')");
  c->Add("--output-folder", &output_folder, "write cpu_<output>.txt and device_<output>.txt there");
  c->AddOptional("--output", &output_here, ".", "the same, here or in the folder named");
  c->Add("--failing-folder", &failing_folder, "write both sides of every blob that is wrong there");
  c->Add("--rule", &rule, "default, allclose, tnn or cosine");
  c->Add("--atol", &atol, "of --rule default (1e-5 of the largest value) or allclose (1e-8)");
  c->Add("--rtol", &rtol, "of --rule default (1e-3) or allclose (1e-5)");
  for (const char* rule_option : {"--rule", "--atol", "--rtol"}) {
    c->OnlyWith(rule_option, {"--outputs-only", "--reference", "--layer-files"});
  }
  for (const char* folder : {"--output-folder", "--output"}) c->NotWith(folder, {"--layer-files"}, "no device runs");
  c->NotWith("--output", {"--output-folder"}, "the folder is named twice");
  c->NotWith("--reference", {"--layer-files"}, "no device runs");
  c->NotWith("--outputs-only", {"--layer-files"}, "no device runs");
  c->NotWith("--failing-folder", {"--outputs-only"}, "layers are not judged; --do writes the outputs");
  c->Check([this] { return CheckFolders(); });
}

Status FileOptions::CheckFolders() {
  if (!output_here.empty()) output_folder = output_here;
  PLUMB_RETURN_IF_ERROR(Rule().status());
  if (!output_folder.empty()) PLUMB_RETURN_IF_ERROR(CheckOutputFolder("--do", output_folder));
  return failing_folder.empty() ? Status::Ok() : CheckOutputFolder("--du", failing_folder);
}

Result<ComparisonRule> FileOptions::Rule() const {
  ComparisonRule result;
  PLUMB_ASSIGN_OR_RETURN(result.kind, ParseRule(rule));
  for (const auto& [text, target, option] :
       {std::tuple(&atol, &result.atol, "--atol"), std::tuple(&rtol, &result.rtol, "--rtol")}) {
    if (text->empty()) continue;
    PLUMB_ASSIGN_OR_RETURN(const std::vector<double> values, ParseNumbers(option, *text));
    if (values.size() != 1 || !(values[0] >= 0))
      return Status::InvalidArgument(fmt::format("{}: expected a number >= 0, found '{}'", option, *text));
    *target = values[0];
  }
  PLUMB_RETURN_IF_ERROR(result.CheckTolerances());
  return result;
}

Status DoubleBatch(NetworkInputs* inputs, std::map<std::string, Shape>* shapes) {
  int64_t batch = -1;
  for (auto& [name, value] : inputs->values) {
    Shape shape = value.shape();
    if (shape.rank() == 0 || (batch >= 0 && shape[0] != batch)) {
      return Status::InvalidArgument(
          fmt::format("-b: all inputs must have the same dim 0, '{}' is {}", name, shape.ToString()));
    }
    batch = shape[0];
    shape[0] *= 2;
    PLUMB_ASSIGN_OR_RETURN(Tensor twice, Tensor::Create(value.dtype(), shape));
    std::memcpy(twice.raw(), value.raw(), value.bytes());
    std::memcpy(static_cast<char*>(twice.raw()) + value.bytes(), value.raw(), value.bytes());
    (*shapes)[name] = shape;
    value = std::move(twice);
  }
  for (std::string& line : inputs->lines) line += ", twice along dim 0";
  return Status::Ok();
}

Result<NamedValues> RunReference(const std::shared_ptr<const Graph>& graph, const NetworkOptions& options,
                                 const NetworkInputs& inputs) {
  PLUMB_ASSIGN_OR_RETURN(const auto device, OpenDevice("NAIVE"));
  PLUMB_ASSIGN_OR_RETURN(const auto network, Network::Create(graph, device, options));
  return RunNetwork(network.get(), inputs.values);
}

namespace {

// The outputs of one batch, for a network that ran on two of them (-b).
Status RepeatFor(const Tensor& wanted, Tensor* reference) {
  if (reference->NumElements() * 2 != wanted.NumElements()) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(Tensor twice, Tensor::Create(reference->dtype(), wanted.shape()));
  for (size_t half = 0; half < 2; ++half)
    std::memcpy(static_cast<char*>(twice.raw()) + half * reference->bytes(), reference->raw(), reference->bytes());
  *reference = std::move(twice);
  return Status::Ok();
}

}  // namespace

Result<NamedValues> ReadReference(const std::string& path, const NamedValues& like, bool doubled) {
  TensorHints hints;
  if (like.size() == 1 && !doubled) {
    hints.dtype = like.begin()->second.dtype();
    hints.shape = like.begin()->second.shape();
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors, ReadTensors(path, hints));
  NamedValues values;
  for (const NamedTensor& named : tensors) {
    const bool only = tensors.size() == 1 && like.size() == 1;
    values[only ? like.begin()->first : named.name] = named.tensor;
  }
  for (const auto& [name, value] : like) {
    const auto it = values.find(name);
    if (it == values.end())
      return Status::InvalidArgument(
          fmt::format("-f: file '{}' has no tensor for the network output '{}'", path, name));
    if (doubled) PLUMB_RETURN_IF_ERROR(RepeatFor(value, &it->second));
    if (it->second.NumElements() != value.NumElements()) {
      return Status::InvalidArgument(fmt::format("-f: file '{}': network output '{}' is {}, found {}", path, name,
                                                 value.shape().ToString(), it->second.shape().ToString()));
    }
  }
  return values;
}

Result<bool> CompareOutputs(const ComparisonRule& rule, const NamedValues& device, const NamedValues& reference,
                            bool by_item) {
  bool all = true;
  for (const auto& [name, value] : device) {
    const Tensor& expected = reference.at(name);
    const bool split = by_item && value.shape().rank() > 0 && value.shape() == expected.shape();
    if (!split) {
      PLUMB_ASSIGN_OR_RETURN(const bool pass, CompareOne(rule, fmt::format("output '{}'", name), value, expected));
      all = all && pass;
      continue;
    }
    for (int64_t item = 0; item < value.shape()[0]; ++item) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor a, BatchItem(value, item));
      PLUMB_ASSIGN_OR_RETURN(const Tensor b, BatchItem(expected, item));
      PLUMB_ASSIGN_OR_RETURN(const bool pass, CompareOne(rule, fmt::format("output '{}' batch {}", name, item), a, b));
      all = all && pass;
    }
  }
  return all;
}

Status WritePair(const std::string& folder, const std::string& name, const Tensor& reference, const Tensor& device) {
  PLUMB_RETURN_IF_ERROR(MakeFolder(folder));
  PLUMB_RETURN_IF_ERROR(WriteFile(fmt::format("{}/cpu_{}.txt", folder, FileName(name)), ValuesText(reference)));
  return WriteFile(fmt::format("{}/device_{}.txt", folder, FileName(name)), ValuesText(device));
}

Result<FileComparison> CompareLayerFiles(const FileOptions& options, const std::shared_ptr<const Graph>& graph,
                                         const NetworkOptions& network_options, const NetworkInputs& inputs) {
  PLUMB_ASSIGN_OR_RETURN(const ComparisonRule rule, options.Rule());
  PLUMB_ASSIGN_OR_RETURN(const auto device, OpenDevice("NAIVE"));
  PLUMB_ASSIGN_OR_RETURN(const auto network, Network::Create(graph, device, network_options));
  FileObserver observer(options, rule);
  network->AddObserver(&observer);
  PLUMB_RETURN_IF_ERROR(RunNetwork(network.get(), inputs.values).status());
  Print("NAIVE against {}*.txt, rule {}: {} blobs compared, {} wrong, {} without a file (not tested)\n",
        options.layer_files, rule.Describe(), observer.compared, observer.wrong, observer.missing);
  const int all = observer.compared + observer.missing;
  FileComparison comparison;
  comparison.what =
      fmt::format("layers against {}*, {} of {} blobs compared", options.layer_files, observer.compared, all);
  comparison.verdict = observer.wrong > 0                        ? Verdict::kWrong
                       : observer.compared * 2 < all || all == 0 ? Verdict::kNotTested
                                                                 : Verdict::kAligned;
  return comparison;
}

}  // namespace plumb
