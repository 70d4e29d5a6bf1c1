// PlumbQuantizeLinear and PlumbDequantizeLinear on simd/quantize.h; PlumbMatMulInteger and Einsum as plain
// loops: Einsum sums in float64, integers wrap around. All in plain order.
#include <algorithm>
#include <cmath>

#include "base/by_dtype.h"
#include "base/threads.h"
#include "device/x86/kernel_list.h"
#include "op/einsum.h"
#include "op/matmul.h"
#include "op/matmul_integer.h"
#include "op/quantize_linear.h"
#include "simd/quantize.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kIntegerMathGrain = 16384;  // operations that are worth a second thread

Tensor ViewOfIntegerMath(const DeviceTensor& t) { return Tensor::View(t.dtype, t.shape, t.host<char>(), t.buffer); }

// i64 values of an integer tensor, kept between Forwards.
void ReadWhole(const DeviceTensor& t, std::vector<int64_t>* values) {
  values->resize(static_cast<size_t>(t.shape.NumElements()));
  const Tensor view = ViewOfIntegerMath(t);
  for (size_t i = 0; i < values->size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (*values)[i] = t.dtype == DType::kI64 ? t.host<int64_t>()[at] : static_cast<int64_t>(view.ValueAt(at));
  }
}

class QuantizeKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const bool quantize = spec.layer().kind == OpKind::kPlumbQuantizeLinear;
    const DType real = quantize ? spec.inputs[0].dtype : spec.outputs[0].dtype;
    if (real == DType::kF32 && spec.inputs[1].dtype == DType::kF32) return Status::Ok();
    return Status::NotSupported(std::string("takes f32 and scales of f32, found ") + DTypeName(real) + " and " +
                                DTypeName(spec.inputs[1].dtype));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    quantize_ = spec.layer().kind == OpKind::kPlumbQuantizeLinear;
    zero_points_.assign(static_cast<size_t>(spec.inputs[1].shape.NumElements()), 0);
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveQuant(spec.layer(), spec.inputs));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (inputs.size() > 2) ReadWhole(inputs[2], &zero_points_);
    const bool widen = !quantize_ && inputs[0].dtype != DType::kI64;
    if (widen) ReadWhole(inputs[0], &whole_);
    const float* scales = inputs[1].host<float>();
    ParallelFor(outputs[0].shape.NumElements(), kIntegerMathGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, count = 0; i < end; i += count) {
        const int64_t at = s_.ScaleOf(i), zero_point = zero_points_[static_cast<size_t>(at)];
        count = std::min(s_.RunFrom(i), end - i);
        if (quantize_) {
          Quantize(inputs[0].host<float>() + i, scales[at], zero_point, count, outputs[0].host<int64_t>() + i);
        } else {
          const int64_t* q = widen ? whole_.data() : inputs[0].host<int64_t>();
          simd::Dequantize(q + i, zero_point, scales[at], outputs[0].host<float>() + i, static_cast<size_t>(count));
        }
      }
    });
    return Status::Ok();
  }

 private:
  void Quantize(const float* x, float scale, int64_t zero_point, int64_t count, int64_t* y) const {
    constexpr int64_t kExact = 1 << 22;
    if (s_.high < kExact && std::abs(zero_point) < kExact) {
      const auto narrow = [](int64_t v) { return static_cast<int32_t>(v); };
      const simd::QuantizeRange range{scale, narrow(zero_point), narrow(s_.low), narrow(s_.high)};
      return simd::Quantize(x, range, y, static_cast<size_t>(count));
    }
    for (int64_t i = 0; i < count; ++i) y[i] = Quantized(x[i] / scale, zero_point);
  }
  int64_t Quantized(float quotient, int64_t zero_point) const {
    if (std::isnan(quotient)) return zero_point;
    const double q = std::nearbyint(static_cast<double>(quotient)) + static_cast<double>(zero_point);
    if (q <= static_cast<double>(s_.low)) return s_.low;
    return q >= static_cast<double>(s_.high) ? s_.high : static_cast<int64_t>(q);
  }

  bool quantize_ = false;
  QuantShape s_;
  std::vector<int64_t> zero_points_, whole_;
};

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
    ParallelFor(matrices * s_.m, std::max<int64_t>(1, kIntegerMathGrain / (s_.k * s_.n + 1)),
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

class EinsumKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
    return Status::NotSupported(std::string("takes f32, i32 and i64, found ") + DTypeName(dtype));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    std::vector<Shape> shapes;
    for (const BlobInfo& in : spec.inputs) shapes.push_back(in.shape);
    PLUMB_ASSIGN_OR_RETURN(plan_, PlanEinsum(spec.layer(), shapes));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return WithNumber(outputs[0].dtype, [&](auto number) {
      using T = decltype(number);
      ParallelFor(plan_.out.NumElements(), std::max<int64_t>(1, kIntegerMathGrain / (plan_.terms + 1)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) outputs[0].host<T>()[i] = SumAt<T>(inputs, i);
                  });
      return Status::Ok();
    });
  }

 private:
  template <class T>
  T SumAt(const std::vector<DeviceTensor>& inputs, int64_t element) const {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    const auto out_rank = static_cast<size_t>(plan_.out.rank());
    Sum sum = 0;
    for (int64_t term = 0; term < plan_.terms; ++term) {
      Sum product = 1;
      for (size_t i = 0; i < inputs.size(); ++i) {
        int64_t at = 0, inner = term, outer = element;
        for (size_t d = plan_.dims.size(); d-- > out_rank; inner /= plan_.dims[d])
          at += inner % plan_.dims[d] * plan_.strides[i][d];
        for (size_t d = out_rank; d-- > 0; outer /= plan_.dims[d]) at += outer % plan_.dims[d] * plan_.strides[i][d];
        product *= static_cast<Sum>(inputs[i].host<T>()[at]);
      }
      sum += product;
    }
    return static_cast<T>(sum);
  }

  EinsumPlan plan_;
};

}  // namespace

const KernelFunctions kernel_quantize = {QuantizeKernel::Supports, MakeKernel<QuantizeKernel>};
const KernelFunctions kernel_matmul_integer = {MatMulIntegerKernel::Supports, MakeKernel<MatMulIntegerKernel>};
const KernelFunctions kernel_einsum = {EinsumKernel::Supports, MakeKernel<EinsumKernel>};

}  // namespace plumb::x86
