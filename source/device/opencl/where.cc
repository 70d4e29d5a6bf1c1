// SPDX-License-Identifier: Apache-2.0
// Where in plain order, with broadcasting.
#include "device/opencl/kernel_list.h"
#include "device/opencl/walk.h"

namespace plumb::opencl {
namespace {

// Choice of where.cl.
struct Choice {
  int rank;
  int dims[kMaxRank], x[kMaxRank], y[kMaxRank], condition[kMaxRank];
};

class WhereKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[2].dtype;
    if (dtype != DType::kBool && dtype != DType::kI32 && dtype != DType::kI64) {
      return Status::NotSupported(std::string("needs a condition of bool, i32 or i64, got ") + DTypeName(dtype));
    }
    return CheckRank(WalkOfWhere(spec));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    const Walk walk = WalkOfWhere(spec);
    count_ = walk.count();
    choice_.rank = static_cast<int>(walk.rank());
    PutDims(walk.dims, choice_.dims);
    PutDims(walk.strides[0], choice_.x);
    PutDims(walk.strides[1], choice_.y);
    PutDims(walk.strides[2], choice_.condition);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Launcher::Create(spec.device, "where.cl",
                                                       "where_" + std::to_string(ElementBytes(outputs[0])), false));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int bytes = static_cast<int>(ElementBytes(inputs[2]));
    return launcher_.Run({count_}, outputs[0], inputs[0], inputs[1], inputs[2], bytes, count_, choice_);
  }

 private:
  static Walk WalkOfWhere(const KernelSpec& spec) {
    return BroadcastWalk({spec.inputs[0].shape.dims(), spec.inputs[1].shape.dims(), spec.inputs[2].shape.dims()},
                         spec.outputs[0].shape.dims());
  }

  int64_t count_ = 0;
  Choice choice_{};
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_where = {WhereKernel::Supports, MakeKernel<WhereKernel>};

}  // namespace plumb::opencl
