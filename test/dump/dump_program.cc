// SPDX-License-Identifier: Apache-2.0
// A program that only links Plumb and knows nothing of dumps: dump_program MODEL DEVICE forward|async COUNT. Prints the
// outputs' checksum. Exit code: 0; 2 when the network could not be made; 3 when a Forward failed (the checksum is
// printed).
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "plumb/model.h"
#include "plumb/plumb.h"

namespace {

int Die(const plumb::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 2;
}

// FNV-1a over all outputs.
unsigned long long Checksum(const plumb::Network& network) {
  unsigned long long hash = 1469598103934665603ull;
  for (const std::string& name : network.graph().outputs) {
    const auto tensor = network.GetOutput(name);
    if (!tensor.ok()) std::exit(Die(tensor.status()));
    const auto* bytes = static_cast<const unsigned char*>(tensor->raw());
    for (size_t i = 0; i < tensor->bytes(); ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  }
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  auto graph = plumb::LoadModel(argv[1]);
  if (!graph.ok()) return Die(graph.status());
  auto network = plumb::CreateNetwork(std::make_shared<const plumb::Graph>(std::move(graph).value()), argv[2], {});
  if (!network.ok()) return Die(network.status());
  for (const plumb::GraphInput& input : (*network)->graph().inputs) {
    auto tensor = plumb::Tensor::Create(input.dtype, input.shape);
    if (!tensor.ok()) return Die(tensor.status());
    for (int64_t i = 0; i < tensor->NumElements(); ++i)
      tensor->data<float>()[i] = static_cast<float>(i * 7 % 31) / 31.0f - 0.4f;
    const plumb::Status set = (*network)->SetInput(input.name, *tensor);
    if (!set.ok()) return Die(set);
  }
  int code = 0;
  const bool async = std::string(argv[3]) == "async";
  for (int i = 0; i < std::atoi(argv[4]); ++i) {
    const plumb::Status status = async ? (*network)->ForwardAsync().Wait() : (*network)->Forward();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      code = 3;
    }
  }
  std::printf("%016llx\n", Checksum(**network));
  return code;
}
