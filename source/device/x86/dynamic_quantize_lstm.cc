// PlumbDynamicQuantizeLSTM in plain order: products of integers by GemvAddInt8, the columns shared among the threads;
// all sequences go step by step together, because they share the scale of h.
#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "device/x86/kernel_list.h"
#include "device/x86/recurrent_gates.h"
#include "simd/gemv.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kDynamicQuantizeLstmGrain = 1 << 18;  // products that are worth a second thread

// W or R as i8: [direction][pair of columns][row][2], padded by zeros. What a gate's row lacks to (w - zero) is
// `shift`.
struct Weights {
  int64_t rows = 0, length = 0, pairs = 0;
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<int32_t> shifts;
};

Status CheckRange(int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return Status::Ok();
  return Status::InvalidArgument("expects weights and zero points of i8 or of u8, found " + std::to_string(value));
}

Status TakeWeights(const KernelSpec& spec, const RecurrentShape& s, bool recurrent, Weights* w) {
  const auto first = static_cast<size_t>(s.quantization + (recurrent ? 2 : 0));
  const Tensor& scales = spec.inputs[first].value;
  PLUMB_ASSIGN_OR_RETURN(const Tensor q, spec.inputs[recurrent ? 2 : 1].value.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, spec.inputs[first + 1].value.ConvertedTo(DType::kI64));
  w->rows = s.gates * s.hidden;
  w->length = recurrent ? s.hidden : s.size;
  w->pairs = (w->length + 1) / 2;
  w->values.resize(static_cast<size_t>(s.directions * w->pairs * w->rows * 2));
  const int64_t *begin = q.data<int64_t>(), *end = begin + q.NumElements();
  const int64_t offset = begin != end && *std::max_element(begin, end) > 127 ? 128 : 0;
  for (int64_t i = 0; i < end - begin; ++i) {
    PLUMB_RETURN_IF_ERROR(CheckRange(begin[i], offset - 128, offset + 127));
    const int64_t row = i % w->rows, k = i / w->rows % w->length, d = i / w->rows / w->length;
    w->values[static_cast<size_t>(((d * w->pairs + k / 2) * w->rows + row) * 2 + k % 2)] =
        static_cast<int8_t>(begin[i] - offset);
  }
  for (int64_t i = 0; i < s.directions * w->rows; ++i) {
    const int64_t zero = zeros.data<int64_t>()[zeros.shape().rank() == 1 ? i / w->rows : i];
    PLUMB_RETURN_IF_ERROR(CheckRange(zero, -128, 255));
    w->scales.push_back(scales.data<float>()[scales.shape().rank() == 1 ? i / w->rows : i]);
    w->shifts.push_back(static_cast<int32_t>(offset - zero));
  }
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
    z_.resize(static_cast<size_t>(vectors * w_.rows));
    x_q_.resize(static_cast<size_t>(vectors * w_.pairs * 2));
    h_q_.resize(static_cast<size_t>(s_.batch * r_.pairs * 2));
    h_.resize(static_cast<size_t>(s_.batch * s_.hidden));
    c_.resize(h_.size());
    line_.resize(static_cast<size_t>(s_.hidden));
    sums_.resize(static_cast<size_t>(w_.rows));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t vectors = s_.time * s_.batch;
    const float scale = Quantize(inputs[0].host<float>(), vectors, w_, &x_q_);
    for (int64_t d = 0; d < s_.directions; ++d) {
      const float* bias = Input(inputs, s_.bias, d * 2 * w_.rows);
      for (int64_t i = 0; i < vectors; ++i) {
        float* z = z_.data() + i * w_.rows;
        for (int64_t r = 0; r < w_.rows; ++r) z[r] = bias == nullptr ? 0 : bias[r] + bias[w_.rows + r];
        AddProduct(w_, d, x_q_.data() + i * w_.pairs * 2, scale, z);
      }
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
    for (int64_t i = 0; i < vectors * w.length; ++i) {
      (*q)[static_cast<size_t>(i / w.length * w.pairs * 2 + i % w.length)] = static_cast<int16_t>(by.Of(x[i]));
    }
    return by.scale;
  }

  // z += x_scale w_scale sum of x (w - zero)
  void AddProduct(const Weights& w, int64_t d, const int16_t* x, float scale, float* z) {
    int32_t total = 0;
    for (int64_t k = 0; k < w.length; ++k) total += x[k];
    const int8_t* values = w.values.data() + d * w.pairs * w.rows * 2;
    ParallelFor(w.rows, std::max<int64_t>(64, kDynamicQuantizeLstmGrain / (w.length + 1)),
                [&](int64_t begin, int64_t end) {
                  int32_t* sums = sums_.data();
                  for (int64_t r = begin; r < end; ++r) sums[r] = w.shifts[static_cast<size_t>(d * w.rows + r)] * total;
                  simd::GemvAddInt8(x, w.pairs, values + 2 * begin, w.rows, end - begin, sums + begin);
                  const float* scales = w.scales.data() + d * w.rows;
                  for (int64_t r = begin; r < end; ++r) z[r] += static_cast<float>(sums[r]) * (scale * scales[r]);
                });
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
        float* z = z_.data() + s_.VectorAt(t, b) * w_.rows;
        AddProduct(r_, d, h_q_.data() + b * r_.pairs * 2, scale, z);
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
  std::vector<float> z_, h_, c_, line_;
  std::vector<int16_t> x_q_, h_q_;
  std::vector<int32_t> sums_;
};

}  // namespace

const KernelFunctions kernel_dynamic_quantize_lstm = {DynamicQuantizeLstmKernel::Supports,
                                                      MakeKernel<DynamicQuantizeLstmKernel>};

}  // namespace plumb::x86
