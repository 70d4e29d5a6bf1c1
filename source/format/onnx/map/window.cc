// SPDX-License-Identifier: Apache-2.0
// Windows of signal processing and the mel matrix: constants, computed in double. The type of the result is
// output_datatype.
#include <cmath>
#include <functional>

#include "format/onnx/node_context.h"

namespace plumb::onnx {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kMaxSize = 1 << 24;

Status SetDoubles(NodeContext& c, const Shape& shape, const std::function<double(int64_t)>& value) {
  const int type = static_cast<int>(c.Int("output_datatype", kTypeFloat));
  PLUMB_ASSIGN_OR_RETURN(const DType dtype, CarriedDType(type));
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kF64, shape));
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(DType::kF64, shape));
  for (int64_t i = 0; i < y.NumElements(); ++i) y.data<double>()[i] = value(i);
  PLUMB_ASSIGN_OR_RETURN(y, y.ConvertedTo(dtype));
  c.Set(0, c.Const(y), type);
  return Status::Ok();
}

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), n the size, or one less when the window is not periodic.
Status Cosines(NodeContext& c, double a0, double a1, double a2) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, c.Ints(0, "the size"));
  if (sizes.size() != 1 || sizes[0] < 0 || sizes[0] > kMaxSize)
    return Status::CorruptModel("the size must be one number of 0 .. 2^24");
  const double n = static_cast<double>(c.Int("periodic", 1) != 0 ? sizes[0] : sizes[0] - 1);
  return SetDoubles(c, Shape{sizes[0]}, [=](int64_t i) {
    const double angle = 2 * kPi * static_cast<double>(i) / n;
    return a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  });
}

double Mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double Hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

}  // namespace

Status MapHannWindow(NodeContext& c) { return Cosines(c, 0.5, 0.5, 0); }
Status MapHammingWindow(NodeContext& c) { return Cosines(c, 25.0 / 46, 21.0 / 46, 0); }
Status MapBlackmanWindow(NodeContext& c) { return Cosines(c, 0.42, 0.5, 0.08); }

// Triangles between neighbouring mel frequencies, rounded down to spectrogram bins.
Status MapMelWeightMatrix(NodeContext& c) {
  const char* kNames[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"};
  double v[5];
  for (size_t i = 0; i < 5; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, c.Constant(i, kNames[i]));
    if (value.NumElements() != 1) return Status::CorruptModel(std::string(kNames[i]) + " must be one value");
    v[i] = value.ValueAt(0);
  }
  if (!(v[0] >= 1 && v[0] <= 1e6 && v[1] >= 0 && v[1] <= 1e7 && v[2] > 0))
    return Status::CorruptModel("the sizes are out of range");
  const auto bins = static_cast<int64_t>(v[0]), spectrum = static_cast<int64_t>(v[1]) / 2 + 1;
  std::vector<double> edges;
  const double low = Mel(v[3]), step = (Mel(v[4]) - low) / static_cast<double>(bins + 2);
  for (int64_t i = 0; i < bins + 2; ++i)
    edges.push_back(std::floor((v[1] + 1) * Hertz(static_cast<double>(i) * step + low) / v[2]));
  return SetDoubles(c, Shape{spectrum, bins}, [=](int64_t i) {
    const auto row = static_cast<double>(i / bins);
    const auto bin = static_cast<size_t>(i % bins);
    const double left = edges[bin], center = edges[bin + 1], right = edges[bin + 2];
    if (row == center && left == center) return 1.0;
    if (row >= left && row <= center && center > left) return (row - left) / (center - left);
    if (row >= center && row < right) return (right - row) / (right - center);
    return 0.0;
  });
}

}  // namespace plumb::onnx
