// SPDX-License-Identifier: Apache-2.0
// Does the bound of sums of products tell rounding from faults? fp32 kernels as devices write them (serial, other term
// order, 16 lanes, pairwise, products rounded before they are added) must stay inside E <= 1, R <= 2, R_channel <= 6 of
// tolerance.md; planted faults must leave it (E > 4 or R > 2 or R_channel > 6).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/half.h"
#include "sum_reference.h"

namespace plumb::reference {
namespace {

using test::MakeAxis;
using test::Term;

struct Layer {
  const char* name;
  int64_t groups, in, out;
  SumAxis h, w;
  bool transposed = false;
};

const Layer kLayers[] = {
    {"conv3x3", 1, 40, 6, MakeAxis(10, 3, 1, 1, 1, 1), MakeAxis(11, 3, 1, 1, 1, 1)},
    {"conv1x1", 1, 160, 8, MakeAxis(9, 1, 1, 1, 0, 0), MakeAxis(9, 1, 1, 1, 0, 0)},
    {"conv7x7s2", 1, 3, 6, MakeAxis(29, 7, 2, 1, 3, 3), MakeAxis(29, 7, 2, 1, 3, 3)},
    {"depthwise", 8, 8, 8, MakeAxis(15, 3, 1, 1, 1, 1), MakeAxis(14, 3, 1, 1, 1, 1)},
    {"inner_product", 1, 700, 300, {}, {}},
    {"deconv", 1, 24, 4, {8, 16, 4, 2, 1, 1}, {9, 18, 4, 2, 1, 1}, true},
};

// kAlternating: neighbouring terms cancel, those of one accumulator among several do not.
enum class Inputs { kGauss, kRelu, kOffset, kHotPixel, kConstant, kAlternating };
const char* const kInputNames[] = {"gauss", "relu", "offset", "hot_pixel", "constant", "alternating"};

struct Problem {
  SumGeometry g;
  std::vector<float> x, w, bias;
  std::vector<double> y, tau;
  std::vector<std::vector<Term>> terms;  // per output
  int64_t plane() const { return g.out_pixels(); }
};

std::vector<float> Draw(Inputs inputs, int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> gauss;
  std::vector<float> x(static_cast<size_t>(count));
  for (float& v : x) {
    v = gauss(random);
    if (inputs == Inputs::kRelu) v = std::max(v, 0.0f);
    if (inputs == Inputs::kOffset) v = 100 + v;
    if (inputs == Inputs::kHotPixel) v *= 1e-3f;
    if (inputs == Inputs::kConstant) v = 1.1f;
    if (inputs == Inputs::kAlternating) v = (&v - x.data()) % 2 == 0 ? 1.1f : -1.1f;
  }
  if (inputs == Inputs::kHotPixel) x[x.size() / 2] = 1000;
  if (std::fabs(x.back()) < 0.5f) x.back() = 0.5f;  // the channel that a fault drops is not silent
  return x;
}

Problem Make(const Layer& layer, Inputs inputs, int level) {
  Problem p;
  p.g.groups = layer.groups;
  p.g.in_channels = layer.in;
  p.g.out_channels = layer.out;
  p.g.axis = {SumAxis(), layer.h, layer.w};
  p.g.transposed = layer.transposed;
  p.x = Draw(inputs == Inputs::kAlternating ? Inputs::kConstant : inputs, layer.in * p.g.in_pixels(), 5);
  const int64_t weights = layer.out * layer.in / layer.groups * p.g.kernel_size();
  const bool regular = inputs == Inputs::kConstant || inputs == Inputs::kAlternating;
  p.w = Draw(regular ? inputs : Inputs::kGauss, weights, 6);
  p.bias = Draw(Inputs::kGauss, layer.out, 7);
  p.y.resize(static_cast<size_t>(layer.out * p.g.out_pixels()));
  p.tau.resize(p.y.size());
  SumBound bound;
  bound.level = level;
  SumOfProducts(p.g, {p.w.data(), p.bias.data()}, {{p.x.data(), p.y.data(), p.tau.data()}}, bound);
  for (int64_t i = 0; i < static_cast<int64_t>(p.y.size()); ++i) {
    const int64_t pixel = i % p.plane();
    p.terms.push_back(
        test::TermsOf(p.g, p.x.data(), p.w.data(), i / p.plane(), 0, pixel / p.g.axis[2].out, pixel % p.g.axis[2].out));
  }
  return p;
}

// fp32 kernels: the sum of an output's terms and its bias.
float Serial(const std::vector<Term>& terms, float bias) {
  float sum = bias;
  for (const Term& t : terms) sum = std::fma(t.w, t.x, sum);
  return sum;
}
float SerialRoundedProducts(const std::vector<Term>& terms, float bias) {
  float sum = 0;
  for (const Term& t : terms) sum += t.w * t.x;
  return sum + bias;
}
float KernelFirst(const std::vector<Term>& terms, float bias) {
  std::vector<Term> sorted = terms;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Term& a, const Term& b) { return a.tap < b.tap; });
  float sum = 0;
  for (const Term& t : sorted) sum = std::fma(t.w, t.x, sum);
  return sum + bias;
}
float Lanes(const std::vector<Term>& terms, float bias) {
  float lane[16] = {};
  for (size_t k = 0; k < terms.size(); ++k) lane[k % 16] = std::fma(terms[k].w, terms[k].x, lane[k % 16]);
  for (int step = 8; step > 0; step /= 2) {
    for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  return lane[0] + bias;
}
float Blocks(const std::vector<Term>& terms, float bias) {
  float sum = bias, block = 0;
  for (size_t k = 0; k < terms.size(); ++k) {
    block = std::fma(terms[k].w, terms[k].x, block);
    if (k % 64 != 63 && k + 1 != terms.size()) continue;
    sum += block;
    block = 0;
  }
  return sum;
}
using Fp32Kernel = float (*)(const std::vector<Term>&, float);
const Fp32Kernel kKernels[] = {Serial, SerialRoundedProducts, KernelFirst, Lanes, Blocks};
const char* const kKernelNames[] = {"serial", "rounded products", "kernel first", "16 lanes", "blocks of 64"};

std::vector<float> Compute(const Problem& p, Fp32Kernel kernel) {
  std::vector<float> y;
  for (size_t i = 0; i < p.y.size(); ++i) y.push_back(kernel(p.terms[i], p.bias[i / static_cast<size_t>(p.plane())]));
  return y;
}

struct Score {
  double e = 0, r = 0, r_channel = 0;
  bool healthy() const { return e <= 1 && r <= 2 && r_channel <= 6; }
  bool wrong() const { return e > 4 || r > 2 || r_channel > 6; }
  std::string ToString() const {
    return "E " + std::to_string(e) + " R " + std::to_string(r) + " R_channel " + std::to_string(r_channel);
  }
};

Score Judge(const Problem& p, const std::vector<float>& got) {
  Score score;
  double sum = 0;
  const size_t plane = static_cast<size_t>(p.plane());
  for (size_t c = 0; c < p.y.size() / plane; ++c) {
    double channel = 0;
    for (size_t i = c * plane; i < (c + 1) * plane; ++i) {
      const double ratio = std::fabs(static_cast<double>(got[i]) - p.y[i]) / p.tau[i];
      score.e = std::max(score.e, ratio);
      channel += 64 * ratio * ratio;
    }
    sum += channel;
    if (plane >= 64) score.r_channel = std::max(score.r_channel, std::sqrt(channel / static_cast<double>(plane)));
  }
  score.r = std::sqrt(sum / static_cast<double>(p.y.size()));
  return score;
}

class SumBoundTest : public testing::TestWithParam<std::tuple<Layer, Inputs>> {
 protected:
  const Layer& layer() const { return std::get<0>(GetParam()); }
  Inputs inputs() const { return std::get<1>(GetParam()); }
};

TEST_P(SumBoundTest, HealthyKernelsStayInside) {
  const Problem p = Make(layer(), inputs(), kMaxSumLevel);
  for (size_t k = 0; k < std::size(kKernels); ++k) {
    const Score score = Judge(p, Compute(p, kKernels[k]));
    EXPECT_TRUE(score.healthy()) << kKernelNames[k] << ": " << score.ToString();
  }
  // Without constant fields and serial sums, the cheap level is enough.
  if (inputs() == Inputs::kConstant) return;
  const Score cheap = Judge(Make(layer(), inputs(), 0), Compute(p, Lanes));
  EXPECT_TRUE(cheap.healthy()) << "level 0: " << cheap.ToString();
}

TEST_P(SumBoundTest, PlantedFaultsLeaveIt) {
  const Problem p = Make(layer(), inputs(), kMaxSumLevel);
  const auto expect_wrong = [&](const char* fault, const Problem& faulty) {
    const Score score = Judge(p, Compute(faulty, Serial));
    EXPECT_TRUE(score.wrong()) << fault << ": " << score.ToString();
  };
  Problem q = p;
  for (auto& terms : q.terms) {
    for (Term& t : terms) t.w = HalfToFloat(FloatToHalf(t.w));
  }
  expect_wrong("weights in fp16", q);
  q = p;
  for (auto& terms : q.terms) {
    for (Term& t : terms) t.w *= t.channel == layer().in / layer().groups - 1 ? 0.0f : 1.0f;
  }
  expect_wrong("last channel dropped", q);
  std::vector<float> y = Compute(p, Serial);
  for (float& v : y) v *= 1.001f;
  Score score = Judge(p, y);
  EXPECT_TRUE(score.wrong()) << "x1.001: " << score.ToString();
  y = Compute(p, Serial);
  for (float& v : y) v = HalfToFloat(FloatToHalf(v));
  score = Judge(p, y);
  EXPECT_TRUE(score.wrong()) << "output in fp16: " << score.ToString();
}

TEST_P(SumBoundTest, AMissingBorderPixelLeavesIt) {
  if (layer().h.out < 2) GTEST_SKIP() << "no border";
  const Problem p = Make(layer(), inputs(), kMaxSumLevel);
  std::vector<float> y = Compute(p, Lanes);
  y[0] = p.bias[0];  // only the bias arrived
  const Score score = Judge(p, y);
  EXPECT_TRUE(score.wrong()) << score.ToString();
}

// Sums that end near zero say nothing of faults, but a dot product's accumulators are large (a transform's Nyquist
// row).
TEST(SumBound, NeighboursThatCancelStayInside) {
  for (const Layer& layer : kLayers) {
    const Problem p = Make(layer, Inputs::kAlternating, kMaxSumLevel);
    for (size_t k = 0; k < std::size(kKernels); ++k) {
      const Score score = Judge(p, Compute(p, kKernels[k]));
      EXPECT_TRUE(score.healthy()) << layer.name << ", " << kKernelNames[k] << ": " << score.ToString();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SumBoundTest,
                         testing::Combine(testing::ValuesIn(kLayers),
                                          testing::Values(Inputs::kGauss, Inputs::kRelu, Inputs::kOffset,
                                                          Inputs::kHotPixel, Inputs::kConstant)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  kInputNames[static_cast<int>(std::get<1>(info.param))];
                         });

}  // namespace
}  // namespace plumb::reference
