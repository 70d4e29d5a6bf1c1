// SPDX-License-Identifier: Apache-2.0
// Pooling a row of outputs at a time against its definition, window by window: the same bits of values and of the
// bound's level 0, with borders, strides and steps, uncertain inputs, NaN and infinities.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "op/pooling.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

struct RowsCase {
  const char* name;
  int height, width, kernel_h, kernel_w, stride, pad;
};

const RowsCase kRowsCases[] = {
    {"k3s1p1", 9, 13, 3, 3, 1, 1},  {"k3s2p1", 11, 12, 3, 3, 2, 1}, {"k2s2", 8, 7, 2, 2, 2, 0},
    {"k4x3s3", 13, 14, 4, 3, 3, 1}, {"k5s1p2", 9, 9, 5, 5, 1, 2},  // of more terms: window by window
};

class PoolingRowsTest : public testing::TestWithParam<RowsCase> {
 protected:
  // {value, tau} of one window.
  std::pair<double, double> OneWindow(int64_t out, bool average, bool uncertain) const {
    const WindowAxis &h = window_.h, &w = window_.w;
    const int64_t c = out / (h.out * w.out), top = out / w.out % h.out * h.stride - h.pad_begin,
                  left = out % w.out * w.stride - w.pad_begin;
    std::vector<int64_t> at;
    for (int64_t y = std::max<int64_t>(top, 0); y < std::min(top + h.kernel, h.in); ++y) {
      for (int64_t x = std::max<int64_t>(left, 0); x < std::min(left + w.kernel, w.in); ++x)
        at.push_back((c * h.in + y) * w.in + x);
    }
    const double *x = x_.data<double>(), *tau_x = tau_x_.data<double>();
    double max = -INFINITY, largest_tau = 0, sum = 0, squares = 0, inherited = 0;
    const auto block = static_cast<int64_t>(std::max<size_t>(1, (at.size() + 15) / 16));
    int64_t length = 0;
    for (const int64_t i : at) {
      if (!(x[i] <= max) && !std::isnan(max)) max = x[i];
      largest_tau = std::max(largest_tau, tau_x[i]);
      inherited += tau_x[i] * tau_x[i];
      sum += x[i];
      if (++length < block) continue;
      squares += static_cast<double>(length) * sum * sum;
      length = 0;
    }
    squares += static_cast<double>(length) * sum * sum;
    if (!average) return {max, uncertain ? largest_tau : 0};
    const double count = static_cast<double>(at.size()), y = sum / count, scale = 1 / (count * count), u2 = 0x1p-48;
    const double own2 = u2 * squares * scale + u2 * y * y;
    return {y, std::sqrt(144 * own2 + (uncertain ? inherited : 0) * scale) + 4 * 0x1p-126};
  }

  void ExpectDefinition(bool average, bool uncertain) {
    const RowsCase& p = GetParam();
    auto param = std::make_shared<PoolingParam>();
    param->pool_type = average ? kPoolAverage : kPoolMax;
    param->kernel_h = p.kernel_h, param->kernel_w = p.kernel_w;
    param->stride_h = param->stride_w = p.stride;
    param->pad_h = param->pad_w = p.pad;
    param->pad_type = kPadExplicit;
    Layer layer;
    layer.kind = OpKind::kPooling;
    layer.param = param;
    const auto shape = ResolvePooling(layer, x_.shape());
    ASSERT_TRUE(shape.ok()) << shape.status().ToString();
    window_ = shape->window;
    Tensor y = Tensor::Create(DType::kF64, {1, kChannels, window_.h.out, window_.w.out}).value();
    Tensor tau = Tensor::Create(DType::kF64, y.shape()).value();
    BoundArgs bound;
    bound.tau = {&tau};
    bound.input_tau = {uncertain ? &tau_x_ : nullptr};
    ASSERT_TRUE(GetReferenceOp(OpKind::kPooling).run_with_bound({layer, {&x_}, {&y}}, bound).ok());
    for (int64_t i = 0; i < y.NumElements(); ++i) {
      const auto [value, wanted] = OneWindow(i, average, uncertain);
      ExpectSame(y.data<double>()[i], value, i);
      ExpectSame(tau.data<double>()[i], wanted, i);
    }
  }

  static void ExpectSame(double got, double want, int64_t i) {
    EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << i << ": " << got << " for " << want;
  }

  void SetUp() override {
    const RowsCase& p = GetParam();
    x_ = Tensor::Create(DType::kF64, {1, kChannels, p.height, p.width}).value();
    tau_x_ = Tensor::Create(DType::kF64, x_.shape()).value();
    std::mt19937 random(5);
    std::normal_distribution<double> gauss;
    for (int64_t i = 0; i < x_.NumElements(); ++i) {
      x_.data<double>()[i] = gauss(random);
      tau_x_.data<double>()[i] = std::fabs(gauss(random)) * 1e-7;
    }
    x_.data<double>()[p.width + 2] = NAN;
    x_.data<double>()[p.height * p.width + 3 * p.width + 4] = INFINITY;
  }

  static constexpr int64_t kChannels = 3;
  Tensor x_, tau_x_;
  Window2D window_;
};

TEST_P(PoolingRowsTest, IsItsDefinition) {
  for (const bool average : {false, true}) {
    for (const bool uncertain : {false, true}) ExpectDefinition(average, uncertain);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, PoolingRowsTest, testing::ValuesIn(kRowsCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace plumb
