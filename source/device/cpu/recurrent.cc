// SPDX-License-Identifier: Apache-2.0
// PlumbLSTM, PlumbGRU, PlumbRNN in plain order. W x + B of all steps is one matrix product (packed weights)
// where W and B are constant, else made step by step. Then all gates of a step are one vector: R h is added by GemvAdd
// over the transposed R, and recurrent_gates.h does the rest. Sequences and directions are independent and share the
// threads; a single one's columns do.
#include "op/recurrent.h"

#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/product.h"
#include "device/cpu/recurrent_gates.h"
#include "simd/gemv.h"

namespace plumb::cpu {
namespace {

// Rows [first, last) of each direction's [rows][columns], transposed: [directions][columns][last - first].
void Transpose(const float* src, int64_t directions, int64_t rows, int64_t columns, int64_t first, int64_t last,
               float* to) {
  for (int64_t d = 0; d < directions; ++d) {
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = first; r < last; ++r) *to++ = src[(d * rows + r) * columns + c];
    }
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
    gates_.Init(spec.layer(), s_);
    linear_before_reset_ = ParamOf<RecurrentParam>(spec.layer()).linear_before_reset;
    rows_ = s_.gates * s_.hidden;
    joint_ = kind_ == OpKind::kPlumbGRU ? 2 * s_.hidden : rows_;
    z_.resize(static_cast<size_t>(s_.directions * s_.time * s_.batch * rows_));
    scratch_ = 4 * s_.hidden;
    work_.resize(static_cast<size_t>(s_.directions * s_.batch * scratch_));
    // A single sequence shares a step's columns.
    threads_ = s_.directions * s_.batch == 1 ? ThreadsFor(s_.hidden * joint_, NumThreads()) : 1;
    r_joint_.resize(static_cast<size_t>(s_.directions * s_.hidden * joint_));
    r_candidate_.resize(static_cast<size_t>(s_.directions * s_.hidden * (rows_ - joint_)));
    const float* w = ValueOf(spec, 1);
    const float* r = ValueOf(spec, 2);
    const float* b = ValueOf(spec, s_.bias);
    constant_r_ = r != nullptr;
    if (constant_r_) TakeRecurrence(r);
    if (w == nullptr || s_.size == 0 || (s_.bias >= 0 && b == nullptr)) return Status::Ok();
    return PackInput(w, b);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (!constant_r_) TakeRecurrence(inputs[2].host<float>());
    Tensor lengths;
    if (s_.lengths >= 0) {
      const DeviceTensor& in = inputs[static_cast<size_t>(s_.lengths)];
      lengths = Tensor::View(in.dtype, in.shape, in.host<char>(), in.buffer);
    }
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, SequenceLengths(s_, s_.lengths < 0 ? nullptr : &lengths));
    Project(inputs);
    ParallelFor(s_.directions * s_.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        RunSequence(i / s_.batch, i % s_.batch, steps[static_cast<size_t>(i % s_.batch)], inputs, outputs);
      }
    });
    return Status::Ok();
  }

 private:
  // One step's memory. `z`: the gates' sums and then values; `part`: what a GRU's reset acts on.
  struct Work {
    float *z, *part, *h, *c, *line;
  };
  // W x + B of some steps.
  struct Part {
    ProductPtr op;
    int64_t src_offset, dst_offset;
  };

  static const float* ValueOf(const KernelSpec& spec, int input) {
    if (input < 0 || spec.inputs[static_cast<size_t>(input)].value.empty()) return nullptr;
    return spec.inputs[static_cast<size_t>(input)].value.data<float>();
  }

  const float* Input(const std::vector<DeviceTensor>& inputs, int i, int64_t at) const {
    return i < 0 ? nullptr : inputs[static_cast<size_t>(i)].host<float>() + at;
  }

  void TakeRecurrence(const float* r) {
    for (int i = 0; i < threads_; ++i) {
      const int64_t first = FirstColumn(i);
      Transpose(r, s_.directions, rows_, s_.hidden, first, FirstColumn(i + 1), r_joint_.data() + first * s_.hidden);
    }
    Transpose(r, s_.directions, rows_, s_.hidden, joint_, rows_, r_candidate_.data());
  }

  // Of a part of the joint gates' columns, whole cache lines.
  int64_t FirstColumn(int part) const { return part == threads_ ? joint_ : joint_ / 16 * part / threads_ * 16; }

  // z += R h of the joint gates.
  void AddRecurrence(int64_t d, const float* h, float* z) const {
    const float* r = r_joint_.data() + d * s_.hidden * joint_;
    if (threads_ == 1) return simd::GemvAdd(h, s_.hidden, r, joint_, z);
    ParallelRegion(threads_, [&](int thread, int threads) {
      for (int i = thread; i < threads_; i += threads) {
        const int64_t first = FirstColumn(i);
        simd::GemvAdd(h, s_.hidden, r + first * s_.hidden, FirstColumn(i + 1) - first, z + first);
      }
    });
  }

  // What every step's sums begin with: both biases, without the one that a GRU's reset acts on.
  void FillBias(const float* bias, float* z) const {
    for (int64_t r = 0; r < rows_; ++r) {
      const bool both = r < joint_ || !linear_before_reset_;
      z[r] = bias == nullptr ? 0 : both ? bias[r] + bias[rows_ + r] : bias[r];
    }
  }

  Status PackInput(const float* w, const float* bias) {
    const int64_t vectors = s_.time * s_.batch;
    const int64_t count =
        std::clamp<int64_t>(vectors, 1, ThreadsFor(s_.directions * vectors * s_.size * rows_, NumThreads()));
    std::vector<float> sum(static_cast<size_t>(rows_));
    for (int64_t d = 0; d < s_.directions && vectors > 0; ++d) {
      FillBias(bias == nullptr ? nullptr : bias + d * 2 * rows_, sum.data());
      for (int64_t i = 0; i < count; ++i) {
        const int64_t first = vectors * i / count, last = vectors * (i + 1) / count;
        PLUMB_ASSIGN_OR_RETURN(ProductPtr op, MakeInnerProduct(last - first, s_.size, rows_, w + d * rows_ * s_.size,
                                                               sum.data(), Epilogue()));
        parts_.push_back({std::move(op), first * s_.size, (d * vectors + first) * rows_});
      }
    }
    return Status::Ok();
  }

  // z_[direction][vector of x][gate]
  void Project(const std::vector<DeviceTensor>& inputs) {
    const float* x = inputs[0].host<float>();
    if (!parts_.empty()) {
      const int count = static_cast<int>(parts_.size());
      ParallelRegion(count, [&](int thread, int threads) {
        for (int i = thread; i < count; i += threads) {
          Part& part = parts_[static_cast<size_t>(i)];
          part.op->Run(x + part.src_offset, z_.data() + part.dst_offset);
        }
      });
      return;
    }
    w_.resize(static_cast<size_t>(s_.directions * s_.size * rows_));
    Transpose(inputs[1].host<float>(), s_.directions, rows_, s_.size, 0, rows_, w_.data());
    const int64_t vectors = s_.time * s_.batch;
    ParallelFor(s_.directions * vectors, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t d = i / vectors;
        float* z = z_.data() + i * rows_;
        FillBias(Input(inputs, s_.bias, d * 2 * rows_), z);
        simd::GemvAdd(x + i % vectors * s_.size, s_.size, w_.data() + d * s_.size * rows_, rows_, z);
      }
    });
  }

  void RunSequence(int64_t d, int64_t b, int64_t steps, const std::vector<DeviceTensor>& inputs,
                   const std::vector<DeviceTensor>& outputs) {
    const int64_t n = s_.hidden;
    const size_t state_bytes = static_cast<size_t>(n) * sizeof(float);
    float* base = work_.data() + (d * s_.batch + b) * scratch_;
    Work work = {nullptr, base, base + n, base + 2 * n, base + 3 * n};
    const float* h = Input(inputs, s_.initial_h, s_.StateAt(d, b));
    const float* c = Input(inputs, s_.initial_c, s_.StateAt(d, b));
    std::fill_n(work.h, 2 * n, 0.0f);
    if (h != nullptr) std::memcpy(work.h, h, state_bytes);
    if (c != nullptr) std::memcpy(work.c, c, state_bytes);
    const float* bias = Input(inputs, s_.bias, d * 2 * rows_);
    const float* peep = Input(inputs, s_.peepholes, d * 3 * n);
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = s_.reversed[d] ? steps - 1 - i : i;
      work.z = z_.data() + (d * s_.time * s_.batch + s_.VectorAt(t, b)) * rows_;
      AddRecurrence(d, work.h, work.z);
      if (kind_ == OpKind::kPlumbLSTM) {
        gates_.Lstm(d, peep, work.z, work.c, work.h, work.line);
      } else if (kind_ == OpKind::kPlumbGRU) {
        StepGru(d, bias, work);
      } else {
        gates_.Activate(d, 0, n, work.z);
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

  void StepGru(int64_t d, const float* bias, const Work& work) const {
    const int64_t n = s_.hidden;
    float *update = work.z, *reset = work.z + n, *g = work.z + 2 * n;
    const float* r = r_candidate_.data() + d * n * n;
    gates_.Activate(d, 0, 2 * n, update);  // and reset, right behind it
    if (linear_before_reset_) {
      for (int64_t j = 0; j < n; ++j) work.part[j] = bias == nullptr ? 0 : bias[rows_ + 2 * n + j];
      simd::GemvAdd(work.h, n, r, n, work.part);
      for (int64_t j = 0; j < n; ++j) g[j] += reset[j] * work.part[j];
    } else {
      for (int64_t j = 0; j < n; ++j) work.line[j] = reset[j] * work.h[j];
      simd::GemvAdd(work.line, n, r, n, g);
    }
    gates_.Activate(d, 1, n, g);
    for (int64_t j = 0; j < n; ++j) work.h[j] = (1 - update[j]) * g[j] + update[j] * work.h[j];
  }

  RecurrentShape s_;
  OpKind kind_{};
  RecurrentGates gates_;
  bool linear_before_reset_ = false, constant_r_ = false;
  int threads_ = 1;                             // that share the columns of a step
  int64_t rows_ = 0, joint_ = 0, scratch_ = 0;  // joint: gates whose R h can be added before any activation
  std::vector<Part> parts_;
  std::vector<float> w_, r_joint_, r_candidate_, z_, work_;
};

}  // namespace

const KernelFunctions kernel_recurrent = {RecurrentKernel::Supports, MakeKernel<RecurrentKernel>};

}  // namespace plumb::cpu
