// PlumbMatMulInteger in plain order, as plain loops; sums wrap around.
#include <algorithm>

#include "device/x86/function_kernel.h"
#include "op/matmul.h"
#include "op/matmul_integer.h"

namespace plumb::x86 {
namespace {

class MatMulIntegerKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) { return RequireSingle(spec); }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<MatMulIntegerParam>(spec.layer());
    has_a_ = p.has_a_zero_point;
    has_b_ = p.has_b_zero_point;
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveMatMul(spec.inputs[0].shape, spec.inputs[1].shape));
    b_constant_ = !spec.inputs[1].value.empty() && (!has_b_ || !spec.inputs.back().value.empty());
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    ReadLessZero(inputs[0], has_a_ ? &inputs[2] : nullptr, s_.k, s_.m, &a_);
    if (!b_ready_) ReadLessZero(inputs[1], has_b_ ? &inputs.back() : nullptr, 1, s_.n, &b_);
    b_ready_ = b_constant_;
    const auto matrices = static_cast<int64_t>(s_.first_matrix.size());
    ParallelFor(matrices * s_.m, std::max<int64_t>(1, kFunctionGrain / (s_.k * s_.n + 1)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t r = begin; r < end; ++r) MultiplyRow(r, outputs[0].host<int32_t>() + r * s_.n);
                });
    return Status::Ok();
  }

 private:
  // The values less their zero point, of which there is one per step of `step` elements, `count` of them in turn; or
  // one for all. As bits of 32: the products wrap around there.
  static void ReadLessZero(const DeviceTensor& tensor, const DeviceTensor* zero_point, int64_t step, int64_t count,
                           std::vector<uint32_t>* values) {
    std::vector<int64_t> whole, zeros = {0};
    ReadWhole(tensor, &whole);
    if (zero_point != nullptr) ReadWhole(*zero_point, &zeros);
    values->resize(whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      const auto at = zeros.size() == 1 ? 0 : static_cast<int64_t>(i) / std::max<int64_t>(1, step) % count;
      (*values)[i] = static_cast<uint32_t>(whole[i] - zeros[static_cast<size_t>(at)]);
    }
  }

  // Row r of all matrices' rows: b is read row by row, so that the inner loop runs over contiguous values.
  void MultiplyRow(int64_t r, int32_t* y) const {
    const auto matrix = static_cast<size_t>(r / s_.m);
    const uint32_t* a = a_.data() + (s_.first_matrix[matrix] * s_.m + r % s_.m) * s_.k;
    const uint32_t* b = b_.data() + s_.second_matrix[matrix] * s_.k * s_.n;
    auto* sums = reinterpret_cast<uint32_t*>(y);
    std::fill_n(sums, s_.n, 0u);
    for (int64_t k = 0; k < s_.k; ++k) {
      for (int64_t j = 0; j < s_.n; ++j) sums[j] += a[k] * b[k * s_.n + j];
    }
  }

  bool has_a_ = false, has_b_ = false;
  bool b_constant_ = false, b_ready_ = false;  // a constant b is read once
  MatMulShape s_;
  std::vector<uint32_t> a_, b_;
};

}  // namespace

const KernelFunctions kernel_matmul_integer = {MatMulIntegerKernel::Supports, MakeKernel<MatMulIntegerKernel>};

}  // namespace plumb::x86
