// SPDX-License-Identifier: Apache-2.0
// Pooling in whatever form the blob arrives, with kernels for CPU drivers and for GPUs.
#include "op/pooling.h"

#include "device/opencl/kernel_list.h"

namespace plumb::opencl {
namespace {

constexpr int64_t kRows = 4;  // ROWS of pooling.cl

// Axis and Pool of pooling.cl.
struct AxisArg {
  int in, out, kernel, stride, pad_begin, pad_end;
  explicit AxisArg(const WindowAxis& a)
      : in(static_cast<int>(a.in)),
        out(static_cast<int>(a.out)),
        kernel(static_cast<int>(a.kernel)),
        stride(static_cast<int>(a.stride)),
        pad_begin(static_cast<int>(a.pad_begin)),
        pad_end(static_cast<int>(a.pad_end)) {}
  AxisArg() = default;
};
struct PoolArg {
  AxisArg h, w;
  int adaptive, average, count_include_pad;
};

class PoolingKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ResolvePooling(spec.layer(), spec.inputs[0].shape).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const LayoutPtr layout = StoredLayout(spec, DType::kF32, IsBlocked(arriving[0]));
    choice->inputs = {layout};
    choice->outputs = {layout};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const PoolingShape shape, ResolvePooling(spec.layer(), spec.inputs[0].shape));
    pool_ = {AxisArg(shape.window.h), AxisArg(shape.window.w), shape.adaptive, shape.average, shape.count_include_pad};
    const bool cpu = Launcher::CpuShapes(spec.device);
    wide_ = IsBlocked(outputs[0].layout) && cpu;
    const bool overlap = !shape.adaptive && pool_.h.kernel > pool_.h.stride && pool_.h.out > 1;
    strips_ = !cpu && overlap ? (pool_.h.out + kRows - 1) / kRows : 0;
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "pooling.cl",
                                           wide_         ? "pooling_x8"
                                           : strips_ > 0 ? "pooling_rows"
                                                         : "pooling"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const Planes planes = PlanesOf(outputs[0]);
    const int64_t count = planes.elements();
    if (wide_) return launcher_.Run({count / kBlock}, outputs[0], inputs[0], count / kBlock, pool_);
    if (strips_ > 0) {
      const int64_t items = planes.planes() * strips_ * pool_.w.out * planes.block;
      return launcher_.Run({items}, outputs[0], inputs[0], items, planes.block, strips_, pool_);
    }
    return launcher_.Run({count}, outputs[0], inputs[0], count, planes.block, pool_);
  }

 private:
  bool wide_ = false;
  int64_t strips_ = 0;  // of kRows rows a plane; 0: one item an output
  PoolArg pool_{};
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_pooling = {PoolingKernel::Supports, MakeKernel<PoolingKernel>};

}  // namespace plumb::opencl
