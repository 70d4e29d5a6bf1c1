// SPDX-License-Identifier: Apache-2.0
#include "session/graph_values.h"

#include "plumb/inputs.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

// Keeps what steps read and write of some blobs; what a reader sees counts.
class ValueKeeper : public Observer {
 public:
  ValueKeeper(const std::set<std::string>& blobs, std::map<std::string, Tensor>* known)
      : blobs_(blobs), known_(known), were_known_(*known) {}

  Status Before(const LayerEvent& event) override {
    const std::vector<PortInfo>& ports = event.step().inputs;
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!Wanted(ports[i].blob)) continue;
      PLUMB_ASSIGN_OR_RETURN((*known_)[ports[i].blob], event.Input(i));
    }
    return Status::Ok();
  }
  Status After(const LayerEvent& event) override {
    const std::vector<PortInfo>& ports = event.step().outputs;
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!Wanted(ports[i].blob)) continue;
      PLUMB_ASSIGN_OR_RETURN((*known_)[ports[i].blob], event.Output(i));
    }
    return Status::Ok();
  }

 private:
  bool Wanted(const std::string& blob) const { return blobs_.count(blob) > 0 && were_known_.count(blob) == 0; }

  const std::set<std::string>& blobs_;
  std::map<std::string, Tensor>* known_;
  const std::map<std::string, Tensor> were_known_;
};

}  // namespace

bool KnowsAll(const std::map<std::string, Tensor>& known, const std::set<std::string>& blobs) {
  for (const std::string& blob : blobs) {
    if (known.count(blob) == 0) return false;
  }
  return true;
}

Result<std::map<std::string, Tensor>> GraphValues(const std::shared_ptr<const Graph>& graph,
                                                  const std::map<std::string, Tensor>& inputs, Network* network,
                                                  const std::set<std::string>& blobs,
                                                  std::map<std::string, Tensor> known) {
  const auto run = [&](Network* watched) {
    ValueKeeper keeper(blobs, &known);
    watched->AddObserver(&keeper);
    const Status status = RunNetwork(watched, inputs).status();
    watched->RemoveObserver(&keeper);
    return status;
  };
  for (const auto& [name, value] : inputs) {
    if (blobs.count(name) > 0) known.emplace(name, value);
  }
  if (network != nullptr && !KnowsAll(known, blobs)) PLUMB_RETURN_IF_ERROR(run(network));
  if (!KnowsAll(known, blobs)) {
    PLUMB_ASSIGN_OR_RETURN(const auto naive, OpenDevice("NAIVE"));
    PLUMB_ASSIGN_OR_RETURN(const auto reference, Network::Create(graph, naive, {}));
    PLUMB_RETURN_IF_ERROR(run(reference.get()));
  }
  return known;
}

}  // namespace plumb
