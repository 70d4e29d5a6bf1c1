// SPDX-License-Identifier: Apache-2.0
#include "device/naive/naive_device.h"

#include "reference/core/reference_op.h"

namespace plumb {
namespace {

class NaiveKernel : public Kernel {
 public:
  explicit NaiveKernel(const KernelSpec& spec) : layer_(spec.layer()), op_(GetReferenceOp(layer_.kind)) {}

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    std::vector<Tensor> views;
    views.reserve(inputs.size() + outputs.size());
    ReferenceArgs args{layer_, {}, {}};
    for (const DeviceTensor& in : inputs) {
      views.push_back(Tensor::View(in.dtype, in.shape, in.host<char>(), in.buffer));
      args.inputs.push_back(&views.back());
    }
    for (const DeviceTensor& out : outputs) {
      views.push_back(Tensor::View(out.dtype, out.shape, out.host<char>(), out.buffer));
      args.outputs.push_back(&views.back());
    }
    return op_.run(args);
  }

 private:
  const Layer& layer_;
  const ReferenceOp& op_;
};

Status Supports(const KernelSpec& spec) { return RequireSingle(spec); }

std::unique_ptr<Kernel> Create(const KernelSpec& spec) { return std::make_unique<NaiveKernel>(spec); }

class NaiveDevice : public HostDevice {
 public:
  const char* name() const override { return "NAIVE"; }
  std::string Description() const override { return "reference, plain loops, float64 accumulation"; }
  const std::vector<KernelRow>& kernels() const override {
    static const std::vector<KernelRow>* rows = [] {
      auto* list = new std::vector<KernelRow>;
      for (const OpDef& op : AllOps()) list->push_back({"reference", op.kind, Supports, Create});
      return list;
    }();
    return *rows;
  }
};

}  // namespace

std::unique_ptr<Device> CreateNaiveDevice() { return std::make_unique<NaiveDevice>(); }

}  // namespace plumb
