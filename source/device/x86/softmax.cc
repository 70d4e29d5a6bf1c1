// Softmax along any axis, in plain order: columns (positions behind the axis) are taken 64 at a time, so that every
// pass over them is a loop over contiguous floats.
#include "op/softmax.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "device/simd/unary.h"
#include "device/x86/kernel_list.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kColumns = 64;

void Exp(float* values, int64_t count) {
  simd::Unary(simd::UnaryOp::kExp, {}, values, values, static_cast<size_t>(count));
}

// One row of n contiguous values.
void SoftmaxRow(const float* x, int64_t n, float* y) {
  float max = -INFINITY;
  for (int64_t i = 0; i < n; ++i) max = x[i] <= max ? max : x[i];  // a NaN comes through and makes all of the row NaN
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - max;
  Exp(y, n);
  float parts[16] = {};  // sums of a sixteenth each: the error grows sixteen times slower
  for (int64_t i = 0; i < n; ++i) parts[i % 16] += y[i];
  double sum = 0;
  for (float part : parts) sum += static_cast<double>(part);
  const float scale = static_cast<float>(1.0 / sum);
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

// `count` columns of n values, `stride` apart along the axis.
void SoftmaxColumns(const float* x, int64_t n, int64_t stride, int64_t count, float* y) {
  float max[kColumns], sum[kColumns];
  std::fill(max, max + count, -INFINITY);
  std::fill(sum, sum + count, 0.0f);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = 0; c < count; ++c) max[c] = x[i * stride + c] <= max[c] ? max[c] : x[i * stride + c];
  }
  for (int64_t i = 0; i < n; ++i) {
    float* row = y + i * stride;
    for (int64_t c = 0; c < count; ++c) row[c] = x[i * stride + c] - max[c];
    Exp(row, count);
    for (int64_t c = 0; c < count; ++c) sum[c] += row[c];
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = 0; c < count; ++c) y[i * stride + c] /= sum[c];
  }
}

class SoftmaxKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(spec.layer()).axis, shape.rank()));
    outer_ = shape.Count(0, axis);
    n_ = shape[axis];
    inner_ = shape.CountFrom(axis + 1);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    const int64_t tiles = (inner_ + kColumns - 1) / kColumns;
    const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n_ * std::min(inner_, kColumns)));
    ParallelFor(outer_ * tiles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % tiles * kColumns, at = i / tiles * n_ * inner_ + first;
        if (inner_ == 1)
          SoftmaxRow(src + at, n_, dst + at);
        else
          SoftmaxColumns(src + at, n_, inner_, std::min(kColumns, inner_ - first), dst + at);
      }
    });
    return Status::Ok();
  }

 private:
  int64_t outer_ = 1, n_ = 1, inner_ = 1;
};

}  // namespace

const KernelFunctions kernel_softmax = {SoftmaxKernel::Supports, MakeKernel<SoftmaxKernel>};

}  // namespace plumb::x86
