// SPDX-License-Identifier: Apache-2.0
#include "reference/sum/op.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "op/convolution.h"
#include "reference/core/elementwise.h"
#include "reference/sum/difference.h"

namespace plumb::reference {
namespace {

double Relu(double x) { return x < 0 ? 0 : x; }
double Relu6(double x) { return x < 0 ? 0 : x > 6 ? 6 : x; }
double Swish(double x) { return x / (1 + std::exp(-x)); }

// kOwn is the activation's rounding in units of 2^-24 |x|.
template <double (*kFunction)(double), int kOwn>
void Activate(int64_t count, double* value, double* tau) {
  if (tau == nullptr) {
    for (int64_t i = 0; i < count; ++i) value[i] = kFunction(value[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const double x = value[i], y = kFunction(x), spread = Spread(kFunction, x, y, tau[i]);
    value[i] = y;
    const double inherited = std::fabs(x) < INFINITY ? spread : 0;  // ReLU(-inf) is exactly 0
    tau[i] = kOwn == 0 ? inherited : std::hypot(inherited, kOwn * 0x1p-24 * std::fabs(x) + 4 * kEta);
  }
}

}  // namespace

ActivateRow ActivationRow(int activation) {
  switch (activation) {
    case kActivationReLU: return Activate<Relu, 0>;
    case kActivationReLU6: return Activate<Relu6, 0>;
    case kActivationSwish: return Activate<Swish, 16>;
    default: return nullptr;
  }
}

namespace {

// Images that share a sweep over the weights: enough of them that the sweep costs little beside their sums. A batch of
// millions (the rows of an InnerProduct) would take a kilobyte each beside its blobs.
constexpr int64_t kSharing = 1024;

// The images of args.beside from `first` on: those that lie close to `images` by their differences, the others behind
// them.
void AddBeside(const SumGeometry& geometry, const SumOperands& operands, const ReferenceArgs& beside, int64_t first,
               std::vector<SumImage>* images) {
  const int64_t in = geometry.in_channels * geometry.in_pixels();
  const int64_t out = geometry.out_channels * geometry.out_pixels();
  const bool has_difference = HasDifference(geometry, operands);
  for (size_t n = 0, count = images->size(); n < count; ++n) {
    const int64_t at = first + static_cast<int64_t>(n);
    const double* near = beside.inputs[0]->data<double>() + at * in;
    double* output = beside.outputs[0]->data<double>() + at * out;
    SumImage& image = (*images)[n];
    if (has_difference && SumOfDifferences(geometry, operands.weight.f32(), image.input.f64(), near, output)) {
      image.beside = output;
    } else {
      SumImage other;
      other.input = near, other.output = output;
      images->push_back(other);
    }
  }
}

}  // namespace

Status RunBatch(const SumGeometry& geometry, SumOperands operands, int64_t batch, const ReferenceArgs& args,
                const BoundArgs* bound) {
  const Tensor& input = *args.inputs[0];
  if (input.dtype() != DType::kF32 && input.dtype() != DType::kF64) {
    return Status::NotSupported(fmt::format("the reference has no kernel for {} blobs here", DTypeName(input.dtype())));
  }
  if (const Tensor* bias = args.layer.Resource("bias")) operands.bias = bias->data<float>();
  const int64_t in = geometry.in_channels * geometry.in_pixels();
  const int64_t out = geometry.out_channels * geometry.out_pixels();
  const double* input_tau = bound != nullptr ? InputTau(*bound, 0) : nullptr;
  const Tensor* later = bound != nullptr && operands.activate == nullptr ? bound->later : nullptr;
  std::vector<SumImage> images;
  for (int64_t begin = 0; begin < batch; begin += kSharing) {
    images.clear();
    for (int64_t n = begin; n < std::min(batch, begin + kSharing); ++n) {
      SumImage image;
      image.input = RealsOf(input, n * in);
      image.output = RealsOf(args.outputs[0], n * out);
      if (bound != nullptr) image.tau = bound->tau[0]->data<double>() + n * out;
      if (input_tau != nullptr) image.input_tau = input_tau + n * in;
      if (later != nullptr) image.later = later->data<double>() + n * out;
      if (later != nullptr && bound->later_constant != nullptr)
        image.later_constant = bound->later_constant->data<double>() + n * out;
      images.push_back(image);
    }
    if (args.beside != nullptr) AddBeside(geometry, operands, *args.beside, begin, &images);
    SumOfProducts(geometry, operands, images, SumBoundOf(bound));
  }
  return Status::Ok();
}

}  // namespace plumb::reference
