// SPDX-License-Identifier: Apache-2.0
// Kernel: one operator (or one fused group of operators) on one device.
//
// Life of a kernel: a row's Supports is asked; Create makes it; ChooseLayouts is told in which layouts its inputs
// arrive and says what it wants and makes; Prepare packs weights and builds pipelines for exactly those; Run is called
// for every Forward and then allocates nothing and looks nothing up.
#ifndef PLUMB_DEVICE_KERNEL_H_
#define PLUMB_DEVICE_KERNEL_H_

#include <memory>
#include <string>
#include <vector>

#include "device/layout.h"
#include "op/core/op.h"
#include "plumb/network.h"
#include "plumb/observer.h"

namespace plumb {

class Device;

// A device allocation. Host devices return their memory from host(); GPUs return null.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual size_t size() const = 0;
  virtual void* host() { return nullptr; }
};

// A blob on a device at run time: `layout` bytes at `offset` inside `buffer`.
struct DeviceTensor {
  DType dtype = DType::kF32;
  Shape shape;
  LayoutPtr layout;
  std::shared_ptr<Buffer> buffer;
  size_t offset = 0;

  // REQUIRES: a host device.
  template <class T>
  T* host() const {
    return reinterpret_cast<T*>(static_cast<char*>(buffer->host()) + offset);
  }
  size_t bytes() const { return layout->Bytes(dtype, shape); }
};

// The layers that one kernel computes, in execution order, and the blobs that cross its border. A blob that only lives
// between members does not exist on the device. The group carries the index and name of its last member (decision 5).
struct LayerGroup {
  struct Port {
    int member;        // position in `members`
    int slot;          // that member's input or output number
    std::string blob;  // its name
  };
  std::vector<const Layer*> members;
  std::vector<Port> inputs;   // in member order, then slot order; constants included
  std::vector<Port> outputs;  // of the last member (other members' outputs are internal)

  const Layer& first() const { return *members.front(); }
  const Layer& last() const { return *members.back(); }
};

// What a kernel is made for.
struct KernelSpec {
  const LayerGroup& group;
  std::vector<BlobInfo> inputs;   // like group.inputs; `value` is set for constants
  std::vector<BlobInfo> outputs;  // like group.outputs
  Device* device = nullptr;
  Precision precision = Precision::kHigh;
  // Every blob of the graph, internal ones included.
  const BlobTable* blobs = nullptr;
  // From Prepare on: what LayoutChoice::workspace asked for, f32.
  DeviceTensor workspace;
  bool direct = false;  // NetworkOptions::direct

  const Layer& layer() const { return group.first(); }
};

// A kernel's wish that two blobs share memory. The runtime grants it when liveness allows; the kernel sees the outcome
// in the pointers it is given and copies when the wish was not granted.
struct ShareWish {
  enum Kind {
    kView,  // output `output` is input `input` (from byte `offset` of the input): nothing is written (Reshape, Split)
    kOverwrite,  // output `output` may be written over input `input`, element by element (ReLU, the sum of a residual)
    kPart,       // input `input` may live at byte `offset` of output `output` (Concat)
  };
  Kind kind;
  int output;
  int input;
  size_t offset = 0;
};

struct LayoutChoice {
  std::vector<LayoutPtr> inputs;   // wanted; a null entry means "as it arrives"
  std::vector<LayoutPtr> outputs;  // made
  std::vector<ShareWish> shares;
  // f32 values that Run may use as it likes. The memory plan lends the same memory to other steps before and after.
  int64_t workspace = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // `arriving` holds the layouts in which the inputs are now. The runtime converts where the choice differs.
  // Default: everything plain.
  virtual Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice);
  // Layouts and shapes are final; `spec` lives as long as the kernel. Tensors carry no buffer yet.
  virtual Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                         const std::vector<DeviceTensor>& outputs) {
    return Status::Ok();
  }
  // One Forward. Constant inputs are device tensors too (uploaded once, plain layout or what ChooseLayouts wanted).
  virtual Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) = 0;
  // Extra words for reports: "jit:avx512_core 16 threads rows"; may change in Prepare.
  virtual std::string Detail() const { return ""; }
  // Whether Run still reads the layers' resources; false where Prepare has packed them.
  virtual bool ReadsResources() const { return true; }
  // Whether Run copies whole elements of any size and never looks at them, so that it may be told of f16 for f32 blobs.
  virtual bool MovesOnly() const { return false; }
  // How it computes, for the verdict and for reports; may change in Prepare.
  virtual Numerics DeclaredNumerics() const { return {}; }
};

// What a kernel's file defines for its row; as KernelRow's.
struct KernelFunctions {
  Status (*supports)(const KernelSpec& spec);
  std::unique_ptr<Kernel> (*create)(const KernelSpec& spec);
};

template <class K>
std::unique_ptr<Kernel> MakeKernel(const KernelSpec& /*spec*/) {
  return std::make_unique<K>();
}

// A row of a device's ordered kernel list (kernel_list.def), best first. The first whose Supports is OK is taken.
struct KernelRow {
  const char* name = "";  // "convolution_onednn"; reports show it as x86/convolution_onednn
  OpKind op{};            // of the group's first member
  // OK, or NotSupported with the reason. REQUIRES: must refuse groups with members that it does not fuse.
  Status (*supports)(const KernelSpec& spec) = nullptr;
  std::unique_ptr<Kernel> (*create)(const KernelSpec& spec) = nullptr;
};

// Rows for the operators that only move elements, which need none of their own: one kernel runs them all by their map.
void AddMovingRows(const KernelRow& strided, std::vector<KernelRow>* rows);

// For Supports of kernels that fuse nothing and take f32 only.
Status RequireSingle(const KernelSpec& spec);
// NotSupported where the network is kept to direct sums: for kernels of another algorithm.
Status RequireFastAlgorithms(const KernelSpec& spec);
Status RequireF32(const KernelSpec& spec);

}  // namespace plumb

#endif  // PLUMB_DEVICE_KERNEL_H_
