// Checker: an observer that replays every step on the reference and judges it; holds live blobs only.
#include <algorithm>
#include <cstring>

#include "check/judge.h"
#include "check/metrics.h"
#include "check/replay.h"
#include "plumb/check.h"

namespace plumb {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAligned: return "aligned";
    case Verdict::kNotTested: return "not tested";
    case Verdict::kGrey: return "grey";
    case Verdict::kWrong: return "wrong";
  }
  return "wrong";
}

const OutputReport* LayerReport::Worst() const {
  const OutputReport* worst = nullptr;
  for (const OutputReport& output : outputs) {
    if (worst == nullptr || output.verdict > worst->verdict ||
        (output.verdict == worst->verdict && output.excess > worst->excess)) {
      worst = &output;
    }
  }
  return worst;
}

int RunReport::Count(Verdict wanted) const {
  int count = 0;
  for (const LayerReport& layer : layers) count += layer.verdict == wanted;
  return count;
}

namespace {

// A 64-bit fingerprint (multiply-mix over 8-byte words) that tells whether a blob changed between its writer and reader.
uint64_t Fingerprint(const Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.raw());
  const size_t size = tensor.bytes();
  uint64_t lanes[4] = {1, 2, 3, 4};
  size_t i = 0;
  for (; i + 32 <= size; i += 32) {
    uint64_t words[4];
    std::memcpy(words, bytes + i, 32);
    for (int lane = 0; lane < 4; ++lane) lanes[lane] = (lanes[lane] ^ words[lane]) * 0x9E3779B97F4A7C15ull;
  }
  for (; i < size; ++i) lanes[0] = (lanes[0] ^ bytes[i]) * 0x9E3779B97F4A7C15ull;
  return lanes[0] ^ (lanes[1] << 1) ^ (lanes[2] << 2) ^ (lanes[3] << 3) ^ (lanes[0] >> 29);
}

Result<Tensor> Widened(const Tensor& tensor) {
  return tensor.dtype() == DType::kF32 ? tensor.ConvertedTo(DType::kF64) : Result<Tensor>(tensor);
}

bool AllFinite(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF64) return true;
  const double* values = tensor.data<double>();
  double sum = 0;  // x * 0 is NaN when x is not finite
  for (int64_t i = 0; i < tensor.NumElements(); ++i) sum += values[i] * 0;
  return sum == 0;
}

// The slope test was measured on convolutions only.
bool HasSlopeTest(const LayerGroup& group) {
  return group.first().kind == OpKind::kConvolution || group.first().kind == OpKind::kConvolution1D;
}

}  // namespace

class Checker::Impl : public Observer {
 public:
  explicit Impl(CheckOptions options) : options_(options) {}

  Status Attach(Network* network, const std::map<std::string, Tensor>& inputs) {
    network_ = network;
    report_.device = network->device_name();
    report_.device_description = network->device_description();
    for (const StepInfo* step : network->steps()) {
      for (const PortInfo& port : step->inputs) ++readers_[port.blob];
    }
    for (const std::string& output : network->graph().outputs) ++readers_[output];
    for (const auto& [name, value] : inputs) {
      PLUMB_ASSIGN_OR_RETURN(own_[name], Widened(value));
      written_[name] = Fingerprint(value);
    }
    return Status::Ok();
  }

  bool Wants(const StepInfo&, int) override { return !done_; }

  Status Before(const LayerEvent& event) override {
    inputs_.clear();
    inputs_finite_ = true;
    changed_.clear();
    for (size_t i = 0; i < event.step().inputs.size(); ++i) {
      const PortInfo& port = event.step().inputs[i];
      if (port.constant) {
        PLUMB_ASSIGN_OR_RETURN(Tensor value, Widened(network_->blobs().at(port.blob).value));
        inputs_.push_back(std::move(value));
        continue;
      }
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, event.Input(i));
      const auto it = written_.find(port.blob);
      if (it != written_.end() && it->second != Fingerprint(value)) changed_ = port.blob;
      PLUMB_ASSIGN_OR_RETURN(Tensor wide, Widened(value));
      inputs_finite_ = inputs_finite_ && AllFinite(wide);
      inputs_.push_back(std::move(wide));
    }
    return Status::Ok();
  }

  Status After(const LayerEvent& event) override {
    LayerReport layer;
    layer.step = event.step();
    layer.step.group = nullptr;
    layer.device_seconds = event.seconds();
    const Status status = JudgeStep(event, &layer);
    if (!status.ok()) {
      layer.verdict = Verdict::kNotTested;
      layer.reason = status.message();
    }
    Status handed_over = HandOverWrong(layer);
    Release(event.step());
    device_.clear();
    replayed_ = {};
    report_.layers.push_back(std::move(layer));
    inputs_.clear();
    return handed_over;
  }

  Status ForwardEnd(int) override {
    done_ = true;
    return Status::Ok();
  }

  Result<RunReport> Finish() {
    for (const std::string& name : network_->graph().outputs) {
      OutputSummary summary;
      summary.name = name;
      PLUMB_ASSIGN_OR_RETURN(summary.device, network_->GetOutput(name));
      const auto own = own_.find(name);
      if (own != own_.end()) summary.reference = own->second;
      report_.outputs.push_back(std::move(summary));
    }
    bool compared = false;
    for (size_t i = 0; i < report_.layers.size(); ++i) {
      const LayerReport& layer = report_.layers[i];
      compared = compared || layer.verdict != Verdict::kNotTested;
      if (layer.verdict == Verdict::kWrong && report_.first_wrong < 0) report_.first_wrong = static_cast<int>(i);
      if (layer.verdict != Verdict::kNotTested) report_.verdict = std::max(report_.verdict, layer.verdict);
    }
    if (compared && report_.verdict == Verdict::kNotTested) report_.verdict = Verdict::kAligned;
    return std::move(report_);
  }

 private:
  Status HandOverWrong(const LayerReport& layer) {
    if (layer.verdict != Verdict::kWrong || !options_.on_wrong) return Status::Ok();
    for (size_t i = 0; i < layer.outputs.size(); ++i) {
      if (layer.outputs[i].verdict != Verdict::kWrong) continue;
      PLUMB_RETURN_IF_ERROR(options_.on_wrong(layer.outputs[i].blob, device_[i], replayed_.values[i]));
    }
    return Status::Ok();
  }

  Status JudgeStep(const LayerEvent& event, LayerReport* layer) {
    const LayerGroup& group = *event.step().group;
    const BlobTable& blobs = network_->blobs();
    PLUMB_RETURN_IF_ERROR(RunOwn(group, blobs));
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(Tensor output, event.Output(i));
      written_[group.outputs[i].blob] = Fingerprint(output);
      device_.push_back(std::move(output));
    }
    if (event.step().fallback) return Status::NotSupported("ran on " + event.step().device + ", the device has no kernel for it");
    const int max_level = MaxBoundLevel(group);
    for (int level = 0; level <= max_level; ++level) {
      PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayWithBound(group, inputs_, blobs, Arithmetic(), level));
      JudgeOutputs(event.step(), device_, replay, level, layer);
      replayed_ = replay;
      if (layer->verdict <= Verdict::kNotTested) break;  // a wider bound would not change that
    }
    if (!changed_.empty()) {
      layer->verdict = Verdict::kWrong;
      layer->reason = "blob '" + changed_ + "' changed between the layer that wrote it and this one: memory is shared wrongly";
    }
    for (const OutputReport& output : layer->outputs) report_.compared_values += output.introduced.count;
    return Status::Ok();
  }

  void JudgeOutputs(const StepInfo& step, const std::vector<Tensor>& device, const ReplayResult& replay, int level,
                    LayerReport* layer) {
    layer->outputs.clear();
    layer->verdict = Verdict::kAligned;
    layer->reason.clear();
    bool tested = false;
    for (size_t i = 0; i < device.size(); ++i) {
      OutputReport output;
      output.blob = step.outputs[i].blob;
      output.slot = step.outputs[i].slot;
      output.dtype = device[i].dtype();
      output.shape = device[i].shape();
      output.layout = step.outputs[i].layout;
      output.level = level;
      Judge({device[i], replay.values[i], replay.tau[i], HasSlopeTest(*step.group), inputs_finite_}, &output);
      output.introduced = CompareTensors(device[i], replay.values[i]);
      const auto own = own_.find(output.blob);
      if (own != own_.end()) {
        output.inherited = CompareTensors(replay.values[i], own->second);
        output.total = CompareTensors(device[i], own->second);
      }
      tested = tested || output.verdict != Verdict::kNotTested;
      layer->outputs.push_back(std::move(output));
    }
    const OutputReport* worst = layer->Worst();
    if (worst == nullptr) return;
    layer->verdict = tested && worst->verdict == Verdict::kNotTested ? Verdict::kAligned : worst->verdict;
    layer->reason = worst->reason;
  }

  // The reference's own run from the network input.
  Status RunOwn(const LayerGroup& group, const BlobTable& blobs) {
    if (!options_.inherited) return Status::Ok();
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      const auto it = own_.find(group.inputs[i].blob);
      if (it != own_.end()) {
        inputs.push_back(it->second);
      } else if (!blobs.at(group.inputs[i].blob).value.empty()) {
        inputs.push_back(inputs_[i]);
      } else {
        return Status::Ok();  // an earlier layer could not be replayed; nothing is inherited from here on
      }
    }
    PLUMB_ASSIGN_OR_RETURN(ReplayResult own, ReplayValues(group, inputs, blobs));
    for (size_t i = 0; i < group.outputs.size(); ++i) own_[group.outputs[i].blob] = std::move(own.values[i]);
    size_t live = 0;
    for (const auto& entry : own_) live += entry.second.bytes();
    report_.peak_reference_bytes = std::max(report_.peak_reference_bytes, live);
    return Status::Ok();
  }

  // Drops what nobody will read any more.
  void Release(const StepInfo& step) {
    for (const PortInfo& port : step.inputs) {
      if (--readers_[port.blob] > 0) continue;
      own_.erase(port.blob);
      written_.erase(port.blob);
    }
  }

  CheckOptions options_;
  Network* network_ = nullptr;
  bool done_ = false;
  RunReport report_;
  std::map<std::string, int> readers_;
  std::map<std::string, Tensor> own_;         // the reference's own values of live blobs
  std::map<std::string, uint64_t> written_;   // fingerprints of live device blobs
  std::vector<Tensor> inputs_;                // of the current step, widened
  std::vector<Tensor> device_;                // outputs of the current step
  ReplayResult replayed_;                     // what they should be
  bool inputs_finite_ = true;
  std::string changed_;
};

Checker::Checker(CheckOptions options) : impl_(std::make_shared<Impl>(options)) {}
Checker::~Checker() = default;

Status Checker::Attach(Network* network, const std::map<std::string, Tensor>& inputs) {
  PLUMB_RETURN_IF_ERROR(impl_->Attach(network, inputs));
  network->AddObserver(std::static_pointer_cast<Observer>(impl_));
  return Status::Ok();
}

Result<RunReport> Checker::Finish() { return impl_->Finish(); }

}  // namespace plumb
