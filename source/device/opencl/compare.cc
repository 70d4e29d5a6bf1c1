// SPDX-License-Identifier: Apache-2.0
// Equal, Greater, Less, And, Not and their Plumb relatives, in plain order, with broadcasting.
#include "op/compare.h"

#include <fmt/core.h>

#include "device/opencl/constant.h"
#include "device/opencl/kernel_list.h"
#include "device/opencl/walk.h"

namespace plumb::opencl {
namespace {

// Pairs of compare.cl.
struct ComparePairs {
  int rank;
  int dims[kMaxRank], a[kMaxRank], b[kMaxRank];
};

Result<CompareOperands> OperandsOf(const KernelSpec& spec) {
  if (spec.layer().kind != OpKind::kNot) return ResolveCompare(spec.layer(), spec.inputs);
  return CompareOperands{spec.inputs[0], spec.inputs[0], spec.inputs[0].shape};
}

Walk WalkOfCompare(const CompareOperands& o) {
  return BroadcastWalk({o.a.shape.dims(), o.b.shape.dims()}, o.out.dims());
}

class CompareKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, OperandsOf(spec));
    if (o.a.dtype == DType::kF16 || o.a.dtype == DType::kBF16) {
      return Status::NotSupported(fmt::format("compares no {} operands", DTypeName(o.a.dtype)));
    }
    PLUMB_RETURN_IF_ERROR(RequireF64(spec.device, o.a.dtype));
    return CheckRank(WalkOfCompare(o));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, OperandsOf(spec));
    const Walk walk = WalkOfCompare(o);
    count_ = walk.count();
    pairs_.rank = static_cast<int>(walk.rank());
    PutDims(walk.dims, pairs_.dims);
    PutDims(walk.strides[0], pairs_.a);
    PutDims(walk.strides[1], pairs_.b);
    dtype_ = static_cast<int>(o.a.dtype);
    op_ = CompareRow(spec.layer().kind);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "compare.cl", "compare"));
    if (spec.inputs.size() == 2 || spec.layer().kind == OpKind::kNot) return Status::Ok();
    element_first_ = ParamOf<BinaryParam>(spec.layer()).weight_input_index == 0;
    const Tensor& value = element_first_ ? o.a.value : o.b.value;
    PLUMB_ASSIGN_OR_RETURN(element_, UploadConstant(spec.device, value, PlainLayout()));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const bool constant = element_.buffer != nullptr;
    const DeviceTensor& a = constant && element_first_ ? element_ : inputs[0];
    const DeviceTensor& b = constant && !element_first_ ? element_ : inputs.back();
    return launcher_.Run({count_}, outputs[0], a, b, count_, op_, dtype_, constant ? (element_first_ ? 0 : 1) : -1,
                         pairs_);
  }

 private:
  int64_t count_ = 0;
  int op_ = 0, dtype_ = 0;
  ComparePairs pairs_{};
  bool element_first_ = false;
  DeviceTensor element_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_compare = {CompareKernel::Supports, MakeKernel<CompareKernel>};

}  // namespace plumb::opencl
