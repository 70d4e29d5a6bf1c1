// PlumbDynamicQuantizeLSTM in plain order: products of integers by simd/integer_product.h, all inputs of a direction in
// one; the columns are shared among the threads. All sequences go step by step together, because they share the scale
// of h.
#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/recurrent_gates.h"
#include "simd/integer_product.h"
#include "simd/quantize.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kDynamicQuantizeLstmGrain = 1 << 17;  // products that are worth a second thread

// W or R less its zero points, in panels per direction, of 8 bits where all fit. A column is a gate of an element.
struct Weights {
  int64_t columns = 0, length = 0;
  std::vector<int8_t> narrow;
  std::vector<int16_t> wide;
  std::vector<int32_t> shifts;  // of narrow's columns
  std::vector<float> scales;

  int64_t Pairs() const { return simd::PairsOf(length); }
  int64_t DirectionColumns() const { return simd::NumPanels(columns) * simd::kPanelColumns; }
  int64_t DirectionValues() const { return simd::NumPanels(columns) * simd::PanelValues(length); }
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
  w->wide.resize(static_cast<size_t>(s.directions * w->DirectionValues()));
  std::vector<int16_t> rows(static_cast<size_t>(w->length * w->columns));
  for (int64_t d = 0; d < s.directions; ++d) {
    for (int64_t i = 0; i < w->length * w->columns; ++i) {
      const int64_t value = q.data<int64_t>()[d * w->length * w->columns + i];
      const int64_t zero = zeros.data<int64_t>()[zeros.shape().rank() == 1 ? d : d * w->columns + i % w->columns];
      PLUMB_RETURN_IF_ERROR(CheckRange(value));
      PLUMB_RETURN_IF_ERROR(CheckRange(zero));
      rows[static_cast<size_t>(i)] = static_cast<int16_t>(value - zero);
    }
    simd::PackPanels(rows.data(), w->length, w->columns, 0, w->Pairs(), w->wide.data() + d * w->DirectionValues());
  }
  w->narrow.resize(w->wide.size());
  w->shifts.resize(static_cast<size_t>(s.directions * w->DirectionColumns()));
  bool narrow = true;
  for (int64_t d = 0; d < s.directions && narrow; ++d) {
    const int64_t at = d * w->DirectionValues();
    narrow = simd::NarrowPanels(w->wide.data() + at, w->length, w->columns, w->narrow.data() + at,
                                w->shifts.data() + d * w->DirectionColumns());
  }
  if (narrow) w->wide = {};
  if (std::all_of(w->shifts.begin(), w->shifts.end(), [](int32_t v) { return v == 0; })) w->shifts = {};
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
    x_q_.resize(static_cast<size_t>(vectors * w_.Pairs() * 2));
    h_q_.resize(static_cast<size_t>(s_.batch * r_.Pairs() * 2));
    h_.resize(static_cast<size_t>(s_.batch * s_.hidden));
    c_.resize(h_.size());
    line_.resize(static_cast<size_t>(s_.hidden));
    row_sums_.resize(static_cast<size_t>(std::max<int64_t>(1, vectors)));
    scales_.resize(static_cast<size_t>(w_.columns));
    bias_.resize(scales_.size());
    scratch_.resize(static_cast<size_t>(NumThreads() * simd::PanelValues(std::max(w_.length, r_.length))));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t vectors = s_.time * s_.batch;
    const float scale = Quantize(inputs[0].host<float>(), vectors, w_, &x_q_);
    for (int64_t d = 0; d < s_.directions; ++d) {
      const float* bias = Input(inputs, s_.bias, d * 2 * w_.columns);
      for (int64_t r = 0; r < w_.columns; ++r)
        bias_[static_cast<size_t>(r)] = bias == nullptr ? 0 : bias[r] + bias[w_.columns + r];
      Multiply(w_, d, x_q_.data(), vectors, scale, bias_.data(), z_.data());
      RunDirection(d, inputs, outputs);
    }
    return Status::Ok();
  }

 private:
  const float* Input(const std::vector<DeviceTensor>& inputs, int i, int64_t at) const {
    return i < 0 ? nullptr : inputs[static_cast<size_t>(i)].host<float>() + at;
  }

  // Vectors as long as those that w multiplies, each padded to pairs by 0. Returns the scale of all.
  static float Quantize(const float* x, int64_t vectors, const Weights& w, std::vector<int16_t>* q) {
    const DynamicQuantization by(x, vectors * w.length);
    for (int64_t i = 0; i < vectors; ++i) {
      simd::QuantizeLessZero(x + i * w.length, {by.scale, by.zero, 0, 255}, q->data() + i * w.Pairs() * 2,
                             static_cast<size_t>(w.length));
    }
    return by.scale;
  }

  // z = x_scale w_scale sum of x (w - zero) + shift, for each of the vectors; z may be the shift.
  void Multiply(const Weights& w, int64_t d, const int16_t* x, int64_t vectors, float scale, const float* shift,
                float* z) {
    for (int64_t r = 0; r < w.columns; ++r)
      scales_[static_cast<size_t>(r)] = scale * w.scales[static_cast<size_t>(d * w.columns + r)];
    simd::IntegerFactors f{x, w.Pairs() * 2, vectors, w.Pairs()};
    f.wide = w.wide.empty() ? nullptr : w.wide.data() + d * w.DirectionValues();
    if (f.wide == nullptr) f.narrow = w.narrow.data() + d * w.DirectionValues();
    if (f.wide == nullptr && !w.shifts.empty()) {
      for (int64_t i = 0; i < vectors; ++i) row_sums_[static_cast<size_t>(i)] = SumOf(x + i * f.a_stride, f.a_stride);
      f.shifts = w.shifts.data() + d * w.DirectionColumns();
      f.row_sums = row_sums_.data();
    }
    f.n = w.columns;
    const int64_t panels = simd::NumPanels(w.columns), products = panels * simd::PanelValues(w.length) * vectors;
    const int threads =
        static_cast<int>(std::min(std::max<int64_t>(1, products / kDynamicQuantizeLstmGrain), Scratches(w)));
    ParallelRegion(threads, [&](int thread, int count) {
      int16_t* scratch = scratch_.data() + thread * simd::PanelValues(w.length);
      simd::MultiplyIntegers(f, panels * thread / count, panels * (thread + 1) / count, scratch,
                             {{scales_.data(), 1}, {shift, 1}}, z);
    });
  }

  static int32_t SumOf(const int16_t* x, int64_t n) {
    int32_t sum = 0;  // of numbers of 9 bits
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
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
      const float scale = Quantize(h_.data(), s_.batch, r_, &h_q_);
      for (int64_t b = 0; b < s_.batch; ++b) {
        float* z = z_.data() + s_.VectorAt(t, b) * w_.columns;
        Multiply(r_, d, h_q_.data() + b * r_.Pairs() * 2, 1, scale, z, z);
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
  std::vector<float> z_, h_, c_, line_, scales_, bias_;
  std::vector<int16_t> x_q_, h_q_, scratch_;
  std::vector<int32_t> row_sums_;
};

}  // namespace

const KernelFunctions kernel_dynamic_quantize_lstm = {DynamicQuantizeLstmKernel::Supports,
                                                      MakeKernel<DynamicQuantizeLstmKernel>};

}  // namespace plumb::cpu
