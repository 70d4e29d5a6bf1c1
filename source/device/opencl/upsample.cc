// SPDX-License-Identifier: Apache-2.0
// Upsample in whatever form the blob arrives.
#include <algorithm>
#include <cmath>

#include "device/opencl/kernel_list.h"
#include "op/upsample.h"

namespace plumb::opencl {
namespace {

// Resize of upsample.cl.
struct ResizeArg {
  int in_h, in_w, out_h, out_w, taps;
};

// The taps of all outputs of the rows, then of the columns, output by output.
struct TapTable {
  int taps;
  std::vector<int> index;
  std::vector<float> weight;

  explicit TapTable(const UpsampleShape& s) : taps(s.mode == kUpsampleNearest ? 1 : s.mode == kUpsampleLinear ? 2 : 4) {
    for (const int axis : {2, 3}) {
      for (int64_t o = 0; o < s.out[axis]; ++o) {
        if (taps > 1) {
          Interpolate(s.align_corners, o, s.in[axis], s.out[axis]);
        } else {
          index.push_back(static_cast<int>(o * s.in[axis] / s.out[axis]));
        }
      }
    }
  }

 private:
  // In float64, so that every weight is rounded once.
  void Interpolate(bool align_corners, int64_t o, int64_t in, int64_t out) {
    double at = -0.5;
    if (align_corners) at = out > 1 ? static_cast<double>(o * (in - 1)) / static_cast<double>(out - 1) : 0;
    if (!align_corners && out > 1)
      at = (static_cast<double>(o) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
    if (taps == 2) at = std::clamp(at, 0.0, static_cast<double>(in - 1));
    const double below = std::floor(at), x = at - below;
    const double cubic[4] = {((-0.75 * x + 1.5) * x - 0.75) * x, (1.25 * x - 2.25) * x * x + 1,
                             ((-1.25 * x + 1.5) * x + 0.75) * x, (0.75 * x - 0.75) * x * x};
    for (int k = 0; k < taps; ++k) {
      const int64_t source = static_cast<int64_t>(below) + k - (taps == 4 ? 1 : 0);
      index.push_back(static_cast<int>(std::clamp<int64_t>(source, 0, in - 1)));
      weight.push_back(static_cast<float>(taps == 4 ? cubic[k] : k == 0 ? 1 - x : x));
    }
  }
};

class UpsampleKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_ASSIGN_OR_RETURN(const UpsampleShape s, ResolveUpsample(spec.layer(), spec.inputs));
    const DType dtype = spec.inputs[0].dtype;
    if (s.mode != kUpsampleNearest && dtype != DType::kF32) {
      return Status::NotSupported(std::string("interpolates f32 only, found ") + DTypeName(dtype));
    }
    return Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const LayoutPtr layout = StoredLayout(spec, spec.inputs[0].dtype, IsBlocked(arriving[0]));
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = layout;
    choice->outputs = {layout};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const UpsampleShape s, ResolveUpsample(spec.layer(), spec.inputs));
    const TapTable table(s);
    resize_ = {static_cast<int>(s.in[2]), static_cast<int>(s.in[3]), static_cast<int>(s.out[2]),
               static_cast<int>(s.out[3]), table.taps};
    nearest_ = s.mode == kUpsampleNearest;
    PLUMB_ASSIGN_OR_RETURN(index_, UploadArray(spec.device, table.index));
    if (nearest_) {
      const std::string name = "upsample_nearest_" + std::to_string(ElementBytes(outputs[0]));
      PLUMB_ASSIGN_OR_RETURN(launcher_, Launcher::Create(spec.device, "upsample.cl", name, false));
      return Status::Ok();
    }
    PLUMB_ASSIGN_OR_RETURN(weight_, UploadArray(spec.device, table.weight));
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "upsample.cl", "upsample_taps"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const Planes planes = PlanesOf(outputs[0]);
    const int64_t count = planes.elements();
    if (nearest_) return launcher_.Run({count}, outputs[0], inputs[0], index_, count, planes.block, resize_);
    return launcher_.Run({count}, outputs[0], inputs[0], index_, weight_, count, planes.block, resize_);
  }

 private:
  bool nearest_ = false;
  ResizeArg resize_{};
  Array index_, weight_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_upsample = {UpsampleKernel::Supports, MakeKernel<UpsampleKernel>};

}  // namespace plumb::opencl
