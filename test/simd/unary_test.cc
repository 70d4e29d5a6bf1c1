// SPDX-License-Identifier: Apache-2.0
// Every row of the unary tables against the C library in float64, on every ISA of this CPU: |error| <= tau / 4, tau
// being model_check's tolerance for the operator (relative classes where the kernel has relative accuracy), NaN kept,
// infinities and signs right, any length, in place.
#include "simd/unary.h"

#include <algorithm>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

struct Case {
  UnaryOp op;
  UnaryParams params;
  double (*reference)(double x, const UnaryParams& p);
  double (*tau)(double x, double y);  // without the 4 eta
  float lo = -20, hi = 20;            // a second range where accuracy matters most
};

double Zero(double, double) { return 0; }
template <int kFactor>
double Relative(double, double y) {
  return kFactor * kU * std::fabs(y);
}
template <int kFactor>
double Absolute(double, double) {
  return kFactor * kU;
}
// |x|, but no more than 128 where y has died away: at x = -1e30 a Swish of 1e20 is no rounding.
double Reach(double x, double y) {
  return std::fabs(y) < 0.5 * std::fabs(x) ? std::min(std::fabs(x), 128.0) : std::fabs(x);
}
template <int kFactor>
double OfInput(double x, double y) {
  return kFactor * kU * Reach(x, y);
}
template <int kFactor>
double OfInputOrOne(double x, double y) {
  return kFactor * kU * std::max(1.0, Reach(x, y));
}
double RelativeTail(double, double y) { return 40 * kU * std::fabs(y) + 8 * kEta; }

double Clip(double x, double lo, double hi) { return x < lo ? lo : (x > hi ? hi : x); }
double Sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return std::isnan(x) ? x : std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
using P = const UnaryParams&;

const Case kCases[] = {
    {UnaryOp::kReLU, {}, [](double x, P) { return x < 0 ? 0 : x; }, Zero},
    {UnaryOp::kReLU6, {}, [](double x, P) { return Clip(x, 0, 6); }, Zero},
    {UnaryOp::kClip, {-1.5f, 3.25f}, [](double x, P p) { return Clip(x, p.alpha, p.beta); }, Zero},
    {UnaryOp::kLeakyRelu, {0.01f}, [](double x, P p) { return x < 0 ? p.alpha * x : x; }, Relative<8>},
    {UnaryOp::kHardSigmoid, {0.2f, 0.5f}, [](double x, P p) { return Clip(p.alpha * x + p.beta, 0, 1); }, Absolute<8>},
    {UnaryOp::kHardSwish,
     {1 / 6.0f, 0.5f},
     [](double x, P p) { return x * Clip(p.alpha * x + p.beta, 0, 1); },
     OfInput<12>},
    {UnaryOp::kSoftsign, {}, [](double x, P) { return x / (1 + std::fabs(x)); }, Relative<12>},
    {UnaryOp::kSqrt, {}, [](double x, P) { return std::sqrt(x); }, Relative<8>, 0, 100},
    {UnaryOp::kRsqrt, {}, [](double x, P) { return 1 / std::sqrt(x); }, Relative<12>, 0, 100},
    {UnaryOp::kReciprocal, {}, [](double x, P) { return 1 / x; }, Relative<8>},
    {UnaryOp::kSquare, {}, [](double x, P) { return x * x; }, Relative<8>},
    {UnaryOp::kAbs, {}, [](double x, P) { return std::fabs(x); }, Zero},
    {UnaryOp::kNeg, {}, [](double x, P) { return -x; }, Zero},
    {UnaryOp::kFloor, {}, [](double x, P) { return std::floor(x); }, Zero},
    {UnaryOp::kCeil, {}, [](double x, P) { return std::ceil(x); }, Zero},
    {UnaryOp::kPlumbRound, {}, [](double x, P) { return std::nearbyint(x); }, Zero},
    {UnaryOp::kSign, {}, [](double x, P) { return x > 0 ? 1 : (x < 0 ? -1 : x); }, Zero},
    {UnaryOp::kExp, {}, [](double x, P) { return std::exp(x); }, RelativeTail, -104, 89},
    {UnaryOp::kLog, {}, [](double x, P) { return std::log(x); }, Relative<16>, 0, 3},
    {UnaryOp::kSigmoid, {}, [](double x, P) { return Sigmoid(x); }, Absolute<12>},
    {UnaryOp::kSigmoid, {}, [](double x, P) { return Sigmoid(x); }, RelativeTail, -104, 0},
    {UnaryOp::kLogSigmoid, {}, [](double x, P) { return -Softplus(-x); }, OfInputOrOne<20>},
    {UnaryOp::kLogSigmoid, {}, [](double x, P) { return -Softplus(-x); }, RelativeTail, 0, 104},
    {UnaryOp::kSwish, {}, [](double x, P) { return x * Sigmoid(x); }, OfInput<16>},
    {UnaryOp::kTanh, {}, [](double x, P) { return std::tanh(x); }, Absolute<20>},
    {UnaryOp::kTanh, {}, [](double x, P) { return std::tanh(x); }, Relative<20>, -1, 1},
    {UnaryOp::kElu, {1.0f}, [](double x, P p) { return x > 0 ? x : p.alpha * std::expm1(x); }, Absolute<16>},
    {UnaryOp::kSelu,
     {1.6732632f, 0, 1.050701f},
     [](double x, P p) { return x > 0 ? x * p.gamma : p.gamma * (p.alpha * std::expm1(x)); },
     OfInputOrOne<32>},
    {UnaryOp::kSoftplus, {}, [](double x, P) { return Softplus(x); }, OfInputOrOne<20>},
    {UnaryOp::kSoftplus, {}, [](double x, P) { return Softplus(x); }, RelativeTail, -104, 0},
    {UnaryOp::kErf, {}, [](double x, P) { return std::erf(x); }, Absolute<36>, -4.5, 4.5},
    {UnaryOp::kErf, {}, [](double x, P) { return std::erf(x); }, Relative<8>, -4.5, 4.5},
    {UnaryOp::kGELU, {}, [](double x, P) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); }, OfInput<24>, -8, 8},
    {UnaryOp::kSin, {}, [](double x, P) { return std::sin(x); }, Relative<12>, -1000, 1000},
    {UnaryOp::kCos, {}, [](double x, P) { return std::cos(x); }, Relative<12>, -1000, 1000},
    {UnaryOp::kTan, {}, [](double x, P) { return std::tan(x); }, Relative<8>, -1000, 1000},
    {UnaryOp::kAsin, {}, [](double x, P) { return std::asin(x); }, Relative<16>, -1, 1},
    {UnaryOp::kAcos, {}, [](double x, P) { return std::acos(x); }, Relative<16>, -1, 1},
    {UnaryOp::kAtan, {}, [](double x, P) { return std::atan(x); }, Relative<16>},
    {UnaryOp::kPower, {1, 0, 2}, [](double x, P) { return x * x; }, Relative<8>},
    {UnaryOp::kPower, {2, -3, 3}, [](double x, P) { return std::pow(2 * x - 3, 3); }, Relative<8>, 1.4, 1.6},
    {UnaryOp::kPower, {1, 1, -1}, [](double x, P) { return 1 / (x + 1); }, Relative<8>},
    {UnaryOp::kPower, {1, 0, 0.5f}, [](double x, P) { return std::pow(x, 0.5); }, Relative<8>, 0, 9},
    {UnaryOp::kPower, {0.5f, 1, -2.75f}, [](double x, P) { return std::pow(0.5 * x + 1, -2.75); }, Relative<8>, 0, 9},
    {UnaryOp::kPower, {1, 0, 7}, [](double x, P) { return std::pow(x, 7); }, Relative<8>},
    {UnaryOp::kPower, {3, 1, 0}, [](double, P) { return 1.0; }, Relative<8>},
};

std::vector<float> Inputs(float lo, float hi) {
  std::vector<float> inputs = Specials();
  for (const auto& part :
       {RandomBits(40000), Uniform(60000, lo, hi), Uniform(20000, -3, 3), Uniform(20000, -120, 120)}) {
    inputs.insert(inputs.end(), part.begin(), part.end());
  }
  return inputs;
}

void Check(const Case& c) {
  const std::vector<float> src = Inputs(c.lo, c.hi);
  std::vector<float> dst(src.size());
  Unary(c.op, c.params, src.data(), dst.data(), src.size());
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < src.size(); ++i) {
    const double reference = c.reference(src[i], c.params);
    const double tau = c.tau(src[i], reference);
    const double error = ErrorInTau(dst[i], reference, tau == 0 ? 0 : tau + 4 * kEta);
    if (error > worst) worst = error, at = i;
  }
  const double reference = c.reference(src[at], c.params);
  EXPECT_LE(worst, 0.25) << UnaryName(c.op) << "(" << src[at] << ") = " << dst[at] << ", float64 " << reference;
  ::testing::Test::RecordProperty(UnaryName(c.op), std::to_string(worst));
  if (std::getenv("PLUMB_TEST_PRINT") != nullptr) {
    std::printf("%-8s %-12s E %.3f at %.9g\n", TargetName(), UnaryName(c.op), worst, src[at]);
  }
}

TEST(SimdUnaryTest, EveryRowIsWithinAQuarterOfTau) {
  ForEachIsa([] {
    for (const Case& c : kCases) Check(c);
  });
}

TEST(SimdUnaryTest, EveryRowHasACase) {
  for (int op = 0; op < static_cast<int>(UnaryOp::kNumOps); ++op) {
    const bool found = std::any_of(std::begin(kCases), std::end(kCases),
                                   [op](const Case& c) { return c.op == static_cast<UnaryOp>(op); });
    EXPECT_TRUE(found) << "no case for " << UnaryName(static_cast<UnaryOp>(op));
  }
}

TEST(SimdUnaryTest, AnyLengthInPlaceWithoutStrayWrites) {
  ForEachIsa([] {
    const std::vector<float> src = Uniform(100, -5, 5);
    std::vector<float> whole(src.size());
    Unary(UnaryOp::kSigmoid, {}, src.data(), whole.data(), src.size());
    for (size_t n = 0; n <= 67; ++n) {
      std::vector<float> data = src;
      Unary(UnaryOp::kSigmoid, {}, data.data() + 1, data.data() + 1, n);
      for (size_t i = 0; i < data.size(); ++i) {
        const bool inside = i >= 1 && i < 1 + n;
        ASSERT_EQ(data[i], inside ? whole[i] : src[i]) << "n " << n << ", element " << i;
      }
    }
  });
}

}  // namespace
}  // namespace plumb::simd
