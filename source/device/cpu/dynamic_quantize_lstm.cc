// SPDX-License-Identifier: Apache-2.0
// PlumbDynamicQuantizeLSTM in plain order: products of integers (integer_panels.h), all inputs of a direction in one;
// the columns are shared among the threads. All sequences go step by step together, because they share the scale of h.
#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "device/cpu/integer_panels.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/recurrent_gates.h"
#include "simd/quantize.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kDynamicQuantizeLstmGrain = 1 << 17;  // products that are worth a second thread

// W or R less its zero points, a matrix per direction. A column is a gate of an element.
struct Weights {
  int64_t columns = 0, length = 0;
  IntegerPanels panels;
  std::vector<float> scales;
};

// Vectors as long as those that weights multiply, quantised to u8 together.
struct Vectors {
  IntegerRows rows;
  float scale = 0;

  void Reserve(const Weights& w, int64_t count) {
    rows.length = w.length;
    const auto values = static_cast<size_t>(count * rows.Padded());
    w.panels.quads() ? rows.bytes.resize(values) : rows.numbers.resize(values);
    if (w.panels.quads()) rows.lows.resize(static_cast<size_t>(count));
    rows.sums.resize(static_cast<size_t>(count));
  }

  void Quantize(const float* x, int64_t count, const Weights& w) {
    const DynamicQuantization by(x, count * w.length);
    const simd::QuantizeRange range{by.scale, by.zero, 0, 255};
    const auto length = static_cast<size_t>(w.length);
    scale = by.scale;
    std::fill(rows.lows.begin(), rows.lows.end(), -by.zero);
    for (int64_t i = 0; i < count; ++i) {
      if (w.panels.quads()) {
        simd::QuantizeBytes(x + i * w.length, range, rows.bytes.data() + i * rows.Padded(), length);
      } else {
        simd::QuantizeLessZero(x + i * w.length, range, rows.numbers.data() + i * rows.Padded(), length);
      }
    }
    if (w.panels.shifted()) rows.SumRows(0, count, false);
  }
};

Status CheckRange(int64_t value) {
  if (value >= -128 && value <= 255) return Status::Ok();
  return Status::InvalidArgument("expects weights and zero points of i8 or of u8, found " + std::to_string(value));
}

Status TakeWeights(const KernelSpec& spec, const RecurrentShape& s, bool recurrent, Weights* w) {
  const auto first = static_cast<size_t>(s.quantization + (recurrent ? 2 : 0));
  const Tensor& scales = spec.inputs[first].value;
  PLUMB_ASSIGN_OR_RETURN(const Tensor q, spec.inputs[recurrent ? 2 : 1].value.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, spec.inputs[first + 1].value.ConvertedTo(DType::kI64));
  w->columns = s.gates * s.hidden;
  w->length = recurrent ? s.hidden : s.size;
  w->panels.Resize(s.directions, w->length, w->columns);
  std::vector<int16_t> rows(static_cast<size_t>(w->length * w->columns));
  for (int64_t d = 0; d < s.directions; ++d) {
    for (int64_t i = 0; i < w->length * w->columns; ++i) {
      const int64_t value = q.data<int64_t>()[d * w->length * w->columns + i];
      const int64_t zero = zeros.data<int64_t>()[zeros.shape().rank() == 1 ? d : d * w->columns + i % w->columns];
      PLUMB_RETURN_IF_ERROR(CheckRange(value));
      PLUMB_RETURN_IF_ERROR(CheckRange(zero));
      rows[static_cast<size_t>(i)] = static_cast<int16_t>(value - zero);
    }
    w->panels.PackPairs(rows.data(), d, 0, simd::PairsOf(w->length));
  }
  w->panels.Narrow();
  for (int64_t i = 0; i < s.directions * w->columns; ++i)
    w->scales.push_back(scales.data<float>()[scales.shape().rank() == 1 ? i / w->columns : i]);
  return Status::Ok();
}

class DynamicQuantizeLstmKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (spec.inputs[0].dtype != DType::kF32) {
      return Status::NotSupported(std::string("takes f32, found ") + DTypeName(spec.inputs[0].dtype));
    }
    PLUMB_ASSIGN_OR_RETURN(const RecurrentShape s, ResolveRecurrent(spec.layer(), spec.inputs));
    for (const int i : {1, 2, s.quantization, s.quantization + 1, s.quantization + 2, s.quantization + 3}) {
      if (spec.inputs[static_cast<size_t>(i)].value.empty()) return Status::NotSupported("takes constant weights");
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveRecurrent(spec.layer(), spec.inputs));
    gates_.Init(spec.layer(), s_);
    PLUMB_RETURN_IF_ERROR(TakeWeights(spec, s_, false, &w_));
    PLUMB_RETURN_IF_ERROR(TakeWeights(spec, s_, true, &r_));
    const int64_t vectors = s_.time * s_.batch;
    z_.resize(static_cast<size_t>(vectors * w_.columns));
    x_q_.Reserve(w_, vectors);
    h_q_.Reserve(r_, s_.batch);
    h_.resize(static_cast<size_t>(s_.batch * s_.hidden));
    c_.resize(h_.size());
    line_.resize(static_cast<size_t>(s_.hidden));
    scales_.resize(static_cast<size_t>(w_.columns));
    bias_.resize(scales_.size());
    scratch_.resize(static_cast<size_t>(NumThreads() * simd::PanelValues(std::max(w_.length, r_.length))));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t vectors = s_.time * s_.batch;
    x_q_.Quantize(inputs[0].host<float>(), vectors, w_);
    for (int64_t d = 0; d < s_.directions; ++d) {
      const float* bias = Input(inputs, s_.bias, d * 2 * w_.columns);
      for (int64_t r = 0; r < w_.columns; ++r)
        bias_[static_cast<size_t>(r)] = bias == nullptr ? 0 : bias[r] + bias[w_.columns + r];
      Multiply(w_, d, x_q_, 0, vectors, bias_.data(), z_.data());
      RunDirection(d, inputs, outputs);
    }
    return Status::Ok();
  }

 private:
  const float* Input(const std::vector<DeviceTensor>& inputs, int i, int64_t at) const {
    return i < 0 ? nullptr : inputs[static_cast<size_t>(i)].host<float>() + at;
  }

  // z = x_scale w_scale sum of x (w - zero) + shift, for `count` vectors from `first` on; z may be the shift.
  void Multiply(const Weights& w, int64_t d, const Vectors& x, int64_t first, int64_t count, const float* shift,
                float* z) {
    for (int64_t r = 0; r < w.columns; ++r)
      scales_[static_cast<size_t>(r)] = x.scale * w.scales[static_cast<size_t>(d * w.columns + r)];
    IntegerOutput to;
    to.real = z, to.tail = {{scales_.data(), 1}, {shift, 1}};
    const int64_t panels = w.panels.NumPanels(), products = panels * simd::PanelValues(w.length) * count;
    const int threads =
        static_cast<int>(std::min(std::max<int64_t>(1, products / kDynamicQuantizeLstmGrain), Scratches(w)));
    ParallelRegion(threads, [&](int thread, int of) {
      w.panels.Multiply(x.rows, first, count, d, panels * thread / of, panels * (thread + 1) / of,
                        scratch_.data() + thread * simd::PanelValues(w.length), to);
    });
  }

  // How many threads there is room for.
  int64_t Scratches(const Weights& w) const {
    return static_cast<int64_t>(scratch_.size()) / std::max<int64_t>(1, simd::PanelValues(w.length));
  }

  void RunDirection(int64_t d, const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) {
    const int64_t n = s_.hidden;
    const size_t bytes = h_.size() * sizeof(float);
    std::fill(h_.begin(), h_.end(), 0.0f);
    std::fill(c_.begin(), c_.end(), 0.0f);
    if (s_.initial_h >= 0) std::memcpy(h_.data(), Input(inputs, s_.initial_h, s_.StateAt(d, 0)), bytes);
    if (s_.initial_c >= 0) std::memcpy(c_.data(), Input(inputs, s_.initial_c, s_.StateAt(d, 0)), bytes);
    const float* peep = Input(inputs, s_.peepholes, d * 3 * n);
    for (int64_t i = 0; i < s_.time; ++i) {
      const int64_t t = s_.reversed[d] ? s_.time - 1 - i : i;
      h_q_.Quantize(h_.data(), s_.batch, r_);
      for (int64_t b = 0; b < s_.batch; ++b) {
        float* z = z_.data() + s_.VectorAt(t, b) * w_.columns;
        Multiply(r_, d, h_q_, b, 1, z, z);
        gates_.Lstm(d, peep, z, c_.data() + b * n, h_.data() + b * n, line_.data());
      }
      std::memcpy(outputs[0].host<float>() + s_.OutputAt(t, d, 0), h_.data(), bytes);
    }
    std::memcpy(outputs[1].host<float>() + s_.StateAt(d, 0), h_.data(), bytes);
    std::memcpy(outputs[2].host<float>() + s_.StateAt(d, 0), c_.data(), bytes);
  }

  RecurrentShape s_;
  RecurrentGates gates_;
  Weights w_, r_;
  Vectors x_q_, h_q_;
  std::vector<float> z_, h_, c_, line_, scales_, bias_;
  std::vector<int16_t> scratch_;
};

}  // namespace

const KernelFunctions kernel_dynamic_quantize_lstm = {DynamicQuantizeLstmKernel::Supports,
                                                      MakeKernel<DynamicQuantizeLstmKernel>};

}  // namespace plumb::cpu
