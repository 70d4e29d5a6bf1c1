// SPDX-License-Identifier: Apache-2.0
// Checker: lockstep as an observer of one Forward of a network.
#include "check/walk/lockstep.h"
#include "check/walk/rest_of_network.h"

namespace plumb {

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
  Status ForwardEnd(int forward) override {
    ran = true;
    return Lockstep::ForwardEnd(forward);
  }
  Network* network = nullptr;  // null: not attached
  bool ran = false;
};

Checker::Checker(CheckOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}
Checker::~Checker() = default;

Status Checker::Attach(Network* network, const std::map<std::string, Tensor>& inputs) {
  if (impl_->network != nullptr || impl_->ran) {
    return Status::InvalidArgument(
        "Checker::Attach was called before: a Checker judges one Forward, make one for each");
  }
  if (network->options().release_weights) {
    return Status::InvalidArgument(
        "Checker::Attach: the network has let go of its weights, which the reference computes with; make it without "
        "NetworkOptions::release_weights");
  }
  Scene scene;
  scene.device = network->device_name();
  scene.description = network->device_description();
  scene.precision = PrecisionName(network->options().precision);
  scene.direct = network->options().direct;
  scene.graph = &network->graph();
  scene.blobs = &network->blobs();
  scene.steps = network->steps();
  scene.output = [network](const std::string& name) { return network->GetCarriedOutput(name); };
  scene.rest = [network](size_t position, const std::map<std::string, Tensor>& blobs) {
    return RunRestOf(*network, position, blobs);
  };
  PLUMB_RETURN_IF_ERROR(impl_->Begin(std::move(scene), inputs));
  impl_->network = network;
  network->AddObserver(std::static_pointer_cast<Observer>(impl_));
  return Status::Ok();
}

Result<RunReport> Checker::Finish() {
  if (impl_->network == nullptr) {
    return Status::InvalidArgument(impl_->ran ? "Checker::Finish was called before: its report was handed out then"
                                              : "Checker::Finish without Checker::Attach: nothing was observed");
  }
  if (!impl_->ran) return Status::InvalidArgument("Checker::Finish: no Forward ran to its end after Checker::Attach");
  impl_->network->RemoveObserver(impl_.get());
  impl_->network = nullptr;
  return impl_->Finish();
}

}  // namespace plumb
