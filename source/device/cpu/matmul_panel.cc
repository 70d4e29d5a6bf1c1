// SPDX-License-Identifier: Apache-2.0
// MatMul whose second operand is a matrix of the model: its columns are packed once (panel_product.h), instead of in
// each Forward. All matrices of the first operand are one of more rows.
#include <fmt/core.h>

#include <optional>

#include "base/threads.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/panel_product.h"
#include "device/shared/fused_tail.h"
#include "op/matmul.h"

namespace plumb::cpu {
namespace {

// Fewer rows read the weights too seldom for the registers to pay.
constexpr int64_t kLeastRows = 4;

class MatMulPanelKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (spec.inputs.size() != 1 || ParamOf<MatMulParam>(spec.layer()).weight_position != 1)
      return Status::NotSupported("needs a second operand that is a part of the model");
    PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ShapeOf(spec));
    const Tensor* weight = spec.layer().Resource("weight");
    if (weight == nullptr || weight->NumElements() != shape.k * shape.n)
      return Status::NotSupported("needs one matrix as the second operand");
    const int64_t rows = RowsOf(shape), block = ChannelBlock();
    if (rows >= kLeastRows && shape.k % block == 0 && shape.n % block == 0 && shape.k > 0) return Status::Ok();
    return Status::NotSupported(
        fmt::format("takes {} rows at least, and multiples of {} inputs and outputs, found {}, {} and {}", kLeastRows,
                    block, rows, shape.k, shape.n));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ShapeOf(spec));
    PLUMB_ASSIGN_OR_RETURN(const Tensor weight, F32Resource(spec.layer(), "weight"));
    PLUMB_ASSIGN_OR_RETURN(PanelProduct product,
                           PanelProduct::Create(RowsOf(shape), shape.k, shape.n, weight.data<float>(), {0, 1, shape.n},
                                                nullptr, simd::ProductEnd()));
    product_.emplace(std::move(product));
    threads_ = ThreadsFor(RowsOf(shape) * shape.k * shape.n, NumThreads());
    in_ = {shape.k, ChannelBlock()}, out_ = {shape.n, ChannelBlock()};
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    product_->Run({inputs[0].host<float>(), in_, nullptr, outputs[0].host<float>(), out_}, threads_);
    return Status::Ok();
  }

  bool ReadsResources() const override { return false; }
  std::string Detail() const override {
    return product_ ? fmt::format("{} rows at a time", product_->run_pixels()) : "";
  }

 private:
  static Result<MatMulShape> ShapeOf(const KernelSpec& spec) {
    PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(spec.layer(), {spec.inputs[0].shape}));
    return ResolveMatMul(operands.first, operands.second);
  }
  static int64_t RowsOf(const MatMulShape& shape) { return shape.m * static_cast<int64_t>(shape.first_matrix.size()); }

  std::optional<PanelProduct> product_;
  PixelStrides in_, out_;
  int threads_ = 1;
};

}  // namespace

const KernelFunctions kernel_matmul_panel = {MatMulPanelKernel::Supports, MakeKernel<MatMulPanelKernel>};

}  // namespace plumb::cpu
