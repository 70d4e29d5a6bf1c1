// SPDX-License-Identifier: Apache-2.0
#include "check/cause/sample_sums.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "op/activation.h"
#include "op/convolution.h"
#include "op/deconvolution.h"
#include "op/inner_product.h"
#include "op/matmul.h"
#include "op/pooling.h"
#include "op/quantize_linear.h"
#include "op/reduce.h"

namespace plumb {
namespace {

constexpr int64_t kSample = 64;  // outputs

float ValueOf(const Tensor& tensor, int64_t i) { return static_cast<float>(tensor.ValueAt(i)); }

float BiasOf(const Layer& layer, int64_t channel) {
  const Tensor* bias = layer.Resource("bias");
  return bias == nullptr ? 0 : ValueOf(*bias, channel);
}

SampleSum ConvolutionSum(const Layer& layer, const ConvolutionShape& s, const Tensor& input, int64_t output) {
  const WindowAxis &h = s.window.h, &w = s.window.w;
  const int64_t column = output % w.out, row = output / w.out % h.out;
  const int64_t o = output / (w.out * h.out) % s.out_channels, n = output / (w.out * h.out * s.out_channels);
  const int64_t first = o / s.out_per_group() * s.in_per_group();
  SampleSum sum;
  sum.output = output;
  sum.bias = BiasOf(layer, o), sum.channel = o;
  sum.inner = h.kernel * w.kernel;
  for (int64_t c = 0; c < s.in_per_group(); ++c) {
    for (int64_t k = 0; k < sum.inner; ++k) {
      const int64_t y = row * h.stride - h.pad_begin + k / w.kernel * h.dilation;
      const int64_t x = column * w.stride - w.pad_begin + k % w.kernel * w.dilation;
      const bool inside = y >= 0 && y < h.in && x >= 0 && x < w.in;
      sum.x.push_back(inside ? ValueOf(input, ((n * s.in_channels + first + c) * h.in + y) * w.in + x) : 0);
      sum.w.push_back(ValueOf(*layer.Resource("weight"), (o * s.in_per_group() + c) * sum.inner + k));
    }
  }
  return sum;
}

// All of the channel's weights, those that do not reach the output times 0. One group.
SampleSum DeconvolutionSum(const Layer& layer, const ConvolutionShape& s, const Tensor& input, int64_t output) {
  const WindowAxis &h = s.window.h, &w = s.window.w;
  const int64_t column = output % w.out, row = output / w.out % h.out;
  const int64_t o = output / (w.out * h.out) % s.out_channels, n = output / (w.out * h.out * s.out_channels);
  const auto place = [](const WindowAxis& a, int64_t at, int64_t tap) -> int64_t {
    const int64_t scaled = at + a.pad_begin - tap * a.dilation;
    return scaled >= 0 && scaled % a.stride == 0 && scaled / a.stride < a.in ? scaled / a.stride : -1;
  };
  SampleSum sum;
  sum.output = output;
  sum.bias = BiasOf(layer, o), sum.channel = o;
  sum.inner = h.kernel * w.kernel;
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int64_t k = 0; k < sum.inner; ++k) {
      const int64_t y = place(h, row, k / w.kernel), x = place(w, column, k % w.kernel);
      sum.x.push_back(y >= 0 && x >= 0 ? ValueOf(input, ((n * s.in_channels + c) * h.in + y) * w.in + x) : 0);
      sum.w.push_back(ValueOf(*layer.Resource("weight"), (c * s.out_channels + o) * sum.inner + k));
    }
  }
  return sum;
}

// y[.., o] = sum over k of x[.., k] w[o, k], or w[k, o].
SampleSum MatrixSum(const Layer& layer, const Tensor& input, int64_t k, int64_t n, bool rows, int64_t output) {
  SampleSum sum;
  sum.output = output;
  const int64_t o = output % n, row = output / n;
  sum.channel = o;
  sum.bias = layer.kind == OpKind::kInnerProduct ? BiasOf(layer, o) : 0;
  for (int64_t i = 0; i < k; ++i) {
    sum.x.push_back(ValueOf(input, row * k + i));
    sum.w.push_back(ValueOf(*layer.Resource("weight"), rows ? o * k + i : i * n + o));
  }
  return sum;
}

// The i-th of so many.
int64_t SpreadOut(int64_t i, int64_t count, int64_t outputs) {
  return (i * (outputs / count) + i) % outputs;  // rows and columns alike
}

// The terms of one output of a reduction, in the order of memory.
SampleSum ReducedSum(const Layer& layer, const Tensor& input, const std::vector<bool>& reduced, int64_t output) {
  const Shape& shape = input.shape();
  int64_t first = 0, rest = output, count = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (reduced[static_cast<size_t>(axis)]) {
      count *= shape[axis];
      continue;
    }
    first += rest % shape[axis] * shape.CountFrom(axis + 1);
    rest /= shape[axis];
  }
  SampleSum sum;
  sum.output = output;
  for (int64_t k = 0; k < count; ++k) {
    int64_t at = first, left = k;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (!reduced[static_cast<size_t>(axis)]) continue;
      at += left % shape[axis] * shape.CountFrom(axis + 1);
      left /= shape[axis];
    }
    const float x = ValueOf(input, at);
    sum.x.push_back(layer.kind == OpKind::kReduceL1 ? std::fabs(x) : x);
    sum.w.push_back(layer.kind == OpKind::kReduceSumSquare ? x : 1);
  }
  if (layer.kind == OpKind::kReduceMean) sum.divisor = static_cast<double>(count);
  return sum;
}

SampleSum PooledSum(const PoolingShape& s, const Tensor& input, int64_t output) {
  const WindowAxis &h = s.window.h, &w = s.window.w;
  const int64_t plane = output / (h.out * w.out), row = output / w.out % h.out, column = output % w.out;
  const int64_t top = row * h.stride - h.pad_begin, left = column * w.stride - w.pad_begin;
  SampleSum sum;
  sum.output = output;
  for (int64_t y = std::max<int64_t>(0, top); y < std::min(top + h.kernel, h.in); ++y) {
    for (int64_t x = std::max<int64_t>(0, left); x < std::min(left + w.kernel, w.in); ++x) {
      sum.x.push_back(ValueOf(input, (plane * h.in + y) * w.in + x));
      sum.w.push_back(1);
    }
  }
  const int64_t high = std::min(top + h.kernel, h.in + h.pad_end) - top;
  const int64_t wide = std::min(left + w.kernel, w.in + w.pad_end) - left;
  sum.divisor = s.count_include_pad ? static_cast<double>(high * wide) : static_cast<double>(sum.x.size());
  return sum;
}

}  // namespace

std::vector<SampleSum> SampleOfTerms(const ReplayedStep& step) {
  const Layer& layer = step.group.first();
  const Tensor& input = step.inputs[0];
  std::vector<SampleSum> sums;
  const int64_t outputs = step.device[0].NumElements();
  if (!IsFloat(input.dtype()) || outputs == 0) return sums;
  const bool pools = layer.kind == OpKind::kPooling || layer.kind == OpKind::kPlumbAveragePool;
  const bool reduces = layer.kind == OpKind::kReduceSum || layer.kind == OpKind::kReduceMean ||
                       layer.kind == OpKind::kReduceL1 || layer.kind == OpKind::kReduceSumSquare;
  const auto pooling = pools && input.shape().rank() == 4 ? ResolvePooling(layer, input.shape())
                                                          : Result<PoolingShape>(Status::NotSupported(""));
  const auto reduced = reduces ? ReducedDims(ParamOf<ReduceParam>(layer), input.shape().rank())
                               : Result<std::vector<bool>>(Status::NotSupported(""));
  const bool averages = pooling.ok() && pooling->average && !pooling->adaptive;
  for (int64_t i = 0; i < std::min(kSample, outputs) && (averages || reduced.ok()); ++i) {
    const int64_t output = SpreadOut(i, std::min(kSample, outputs), outputs);
    sums.push_back(averages ? PooledSum(*pooling, input, output) : ReducedSum(layer, input, *reduced, output));
  }
  return sums;
}

namespace {

// What a member reads first, where the layers before it only move it there (Concat, Pad) or make reals of its integers;
// empty: else.
Tensor MovedInput(const ReplayedStep& step, size_t member) {
  const auto& members = step.group.members;
  if (member == 0) return step.inputs[0];
  const std::string& blob = members[member]->inputs[0];
  LayerGroup before = step.group;
  before.members.resize(member);
  for (LayerGroup::Port& port : before.inputs) {
    if (port.member >= static_cast<int>(member)) port = {-1, -1, ""};
  }
  for (size_t m = 0; m < before.members.size(); ++m) {
    const OpKind kind = before.members[m]->kind;
    if (!GetOp(kind).moves_data_only && kind != OpKind::kPlumbDequantizeLinear) return Tensor();
    if (before.members[m]->outputs[0] == blob) before.outputs = {{static_cast<int>(m), 0, blob}};
  }
  if (before.outputs[0].blob != blob) return Tensor();
  const auto values = ReplayValues(before, step.inputs, step.blobs);
  return values.ok() ? values->values[0] : Tensor();
}

// What follows a product: y = gain * sum + something, between two limits.
struct Tail {
  bool known = true;
  double gain = 1;
  const Layer* norm = nullptr;  // whose scales the gain is, besides
  double low = -INFINITY, high = INFINITY;
  size_t moved = 0;             // the first of the members at the end that only move the values; 0: none
  std::vector<int64_t> places;  // then of each output: where the product has it
};

// Steps of one size; integers at the ends may stand for what lies beyond.
void AddQuantization(const Layer& layer, const BlobTable& blobs, Tail* tail) {
  const auto scale = blobs.find(layer.inputs[1]);
  const std::string& dtype = ParamOf<QuantizeLinearParam>(layer).dtype;
  tail->known = tail->known && scale != blobs.end() && !scale->second.value.empty() &&
                scale->second.value.NumElements() == 1 && (dtype == "u8" || dtype == "i8") &&
                scale->second.value.ValueAt(0) != 0;
  if (!tail->known) return;
  tail->gain /= scale->second.value.ValueAt(0);
  tail->low = dtype == "u8" ? 0 : -128, tail->high = tail->low + 255;
}

Tail TailOf(const LayerGroup& group, size_t member, const BlobTable& blobs) {
  Tail tail;
  for (size_t m = member + 1; m < group.members.size(); ++m) {
    const Layer& layer = *group.members[m];
    const std::string& blob = group.members[m - 1]->outputs[0];
    tail.known = tail.known && std::isinf(tail.low) && std::count(layer.inputs.begin(), layer.inputs.end(), blob) == 1;
    switch (layer.kind) {
      case OpKind::kAdd: break;
      case OpKind::kPlumbQuantizeLinear: AddQuantization(layer, blobs, &tail); break;
      case OpKind::kBatchNormCxx:
        tail.known = tail.known && tail.norm == nullptr && layer.Resource("scale") != nullptr;
        tail.norm = &layer;
        break;
      case OpKind::kReLU: tail.low = 0; break;
      case OpKind::kReLU6: tail.low = 0, tail.high = 6; break;
      case OpKind::kClip: {
        const UnaryCoefficients limits = CoefficientsOf(layer);
        tail.low = static_cast<double>(limits.a), tail.high = static_cast<double>(limits.b);
        break;
      }
      case OpKind::kPermute:
        if (tail.moved == 0) tail.moved = m;
        break;
      default: tail.known = false;
    }
    if (tail.moved != 0 && layer.kind != OpKind::kPermute) tail.known = false;
  }
  return tail;
}

// What becomes of the numbers 0, 1 ... behind the members at the end.
Result<std::vector<int64_t>> PlacesBehind(const ReplayedStep& step, size_t moved) {
  const Layer& first = *step.group.members[moved];
  LayerGroup end;
  end.members.assign(step.group.members.begin() + static_cast<int64_t>(moved), step.group.members.end());
  end.inputs = {{0, 0, first.inputs[0]}};
  end.outputs = {{static_cast<int>(end.members.size()) - 1, 0, step.group.outputs[0].blob}};
  PLUMB_ASSIGN_OR_RETURN(Tensor numbers, Tensor::Create(DType::kF64, step.blobs.at(first.inputs[0]).shape));
  for (int64_t i = 0; i < numbers.NumElements(); ++i) numbers.data<double>()[i] = static_cast<double>(i);
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult moves, ReplayValues(end, {numbers}, step.blobs));
  std::vector<int64_t> places;
  for (int64_t i = 0; i < moves.values[0].NumElements(); ++i)
    places.push_back(static_cast<int64_t>(moves.values[0].ValueAt(i)));
  return places;
}

std::vector<int64_t> EvenPlaces(int64_t count, int64_t outputs) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < std::min(count, outputs); ++i)
    places.push_back(SpreadOut(i, std::min(count, outputs), outputs));
  return places;
}

std::vector<int64_t> WorstPlaces(const ReplayedStep& step) {
  const auto off = [&](int64_t i) { return std::fabs(step.device[0].ValueAt(i) - step.replay.values[0].ValueAt(i)); };
  std::vector<std::pair<double, int64_t>> places;
  for (int64_t i = 0; i < step.device[0].NumElements(); ++i) {
    if (std::isfinite(off(i))) places.emplace_back(-off(i), i);
  }
  const auto count = std::min<int64_t>(kSample, static_cast<int64_t>(places.size()));
  std::partial_sort(places.begin(), places.begin() + count, places.end());
  std::vector<int64_t> worst;
  for (int64_t i = 0; i < count; ++i) worst.push_back(places[static_cast<size_t>(i)].second);
  return worst;
}

std::vector<SampleSum> SampleFrom(const ReplayedStep& step, size_t member, const Tensor& input, const Tail& tail,
                                  const std::vector<int64_t>& outputs) {
  const Layer& layer = *step.group.members[member];
  std::vector<SampleSum> sums;
  if (input.empty()) return sums;
  if (layer.Resource("weight") == nullptr) return sums;
  const Shape& weight = layer.Resource("weight")->shape();
  const bool convolves = layer.kind == OpKind::kConvolution || layer.kind == OpKind::kConvolution1D;
  const auto convolution =
      convolves ? ResolveConvolution(layer, input.shape()) : Result<ConvolutionShape>(Status::NotSupported(""));
  const auto deconvolution = layer.kind == OpKind::kDeconvolution ? ResolveDeconvolution(layer, input.shape())
                                                                  : Result<ConvolutionShape>(Status::NotSupported(""));
  if (convolution.ok() && convolution->activation != kActivationNone) return sums;
  if (deconvolution.ok() && (deconvolution->activation != kActivationNone || deconvolution->group != 1)) return sums;
  const bool multiplies = layer.kind == OpKind::kMatMul && weight.rank() == 2 &&
                          ParamOf<MatMulParam>(layer).weight_position == 1 && tail.norm == nullptr;
  const auto is_left = [&](double v) { return v > tail.low && v < tail.high; };
  for (const int64_t output : outputs) {
    if (static_cast<int64_t>(sums.size()) == kSample) break;
    if (!is_left(step.device[0].ValueAt(output)) || !is_left(step.replay.values[0].ValueAt(output))) continue;
    const int64_t place = tail.places.empty() ? output : tail.places[static_cast<size_t>(output)];
    if (convolution.ok()) {
      sums.push_back(ConvolutionSum(layer, *convolution, input, place));
    } else if (deconvolution.ok()) {
      sums.push_back(DeconvolutionSum(layer, *deconvolution, input, place));
    } else if (layer.kind == OpKind::kInnerProduct) {
      const int64_t n = ParamOf<InnerProductParam>(layer).num_output;
      sums.push_back(MatrixSum(layer, input, layer.Resource("weight")->NumElements() / n, n, true, place));
    } else if (multiplies) {
      sums.push_back(MatrixSum(layer, input, weight[0], weight[1], false, place));
    } else {
      break;
    }
    sums.back().output = output;
    sums.back().gain = tail.gain;
    if (tail.norm == nullptr) continue;
    const Tensor& scale = *tail.norm->Resource("scale");
    sums.back().gain *= scale.ValueAt(scale.NumElements() == 1 ? 0 : sums.back().channel);
    if (sums.back().gain == 0) sums.pop_back();
  }
  return sums;
}

}  // namespace

std::vector<SampleSum> SampleOf(const ReplayedStep& step) {
  const size_t last = step.group.members.size() - 1;
  return SampleFrom(step, last, MovedInput(step, last), Tail(), EvenPlaces(kSample, step.device[0].NumElements()));
}

namespace {

ProductSample SampleBehind(const ReplayedStep& step, size_t member, bool worst) {
  Tail tail = TailOf(step.group, member, step.blobs);
  const auto product = step.blobs.find(step.group.members[member]->outputs[0]);
  if (!tail.known || product == step.blobs.end()) return {};
  if (tail.moved != 0) {
    auto places = PlacesBehind(step, tail.moved);
    if (!places.ok() || static_cast<int64_t>(places->size()) != product->second.shape.NumElements()) return {};
    tail.places = std::move(places).value();
  } else if (product->second.shape != step.device[0].shape()) {
    return {};
  }
  const int64_t tries = (std::isinf(tail.low) ? 1 : 4) * kSample;
  ProductSample sample{MovedInput(step, member), {}};
  sample.sums = SampleFrom(step, member, sample.input, tail,
                           worst ? WorstPlaces(step) : EvenPlaces(tries, step.device[0].NumElements()));
  return sample;
}

}  // namespace

ProductSample SampleOfMember(const ReplayedStep& step, size_t member) { return SampleBehind(step, member, false); }

ProductSample WorstOfMember(const ReplayedStep& step, size_t member) { return SampleBehind(step, member, true); }

}  // namespace plumb
