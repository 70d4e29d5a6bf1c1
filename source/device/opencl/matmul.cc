// SPDX-License-Identifier: Apache-2.0
// MatMul in plain order, several outputs per item.
#include "op/matmul.h"

#include "device/opencl/constant.h"
#include "device/opencl/kernel_list.h"
#include "device/shared/fused_tail.h"

namespace plumb::opencl {
namespace {

class MatMulKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ShapeOf(spec).status();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(shape_, ShapeOf(spec));
    if (spec.inputs.size() == 1) {
      constant_ = ParamOf<MatMulParam>(spec.layer()).weight_position;
      PLUMB_ASSIGN_OR_RETURN(const Tensor weight, F32Resource(spec.layer(), "weight"));
      PLUMB_ASSIGN_OR_RETURN(weight_, UploadConstant(spec.device, weight, PlainLayout()));
    }
    std::vector<int> matrices;
    for (size_t b = 0; b < shape_.first_matrix.size(); ++b) {
      matrices.push_back(static_cast<int>(shape_.first_matrix[b]));
      matrices.push_back(static_cast<int>(shape_.second_matrix[b]));
    }
    PLUMB_ASSIGN_OR_RETURN(matrices_, UploadArray(spec.device, matrices));
    cpu_ = Launcher::CpuShapes(spec.device);
    // A constant is f32, whatever the blobs' storage: a variant of its own.
    const std::string constant = !Half(spec) || constant_ < 0 ? "" : constant_ == 0 ? "_first_f32" : "_second_f32";
    PLUMB_ASSIGN_OR_RETURN(launcher_,
                           Load(spec, "matmul.cl", std::string(cpu_ ? "matmul_cpu" : "matmul_gpu") + constant));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const DeviceTensor& first = constant_ == 0 ? weight_ : inputs[0];
    const DeviceTensor& second = constant_ == 1 ? weight_ : inputs.back();
    const auto count = static_cast<int64_t>(shape_.first_matrix.size());
    // The tile of an item, or of a work-group.
    const int64_t height = cpu_ ? 6 : 64, width = cpu_ ? 16 : 32, items = cpu_ ? 1 : kLinearGroup;
    const Extent tiles{(shape_.n + width - 1) / width * items, (shape_.m + height - 1) / height, count};
    return launcher_.Run(tiles, outputs[0], first, second, matrices_, count, shape_.m, shape_.k, shape_.n);
  }

 private:
  static Result<MatMulShape> ShapeOf(const KernelSpec& spec) {
    std::vector<Shape> shapes;
    for (const BlobInfo& input : spec.inputs) shapes.push_back(input.shape);
    PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(spec.layer(), shapes));
    return ResolveMatMul(operands.first, operands.second);
  }

  bool cpu_ = false;
  MatMulShape shape_;
  int constant_ = -1;
  DeviceTensor weight_;
  Array matrices_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_matmul = {MatMulKernel::Supports, MakeKernel<MatMulKernel>};

}  // namespace plumb::opencl
