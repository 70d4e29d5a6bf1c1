// SPDX-License-Identifier: Apache-2.0
// InnerProduct and MatMul of LOW precision: blobs of f16, weights rounded to f16, f16 multiply-adds in short runs
// (half_tile.h). Threads take panels of columns, of all rows or of some.
#include "op/matmul.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/threads.h"
#include "device/arm/half_kernels.h"
#include "device/arm/panels.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/half_layout.h"
#include "device/cpu/product_end.h"
#include "device/shared/fused_tail.h"
#include "op/inner_product.h"

namespace plumb::cpu {
namespace {

using simd::kProductColumns;
using simd::kProductRows;

constexpr int64_t kTilesAtOnce = 16;  // rows of so many tiles are worth a thread

class HalfInnerProduct : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireHalfArithmetic(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    if (!group.affine.empty()) return Status::NotSupported("folds no scales into its weights");
    return group.epilogue.sum ? Status::NotSupported("an addition is not fused") : Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs = {HalfOf(SameBytes(spec.inputs[0].shape) ? arriving[0] : PlainLayout())};
    choice->outputs = {HalfOf(PlainLayout())};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& param = ParamOf<InnerProductParam>(spec.layer());
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, spec.inputs[0].shape.rank()));
    rows_ = spec.inputs[0].shape.Count(0, axis), depth_ = spec.inputs[0].shape.CountFrom(axis);
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    end_ = EndOfProduct(group.epilogue);
    PLUMB_ASSIGN_OR_RETURN(const Tensor weight, F32Resource(spec.layer(), "weight"));
    panels_ = std::make_unique<Panels<uint16_t>>(depth_, param.num_output);
    for (int64_t c = 0; c < panels_->columns; ++c) {
      const float* from = weight.data<float>() + c * depth_;
      for (int64_t i = 0; i < depth_; ++i) panels_->weight(i, c) = FloatToHalf(from[i]);
    }
    if (spec.layer().Resource("bias") == nullptr) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const Tensor bias, F32Resource(spec.layer(), "bias"));
    panels_->SetBias(bias.data<float>());
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const uint16_t* src = inputs[0].host<uint16_t>();
    uint16_t* dst = outputs[0].host<uint16_t>();
    const int64_t columns = panels_->columns, tiles = (rows_ + kProductRows - 1) / kProductRows;
    const int64_t parts = (tiles + kTilesAtOnce - 1) / kTilesAtOnce;
    ParallelFor(panels_->count() * parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t panel = i / parts, part = i % parts, first = panel * kProductColumns;
        simd::ProductEnd after = end_;
        after.bias = panels_->bias(panel);
        for (int64_t t = tiles * part / parts; t < tiles * (part + 1) / parts; ++t) {
          const int64_t row = t * kProductRows;
          const int rows = static_cast<int>(std::min<int64_t>(kProductRows, rows_ - row));
          MatrixTile<uint16_t> tile(src, depth_, row, rows, dst + first, columns);
          tile.source.weights = panels_->weights(panel);
          RunTile(rows, std::min<int64_t>(kProductColumns, columns - first), tile.source, after, tile.to,
                  simd::kProductChunk);
        }
      }
    });
    return Status::Ok();
  }

  bool ReadsResources() const override { return false; }
  std::string Detail() const override { return "vector f16"; }
  Numerics DeclaredNumerics() const override { return HalfSumsNumerics(); }

 private:
  int64_t rows_ = 1, depth_ = 0;
  simd::ProductEnd end_;
  std::unique_ptr<Panels<uint16_t>> panels_;
};

class HalfMatMul : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireHalfArithmetic(spec));
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ShapeOf(spec).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), HalfOf(PlainLayout()));
    choice->outputs = {HalfOf(PlainLayout())};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(shape_, ShapeOf(spec));
    copies_.resize(static_cast<size_t>(NumThreads()));
    for (auto& copy : copies_) copy.resize(static_cast<size_t>(shape_.k * kProductColumns));
    if (spec.inputs.size() > 1) return Status::Ok();
    constant_ = ParamOf<MatMulParam>(spec.layer()).weight_position;
    PLUMB_ASSIGN_OR_RETURN(const Tensor weight, F32Resource(spec.layer(), "weight"));
    for (int64_t i = 0; i < weight.NumElements(); ++i) weight_.push_back(FloatToHalf(weight.data<float>()[i]));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const uint16_t* operand[2];
    size_t next = 0;
    for (int i = 0; i < 2; ++i) operand[i] = i == constant_ ? weight_.data() : inputs[next++].host<uint16_t>();
    uint16_t* dst = outputs[0].host<uint16_t>();
    const int64_t panels = (shape_.n + kProductColumns - 1) / kProductColumns;
    const int64_t units = static_cast<int64_t>(shape_.first_matrix.size()) * panels;
    ParallelRegion(static_cast<int>(copies_.size()), [&](int thread, int count) {
      for (int64_t u = units * thread / count; u < units * (thread + 1) / count; ++u) {
        const auto matrix = static_cast<size_t>(u / panels);
        RunPanel(operand[0] + shape_.first_matrix[matrix] * shape_.m * shape_.k,
                 operand[1] + shape_.second_matrix[matrix] * shape_.k * shape_.n, u % panels * kProductColumns,
                 dst + u / panels * shape_.m * shape_.n, &copies_[static_cast<size_t>(thread)]);
      }
    });
    return Status::Ok();
  }

  std::string Detail() const override { return "vector f16"; }
  Numerics DeclaredNumerics() const override { return HalfSumsNumerics(); }

 private:
  static Result<MatMulShape> ShapeOf(const KernelSpec& spec) {
    std::vector<Shape> shapes;
    for (const BlobInfo& input : spec.inputs) shapes.push_back(input.shape);
    PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(spec.layer(), shapes));
    return ResolveMatMul(operands.first, operands.second);
  }

  // Columns [first, first + kProductColumns) of one product. Of many rows, and where fewer columns are left, the second
  // matrix's are copied together.
  void RunPanel(const uint16_t* a, const uint16_t* b, int64_t first, uint16_t* dst,
                std::vector<uint16_t>* panel) const {
    const int64_t n = shape_.n, columns = std::min<int64_t>(kProductColumns, n - first);
    const bool copy = columns < kProductColumns || shape_.m >= kPackedRows;
    for (int64_t i = 0; copy && i < shape_.k; ++i)
      std::copy_n(b + i * n + first, columns, panel->data() + i * kProductColumns);
    for (int64_t row = 0; row < shape_.m; row += kProductRows) {
      const int rows = static_cast<int>(std::min<int64_t>(kProductRows, shape_.m - row));
      MatrixTile<uint16_t> tile(a, shape_.k, row, rows, dst + first, n);
      tile.source.weights = copy ? panel->data() : b + first;
      tile.source.weights_step = copy ? kProductColumns : n;
      RunTile(rows, columns, tile.source, {}, tile.to, simd::kProductChunk);
    }
  }

  MatMulShape shape_;
  int constant_ = -1;
  std::vector<uint16_t> weight_;
  std::vector<std::vector<uint16_t>> copies_;  // a panel of each thread
};

}  // namespace

const KernelFunctions kernel_half_inner_product = {HalfInnerProduct::Supports, MakeKernel<HalfInnerProduct>};
const KernelFunctions kernel_half_matmul = {HalfMatMul::Supports, MakeKernel<HalfMatMul>};

}  // namespace plumb::cpu
