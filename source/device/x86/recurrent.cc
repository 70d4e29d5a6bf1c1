// PlumbLSTM, PlumbGRU, PlumbRNN in plain order: all gates of a step in one vector, its sums by GemvAdd over transposed
// weights (the input's part and the recurrent part), activations by the vector functions of device/simd. Sequences and
// directions are independent and share the threads.
#include "op/recurrent.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/threads.h"
#include "device/simd/gemv.h"
#include "device/simd/unary.h"
#include "device/x86/kernel_list.h"

namespace plumb::x86 {
namespace {

using simd::UnaryOp;

void Activate(const GateFunction& f, float clip, int64_t count, float* z) {
  const auto n = static_cast<size_t>(count);
  const auto apply = [&](UnaryOp op) { simd::Unary(op, {f.alpha, f.beta, 1}, z, z, n); };
  if (clip > 0) simd::Unary(UnaryOp::kClip, {-clip, clip, 1}, z, z, n);
  switch (f.kind) {
    case GateFunction::kRelu: return apply(UnaryOp::kRelu);
    case GateFunction::kTanh: return apply(UnaryOp::kTanh);
    case GateFunction::kSigmoid: return apply(UnaryOp::kSigmoid);
    case GateFunction::kLeakyRelu: return apply(UnaryOp::kLeakyRelu);
    case GateFunction::kHardSigmoid: return apply(UnaryOp::kHardSigmoid);
    case GateFunction::kElu: return apply(UnaryOp::kElu);
    case GateFunction::kSoftsign: return apply(UnaryOp::kSoftsign);
    case GateFunction::kSoftplus: return apply(UnaryOp::kSoftplus);
    case GateFunction::kAffine:
      for (size_t i = 0; i < n; ++i) z[i] = f.alpha * z[i] + f.beta;
      return;
    case GateFunction::kThresholdedRelu:
      for (size_t i = 0; i < n; ++i) z[i] = z[i] > f.alpha ? z[i] : 0;
      return;
    case GateFunction::kScaledTanh:
      for (size_t i = 0; i < n; ++i) z[i] *= f.beta;
      apply(UnaryOp::kTanh);
      for (size_t i = 0; i < n; ++i) z[i] *= f.alpha;
  }
}

// [directions][rows][columns] -> [directions][columns][rows]
void Transpose(const float* src, int64_t directions, int64_t rows, int64_t columns, std::vector<float>* dst) {
  dst->resize(static_cast<size_t>(directions * rows * columns));
  for (int64_t i = 0; i < directions * rows * columns; ++i) {
    const int64_t d = i / (rows * columns), r = i / columns % rows, c = i % columns;
    (*dst)[static_cast<size_t>((d * columns + c) * rows + r)] = src[i];
  }
}

class RecurrentKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (spec.inputs[0].dtype == DType::kF32) return Status::Ok();
    return Status::NotSupported(std::string("takes f32, found ") + DTypeName(spec.inputs[0].dtype));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveRecurrent(spec.layer(), spec.inputs));
    kind_ = spec.layer().kind;
    const auto& p = ParamOf<RecurrentParam>(spec.layer());
    clip_ = p.clip;
    input_forget_ = p.input_forget;
    linear_before_reset_ = p.linear_before_reset;
    rows_ = s_.gates * s_.hidden;
    constant_w_ = !spec.inputs[1].value.empty();
    constant_r_ = !spec.inputs[2].value.empty();
    if (constant_w_) Transpose(spec.inputs[1].value.data<float>(), s_.directions, rows_, s_.size, &w_);
    if (constant_r_) Transpose(spec.inputs[2].value.data<float>(), s_.directions, rows_, s_.hidden, &r_);
    scratch_ = 2 * rows_ + 3 * s_.hidden;
    work_.resize(static_cast<size_t>(s_.directions * s_.batch * scratch_));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (!constant_w_) Transpose(inputs[1].host<float>(), s_.directions, rows_, s_.size, &w_);
    if (!constant_r_) Transpose(inputs[2].host<float>(), s_.directions, rows_, s_.hidden, &r_);
    Tensor lengths;
    if (s_.lengths >= 0) {
      const DeviceTensor& in = inputs[static_cast<size_t>(s_.lengths)];
      lengths = Tensor::View(in.dtype, in.shape, in.host<char>(), in.buffer);
    }
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, SequenceLengths(s_, s_.lengths < 0 ? nullptr : &lengths));
    ParallelFor(s_.directions * s_.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        RunSequence(i / s_.batch, i % s_.batch, steps[static_cast<size_t>(i % s_.batch)], inputs, outputs);
      }
    });
    return Status::Ok();
  }

 private:
  // One sequence's memory. `z`: the gates' sums and then values; `part`: those of the recurrence alone.
  struct Work {
    float *z, *part, *h, *c, *line;
  };

  const float* Input(const std::vector<DeviceTensor>& inputs, int i, int64_t at) const {
    return i < 0 ? nullptr : inputs[static_cast<size_t>(i)].host<float>() + at;
  }

  void RunSequence(int64_t d, int64_t b, int64_t steps, const std::vector<DeviceTensor>& inputs,
                   const std::vector<DeviceTensor>& outputs) {
    const int64_t n = s_.hidden;
    const size_t state_bytes = static_cast<size_t>(n) * sizeof(float);
    float* base = work_.data() + (d * s_.batch + b) * scratch_;
    const Work work = {base, base + rows_, base + 2 * rows_, base + 2 * rows_ + n, base + 2 * rows_ + 2 * n};
    const float* h = Input(inputs, s_.initial_h, s_.StateAt(d, b));
    const float* c = Input(inputs, s_.initial_c, s_.StateAt(d, b));
    std::fill_n(work.h, 2 * n, 0.0f);
    if (h != nullptr) std::memcpy(work.h, h, state_bytes);
    if (c != nullptr) std::memcpy(work.c, c, state_bytes);
    const float* bias = Input(inputs, s_.bias, d * 2 * rows_);
    const float* peep = Input(inputs, s_.peepholes, d * 3 * n);
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = s_.reversed[d] ? steps - 1 - i : i;
      const float* x = inputs[0].host<float>() + s_.InputAt(t, b);
      Sums(d, bias, x, work);
      if (kind_ == OpKind::kPlumbLSTM) {
        StepLstm(d, peep, work);
      } else if (kind_ == OpKind::kPlumbGRU) {
        StepGru(d, bias, work);
      } else {
        Activate(s_.functions[d][0], clip_, n, work.z);
        std::memcpy(work.h, work.z, state_bytes);
      }
      std::memcpy(outputs[0].host<float>() + s_.OutputAt(t, d, b), work.h, state_bytes);
    }
    for (int64_t t = steps; t < s_.time; ++t) {
      std::fill_n(outputs[0].host<float>() + s_.OutputAt(t, d, b), n, 0.0f);
    }
    std::memcpy(outputs[1].host<float>() + s_.StateAt(d, b), work.h, state_bytes);
    if (s_.states == 2) std::memcpy(outputs[2].host<float>() + s_.StateAt(d, b), work.c, state_bytes);
  }

  // z = W x + R h + biases; a GRU's candidate gets only W x + Wb, and what the recurrence adds to it waits for the
  // reset.
  void Sums(int64_t d, const float* bias, const float* x, const Work& work) const {
    const bool gru = kind_ == OpKind::kPlumbGRU;
    const int64_t joint = gru ? 2 * s_.hidden : rows_;
    for (int64_t r = 0; r < rows_; ++r) {
      work.z[r] = bias == nullptr ? 0 : r < joint ? bias[r] + bias[rows_ + r] : bias[r];
      work.part[r] = 0;
    }
    simd::GemvAdd(x, s_.size, w_.data() + d * s_.size * rows_, rows_, work.z);
    if (!gru) return simd::GemvAdd(work.h, s_.hidden, r_.data() + d * s_.hidden * rows_, rows_, work.z);
    simd::GemvAdd(work.h, s_.hidden, r_.data() + d * s_.hidden * rows_, rows_, work.part);
    for (int64_t r = 0; r < joint; ++r) work.z[r] += work.part[r];
  }

  void StepLstm(int64_t d, const float* peep, const Work& work) const {
    const int64_t n = s_.hidden;
    float *in = work.z, *out = work.z + n, *forget = work.z + 2 * n, *g = work.z + 3 * n;
    for (int64_t j = 0; peep != nullptr && j < n; ++j) {
      in[j] += peep[j] * work.c[j];
      forget[j] += peep[2 * n + j] * work.c[j];
    }
    Activate(s_.functions[d][0], clip_, n, in);
    Activate(s_.functions[d][1], clip_, n, g);
    if (input_forget_) {
      for (int64_t j = 0; j < n; ++j) forget[j] = 1 - in[j];
    } else {
      Activate(s_.functions[d][0], clip_, n, forget);
    }
    for (int64_t j = 0; j < n; ++j) work.c[j] = forget[j] * work.c[j] + in[j] * g[j];
    for (int64_t j = 0; peep != nullptr && j < n; ++j) out[j] += peep[n + j] * work.c[j];
    Activate(s_.functions[d][0], clip_, n, out);
    std::memcpy(work.line, work.c, static_cast<size_t>(n) * sizeof(float));
    Activate(s_.functions[d][2], clip_, n, work.line);
    for (int64_t j = 0; j < n; ++j) work.h[j] = out[j] * work.line[j];
  }

  void StepGru(int64_t d, const float* bias, const Work& work) const {
    const int64_t n = s_.hidden;
    float *update = work.z, *reset = work.z + n, *g = work.z + 2 * n, *part = work.part + 2 * n;
    Activate(s_.functions[d][0], clip_, 2 * n, update);  // and reset, right behind it
    const float* recurrent_bias = bias == nullptr ? nullptr : bias + rows_ + 2 * n;
    if (linear_before_reset_) {
      for (int64_t j = 0; j < n; ++j) {
        g[j] += reset[j] * (part[j] + (recurrent_bias == nullptr ? 0 : recurrent_bias[j]));
      }
    } else {
      // The product R_h (r . h) needs the reset first: all rows again, of which the last n count.
      for (int64_t j = 0; j < n; ++j) work.line[j] = reset[j] * work.h[j];
      std::fill_n(work.part, rows_, 0.0f);
      simd::GemvAdd(work.line, n, r_.data() + d * n * rows_, rows_, work.part);
      for (int64_t j = 0; j < n; ++j) g[j] += part[j] + (recurrent_bias == nullptr ? 0 : recurrent_bias[j]);
    }
    Activate(s_.functions[d][1], clip_, n, g);
    for (int64_t j = 0; j < n; ++j) work.h[j] = (1 - update[j]) * g[j] + update[j] * work.h[j];
  }

  RecurrentShape s_;
  OpKind kind_{};
  float clip_ = 0;
  bool input_forget_ = false, linear_before_reset_ = false, constant_w_ = false, constant_r_ = false;
  int64_t rows_ = 0, scratch_ = 0;
  std::vector<float> w_, r_, work_;
};

}  // namespace

const KernelFunctions kernel_recurrent = {RecurrentKernel::Supports, MakeKernel<RecurrentKernel>};

}  // namespace plumb::x86
