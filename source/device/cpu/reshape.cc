// SPDX-License-Identifier: Apache-2.0
// Reshape and its like: the same elements under another shape, in plain order. Nothing is written where the runtime
// grants the view.
#include <cstring>

#include "device/cpu/kernel_list.h"
#include "op/reshape.h"

namespace plumb::cpu {
namespace {

class ViewKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (spec.layer().kind == OpKind::kReshape && ParamOf<ReshapeParam>(spec.layer()).reshape_type != 0) {
      return Status::NotSupported("reads its elements in NHWC order (reshape_type 1)");
    }
    return Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), PlainLayout());
    choice->outputs.assign(spec.outputs.size(), PlainLayout());
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      choice->shares.push_back({ShareWish::kView, static_cast<int>(i), 0, 0});
    }
    return Status::Ok();
  }

  bool MovesOnly() const override { return true; }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    for (const DeviceTensor& output : outputs) {
      if (output.host<char>() == inputs[0].host<char>()) continue;
      std::memcpy(output.host<char>(), inputs[0].host<char>(), output.bytes());
    }
    return Status::Ok();
  }
};

}  // namespace

const KernelFunctions kernel_view = {ViewKernel::Supports, MakeKernel<ViewKernel>};

}  // namespace plumb::cpu
