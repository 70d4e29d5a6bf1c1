// SPDX-License-Identifier: Apache-2.0
#include "check/cause/general_ways.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace plumb {
namespace {

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
double PlainGelu(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
// An inverse root from the bits of a float, better by so many of Newton's steps.
double RsqrtByBits(double x, int steps) {
  const auto value = static_cast<float>(x);
  if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = 0x5f3759df - (bits >> 1);
  float guess = 0;
  std::memcpy(&guess, &bits, sizeof(guess));
  auto y = static_cast<double>(guess);
  for (int i = 0; i < steps; ++i) y *= 1.5 - 0.5 * x * y * y;
  return y;
}
double SoftPlus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }

}  // namespace

const std::vector<PlainFunction>& PlainFunctions() {
  // A function a line.
  // clang-format off
  static const auto* functions = new std::vector<PlainFunction>{
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Sigmoid", Logistic},
      {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"HardTanh", [](double x) { return std::clamp(x, -1.0, 1.0); }},
      {"HardSigmoid with 0.2 x + 0.5", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"HardSigmoid with x / 6 + 0.5", [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"ReLU", [](double x) { return std::max(x, 0.0); }},
      {"ReLU6", [](double x) { return std::clamp(x, 0.0, 6.0); }},
      {"the square of ReLU", [](double x) { return x > 0 ? x * x : 0; }},
      {"LeakyRelu with slope 0.01", [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"LeakyRelu with slope 0.1", [](double x) { return x > 0 ? x : 0.1 * x; }},
      {"LeakyRelu with slope 0.2", [](double x) { return x > 0 ? x : 0.2 * x; }},
      {"LeakyRelu with slope 0.3", [](double x) { return x > 0 ? x : 0.3 * x; }},
      {"LeakyRelu turned round, with slope 0.01 above 0", [](double x) { return x > 0 ? 0.01 * x : x; }},
      {"LeakyRelu turned round, with slope 0.1 above 0", [](double x) { return x > 0 ? 0.1 * x : x; }},
      {"Elu with alpha 1", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"Selu", [](double x) { return 1.05070098735548 * (x > 0 ? x : 1.67326324235438 * std::expm1(x)); }},
      {"GELU", PlainGelu},
      {"x sigmoid(1.702 x)", [](double x) { return x * Logistic(1.702 * x); }},
      {"SiLU", [](double x) { return x * Logistic(x); }},
      {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"x HardSigmoid with 0.2 x + 0.5", [](double x) { return x * std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"Mish", [](double x) { return x * std::tanh(SoftPlus(x)); }},
      {"Softplus", SoftPlus},
      {"Softplus of beta 2", [](double x) { return SoftPlus(2 * x) / 2; }},
      {"Softplus of beta 0.5", [](double x) { return 2 * SoftPlus(x / 2); }},
      {"LogSigmoid", [](double x) { return -SoftPlus(-x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"exp(x) - 1", [](double x) { return std::expm1(x); }},
      {"2^x", [](double x) { return std::exp2(x); }},
      {"10^x", [](double x) { return std::pow(10, x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"log(1 + x)", [](double x) { return std::log1p(x); }},
      {"a logarithm of base 2", [](double x) { return std::log2(x); }},
      {"a logarithm of base 10", [](double x) { return std::log10(x); }},
      {"the square", [](double x) { return x * x; }},
      {"the cube", [](double x) { return x * x * x; }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"1 / sqrt(x)", [](double x) { return 1 / std::sqrt(x); }},
      {"1 / sqrt(x) by its bits (0x5f3759df)", [](double x) { return RsqrtByBits(x, 0); }},
      {"1 / sqrt(x) by its bits (0x5f3759df) and one of Newton's steps", [](double x) { return RsqrtByBits(x, 1); }},
      {"1 / sqrt(x) by its bits (0x5f3759df) and two of Newton's steps", [](double x) { return RsqrtByBits(x, 2); }},
      {"Sqrt from 1 / sqrt(x) by its bits and one of Newton's steps", [](double x) { return x * RsqrtByBits(x, 1); }},
      {"1 / x", [](double x) { return 1 / x; }},
      {"1 / x^2", [](double x) { return 1 / (x * x); }},
      {"-x", [](double x) { return -x; }},
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"cutting off", [](double x) { return std::trunc(x); }},
      {"rounding half to even", [](double x) { return std::nearbyint(x); }},
      {"rounding half away from zero", [](double x) { return std::round(x); }},
  };
  // clang-format on
  return *functions;
}

std::vector<Proposal> GeneralProposalsFor(const ProposalContext& context) {
  Proposals proposals;
  ProposeOtherFields(context, &proposals);
  ProposeEarlyActivations(context, &proposals);
  ProposeOtherPadding(context, &proposals);
  ProposeOtherTerms(context, &proposals);
  ProposeOtherOperands(context, &proposals);
  ProposeOtherResults(context, &proposals);
  return proposals;
}

}  // namespace plumb
