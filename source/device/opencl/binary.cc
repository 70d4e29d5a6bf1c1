// SPDX-License-Identifier: Apache-2.0
// Binary element-wise operators with broadcasting, f32, i32 and i64; the second operand may be the layer's constant.
// Two feature maps of equally many channels stay in channel blocks; everything else is computed in plain order. And
// HardSwish of two inputs, y = x0 * clip(alpha * x1 + beta, 0, 1).
#include <fmt/core.h>

#include <algorithm>

#include "device/opencl/constant.h"
#include "device/opencl/kernel_list.h"
#include "device/opencl/walk.h"
#include "device/shared/binary_operands.h"
#include "op/activation.h"

namespace plumb::opencl {
namespace {

// Pairs of binary.cl.
struct BinaryPairs {
  int rank;
  int dims[kMaxRank], a[kMaxRank], b[kMaxRank];
};

Walk WalkOfBinary(const KernelSpec& spec, const BinaryOperands& operands, bool blocked) {
  const int64_t block = blocked ? kBlock : 1;
  return BroadcastWalk({MemoryDims(operands.shape[0], block), MemoryDims(operands.shape[1], block)},
                       MemoryDims(spec.outputs[0].shape, block));
}

bool IsGate(const KernelSpec& spec) { return spec.layer().kind == OpKind::kHardSwish; }

class BinaryKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype != DType::kF32 && (IsGate(spec) || (dtype != DType::kI32 && dtype != DType::kI64))) {
      return Status::NotSupported(std::string("takes f32, i32 and i64, found ") + DTypeName(dtype));
    }
    if (IsGate(spec) && spec.inputs.size() != 2) return Status::NotSupported("takes two inputs");
    PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
    return CheckRank(WalkOfBinary(spec, operands, false));
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
    blocked_ = std::any_of(arriving.begin(), arriving.end(), IsBlocked) && operands.FitsBlocks() &&
               CheckRank(WalkOfBinary(spec, operands, true)).ok();
    const LayoutPtr layout = StoredLayout(spec, spec.inputs[0].dtype, blocked_);
    choice->inputs.assign(arriving.size(), layout);
    choice->outputs = {layout};
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      if (spec.inputs[i].shape == spec.outputs[0].shape) {
        choice->shares.push_back({ShareWish::kOverwrite, 0, static_cast<int>(i)});
      }
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
    const Walk walk = WalkOfBinary(spec, operands, blocked_);
    count_ = walk.count();
    pairs_.rank = static_cast<int>(walk.rank());
    PutDims(walk.dims, pairs_.dims);
    PutDims(walk.strides[0], pairs_.a);
    PutDims(walk.strides[1], pairs_.b);
    constant_ = operands.constant;
    if (constant_ >= 0) {
      const bool blocked = blocked_ && operands.element.NumElements() != 1;
      PLUMB_ASSIGN_OR_RETURN(element_, UploadConstant(spec.device, operands.element, LayoutOf({blocked, false})));
    }
    if (IsGate(spec)) {
      alpha_ = ParamOf<HardParam>(spec.layer()).alpha;
      beta_ = ParamOf<HardParam>(spec.layer()).beta;
    }
    const DType dtype = spec.inputs[0].dtype;
    const char* type = dtype == DType::kI32 ? "_int" : dtype == DType::kI64 ? "_long" : "_float";
    PLUMB_ASSIGN_OR_RETURN(
        launcher_,
        Load(spec, "binary.cl", fmt::format("binary_{}{}", IsGate(spec) ? "Gate" : spec.layer().type, type)));
    return tail_.Prepare(spec, outputs[0]);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const DeviceTensor& a = constant_ == 0 ? element_ : inputs[0];
    const DeviceTensor& b = constant_ == 1 ? element_ : inputs.back();
    PLUMB_RETURN_IF_ERROR(launcher_.Run({count_}, outputs[0], a, b, count_, pairs_, alpha_, beta_, constant_));
    return tail_.Run(outputs[0]);
  }

 private:
  bool blocked_ = false;
  int constant_ = -1;
  int64_t count_ = 0;
  float alpha_ = 0, beta_ = 0;
  BinaryPairs pairs_{};
  DeviceTensor element_;
  Launcher launcher_;
  TailZero tail_;
};

}  // namespace

const KernelFunctions kernel_binary = {BinaryKernel::Supports, MakeKernel<BinaryKernel>};

}  // namespace plumb::opencl
