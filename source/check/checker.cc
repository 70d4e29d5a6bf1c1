// Checker: lockstep as an observer of one Forward of a network.
#include "check/lockstep.h"

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

class Checker::Impl : public Lockstep {
 public:
  using Lockstep::Lockstep;
};

Checker::Checker(CheckOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}
Checker::~Checker() = default;

Status Checker::Attach(Network* network, const std::map<std::string, Tensor>& inputs) {
  Lockstep::Scene scene;
  scene.device = network->device_name();
  scene.description = network->device_description();
  scene.graph = &network->graph();
  scene.blobs = &network->blobs();
  scene.steps = network->steps();
  scene.output = [network](const std::string& name) { return network->GetOutput(name); };
  PLUMB_RETURN_IF_ERROR(impl_->Begin(std::move(scene), inputs));
  network->AddObserver(std::static_pointer_cast<Observer>(impl_));
  return Status::Ok();
}

Result<RunReport> Checker::Finish() { return impl_->Finish(); }

}  // namespace plumb
