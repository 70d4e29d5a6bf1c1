// SPDX-License-Identifier: Apache-2.0
// Network: a graph prepared on one device for fixed input shapes: fused, laid out, memory planned, ready for Forward.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, plumb::LoadModel("net.tnnproto"));                  // plumb/model.h
//   PLUMB_ASSIGN_OR_RETURN(auto network, plumb::CreateNetwork(std::move(graph), "X86"));           // plumb/plumb.h
//   PLUMB_RETURN_IF_ERROR(network->SetInput("input", image));
//   PLUMB_RETURN_IF_ERROR(network->Forward());
//   PLUMB_ASSIGN_OR_RETURN(const plumb::Tensor prob, network->GetOutput("prob"));
//
// Inputs and outputs are dense host tensors in logical order. A new input shape needs a new network.
// Ownership: the network keeps its graph and device alive; an observer that was added as a plain pointer belongs to the
// caller, who takes it back with RemoveObserver before it ends.
// Threading: a network serves one thread at a time; several networks may run at once, each on its own thread. They
// share the process's thread pool: while one computes a loop on it, the loops of the others run on their own threads
// alone, and the last num_threads that was set counts for all.
#ifndef PLUMB_NETWORK_H_
#define PLUMB_NETWORK_H_

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plumb/graph.h"
#include "plumb/observer.h"

namespace plumb {

// Precision of a network on a device (-sp, -pr): HIGH is fp32; NORMAL stores fp16 and accumulates fp32; LOW computes in
// fp16 where the device can. A device without fp16 runs HIGH and says so.
enum class Precision { kHigh, kNormal, kLow };

// "HIGH", "NORMAL", "LOW".
inline const char* PrecisionName(Precision precision) {
  return precision == Precision::kHigh ? "HIGH" : precision == Precision::kNormal ? "NORMAL" : "LOW";
}

class Device;

struct NetworkOptions {
  std::map<std::string, Shape> input_shapes;  // by input name; others as the model declares them
  int num_threads = 0;                        // 0: all CPUs
  bool unfuse = false;                        // one kernel per layer (DUMP_BLOB_UNFUSE=1)
  bool fallback =
      false;  // NAIVE runs the layers that the device has no kernel for; else they are an error that lists them all
  Precision precision = Precision::kHigh;
  // Lets go of a layer's weights when its kernel has packed them (X86 and ARM; other devices keep them): for a graph
  // that nobody else holds, or half of the memory is not given back. graph() then has no weights, so no Checker judges
  // the network.
  bool release_weights = false;
  // For one Forward, with the least memory: a kernel that packs weights does it right before it runs and gives them
  // back after, so that one layer's are held at a time; such a step's numerics and detail are known from then on. A
  // second Forward is an error.
  bool single_forward = false;
  bool direct = false;  // sums of products as they are defined: no kernel by Winograd's algorithm
  // The kernel of the step that computes a layer, both by name, in place of the first that takes it: {"conv1",
  // "convolution_blocked"} (StepInfo::kernel without its device). Create fails where there is no such layer, where that
  // kernel is none of the layer's, and where it refuses.
  std::map<std::string, std::string> kernels;
  int device_index = 0;  // which of several OPENCL or VULKAN adapters CreateNetwork opens
};

// A Forward that runs elsewhere. Wait returns what Forward would have returned; the destructor waits.
class ForwardHandle {
 public:
  explicit ForwardHandle(std::shared_future<Status> result) : result_(std::move(result)) {}
  Status Wait() { return result_.get(); }

 private:
  std::shared_future<Status> result_;
};

class Network {
 public:
  // NotSupported names every layer that the device cannot run, with the reasons.
  static Result<std::unique_ptr<Network>> Create(std::shared_ptr<const Graph> graph, std::shared_ptr<Device> device,
                                                 NetworkOptions options);
  ~Network();

  const Graph& graph() const;
  Device& device() const;
  std::string device_name() const;
  std::string device_description() const;
  // Every blob's dtype and shape.
  const BlobTable& blobs() const;
  const NetworkOptions& options() const;
  // Steps in execution order; they change no more after Create (but see NetworkOptions::single_forward).
  std::vector<const StepInfo*> steps() const;
  // Bytes of the planned arena, and what all blobs would take without reuse.
  size_t arena_bytes() const;
  size_t unplanned_bytes() const;

  // Copies the tensor in. InvalidArgument for an unknown name, another shape or another dtype than the one that carries
  // the input, or that the model says (Graph::model_dtypes).
  Status SetInput(const std::string& name, const Tensor& value);
  // SetInput without the copy: where the device can read the tensor as it lies (a CPU device that does not arrange this
  // input in an order of its own; memory aligned to 64 bytes, as a Tensor's own is), every Forward reads it there;
  // elsewhere it is copied. The network shares the tensor's memory until the input is set or lent again. Several
  // networks may be lent the same tensor. REQUIRES: until then nobody writes to it.
  Status LendInput(const std::string& name, const Tensor& value);
  // Runs all layers. InvalidArgument names the inputs that were never set, and for a second call of a network that was
  // made for a single one. Device errors stop it; observer errors (a
  // full disk) are returned after all layers ran.
  Status Forward();
  // The same on another thread; nothing else may be called until Wait.
  ForwardHandle ForwardAsync();
  // How many Forwards ran to their end: the number of the next one.
  int forwards() const;
  // The value set last. Copies out. InvalidArgument when it was never set.
  Result<Tensor> GetInput(const std::string& name) const;
  // Of the last Forward. Copies out. InvalidArgument when none was run, or when the last one stopped at an error.
  // In the dtype that the model says (Graph::model_dtypes).
  Result<Tensor> GetOutput(const std::string& name) const;
  // GetOutput without the copy: where the output lies in host memory in a tensor's own order (a CPU device that does
  // not arrange it in an order of its own, and in the dtype that the model says) the tensor is that memory, kept alive
  // by it; elsewhere it is a copy. The next Forward overwrites it. REQUIRES: nobody writes to it.
  Result<Tensor> ViewOutput(const std::string& name) const;
  // The same in the dtype that carries it: what the last layer computed.
  Result<Tensor> GetCarriedOutput(const std::string& name) const;

  // Observers are called in the order in which they were added. In a build with PLUMB_BLOB_HOOKS=OFF a network that has
  // one refuses to run (NotSupported).
  void AddObserver(Observer* observer);
  void AddObserver(std::shared_ptr<Observer> observer);  // kept alive by the network
  // It is not called again. One that was never added is no error. Not from inside of an observer.
  void RemoveObserver(const Observer* observer);

 private:
  struct Impl;
  explicit Network(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumb

#endif  // PLUMB_NETWORK_H_
