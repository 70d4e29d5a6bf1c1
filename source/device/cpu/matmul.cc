// SPDX-License-Identifier: Apache-2.0
// MatMul with plain matrices. Many matrices are shared out among the threads; of few, each thread computes
// some rows, or some columns where there are fewer rows than threads.
#include "op/matmul.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/threads.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/product.h"
#include "device/shared/fused_tail.h"

namespace plumb::cpu {
namespace {

class MatMulKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ShapeOf(spec).status();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(shape_, ShapeOf(spec));
    JoinRows();
    if (spec.inputs.size() == 1) {
      constant_ = ParamOf<MatMulParam>(spec.layer()).weight_position;
      PLUMB_ASSIGN_OR_RETURN(weight_, F32Resource(spec.layer(), "weight"));
    }
    return shape_.k == 0 ? Status::Ok() : MakeParts();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (shape_.k == 0) {
      std::memset(outputs[0].host<char>(), 0, outputs[0].bytes());
      return Status::Ok();
    }
    const float* operand[2];
    size_t next = 0;
    for (int i = 0; i < 2; ++i) operand[i] = i == constant_ ? weight_.data<float>() : inputs[next++].host<float>();
    float* dst = outputs[0].host<float>();
    const int count = static_cast<int>(parts_.size());
    ParallelRegion(count, [&](int thread, int threads) {
      for (int i = thread; i < count; i += threads)
        RunPart(&parts_[static_cast<size_t>(i)], operand[0], operand[1], dst);
    });
    return Status::Ok();
  }

  std::string Detail() const override { return parts_.empty() ? "" : parts_.front().op->implementation(); }

 private:
  struct Part {
    ProductPtr op;
    size_t begin, end;                                   // output matrices
    int64_t a_offset = 0, b_offset = 0, dst_offset = 0;  // within each matrix
  };

  static Result<MatMulShape> ShapeOf(const KernelSpec& spec) {
    std::vector<Shape> shapes;
    for (const BlobInfo& input : spec.inputs) shapes.push_back(input.shape);
    PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(spec.layer(), shapes));
    return ResolveMatMul(operands.first, operands.second);
  }

  // Matrices that lie one behind the other and all meet the same one are the rows of a single one.
  void JoinRows() {
    const size_t count = shape_.first_matrix.size();
    for (size_t i = 0; i < count; ++i) {
      if (shape_.first_matrix[i] != static_cast<int64_t>(i) || shape_.second_matrix[i] != 0) return;
    }
    if (count < 2) return;
    shape_.m *= static_cast<int64_t>(count);
    shape_.first_matrix = shape_.second_matrix = {0};
  }

  Status MakeParts() {
    const int64_t m = shape_.m, n = shape_.n, k = shape_.k;
    const size_t matrices = shape_.first_matrix.size();
    const int64_t threads = ThreadsFor(static_cast<int64_t>(matrices) * m * n * k, NumThreads());
    const bool by_matrix = static_cast<int64_t>(matrices) >= threads, by_row = m >= threads;
    const int64_t extent = by_matrix ? static_cast<int64_t>(matrices) : by_row ? m : n;
    const int64_t count = std::max<int64_t>(1, std::min(threads, extent));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = extent * i / count, last = extent * (i + 1) / count;
      PLUMB_ASSIGN_OR_RETURN(ProductPtr op, by_matrix ? MakeMatMul(m, k, n, n)
                                            : by_row  ? MakeMatMul(last - first, k, n, n)
                                                      : MakeMatMul(m, k, last - first, n));
      Part part{std::move(op), 0, matrices};
      if (by_matrix)
        part.begin = static_cast<size_t>(first), part.end = static_cast<size_t>(last);
      else if (by_row)
        part.a_offset = first * k, part.dst_offset = first * n;
      else
        part.b_offset = part.dst_offset = first;
      parts_.push_back(std::move(part));
    }
    return Status::Ok();
  }

  void RunPart(Part* part, const float* a, const float* b, float* dst) const {
    for (size_t i = part->begin; i < part->end; ++i) {
      const float* first = a + shape_.first_matrix[i] * shape_.m * shape_.k + part->a_offset;
      const float* second = b + shape_.second_matrix[i] * shape_.k * shape_.n + part->b_offset;
      part->op->Run(first, dst + static_cast<int64_t>(i) * shape_.m * shape_.n + part->dst_offset, second);
    }
  }

  MatMulShape shape_;
  int constant_ = -1;
  Tensor weight_;
  std::vector<Part> parts_;
};

}  // namespace

const KernelFunctions kernel_matmul = {MatMulKernel::Supports, MakeKernel<MatMulKernel>};

}  // namespace plumb::cpu
