// PlumbMatMulInteger in plain order on simd/integer_product.h, alone or with what scales its sums (scaled_sums.h);
// numbers that, less their zero point, do not fit 16 bits take plain loops. Sums wrap around. A constant second operand
// is packed once, in 8 bits where it fits.
#include "op/matmul_integer.h"

#include <algorithm>
#include <atomic>

#include "device/cpu/function_kernel.h"
#include "device/cpu/scaled_sums.h"
#include "op/matmul.h"
#include "simd/integer_product.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kIntegerProductGrain = 1 << 17;  // products that are worth a second thread

// A matrix less its zero points, of which there is one per step of `step` elements, `count` of them in turn; or one for
// all. `row`: elements that lie side by side; `padded`: the same in `values`, zeros behind.
struct ShortMatrix {
  int64_t row = 1, padded = 1;
  int64_t step = 1, count = 1;
  std::vector<int64_t> whole, zeros;
  std::vector<int16_t> values;

  // False when one of them does not fit 16 bits.
  bool Read(const DeviceTensor& tensor, const DeviceTensor* zero_point) {
    zeros.assign(1, 0);
    if (zero_point != nullptr) ReadWhole(*zero_point, &zeros);
    const int64_t* src = tensor.dtype == DType::kI64 ? tensor.host<int64_t>() : nullptr;
    if (src == nullptr) {
      ReadWhole(tensor, &whole);
      src = whole.data();
    }
    const int64_t rows = row == 0 ? 0 : tensor.shape.NumElements() / row;
    values.resize(static_cast<size_t>(rows * padded));
    std::atomic<bool> fits{true};
    ParallelFor(rows, kFunctionGrain / std::max<int64_t>(1, row), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        if (!ReadRow(src + r * row, r * row, values.data() + r * padded)) fits = false;
      }
    });
    return fits;
  }

  // Of a matrix that fits.
  void SumRows(std::vector<int32_t>* sums) const {
    const int64_t rows = padded == 0 ? 0 : static_cast<int64_t>(values.size()) / padded;
    sums->resize(static_cast<size_t>(rows));
    ParallelFor(rows, kFunctionGrain / std::max<int64_t>(1, padded), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        uint32_t sum = 0;
        for (int64_t i = 0; i < padded; ++i) sum += static_cast<uint32_t>(values[static_cast<size_t>(r * padded + i)]);
        (*sums)[static_cast<size_t>(r)] = static_cast<int32_t>(sum);
      }
    });
  }

  // The same as bits of 32, which wrap: for numbers of any size.
  void ReadBits(const DeviceTensor& tensor, std::vector<uint32_t>* bits) {
    ReadWhole(tensor, &whole);
    bits->resize(whole.size());
    for (size_t i = 0; i < whole.size(); ++i)
      (*bits)[i] = static_cast<uint32_t>(whole[i]) - static_cast<uint32_t>(ZeroAt(static_cast<int64_t>(i)));
  }

 private:
  int64_t ZeroAt(int64_t i) const {
    return zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(i / std::max<int64_t>(1, step) % count)];
  }
  bool ReadRow(const int64_t* src, int64_t at, int16_t* dst) const {
    bool fits = true;
    std::fill(dst + row, dst + padded, int16_t{0});
    if (zeros.size() == 1 || step == row) return simd::LessZero(src, ZeroAt(at), dst, static_cast<size_t>(row));
    for (int64_t i = 0; i < row; ++i) {
      const auto value = static_cast<int64_t>(static_cast<uint64_t>(src[i]) - static_cast<uint64_t>(ZeroAt(at + i)));
      dst[i] = static_cast<int16_t>(value);
      fits &= dst[i] == value;
    }
    return fits;
  }
};

class MatMulIntegerKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) { return ReadScaledSums(spec.group.members, *spec.blobs).status(); }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<MatMulIntegerParam>(spec.layer());
    group_ = &spec.group;
    PLUMB_ASSIGN_OR_RETURN(tail_, ReadScaledSums(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveMatMul(spec.inputs[0].shape, spec.inputs[1].shape));
    a_zero_ = p.has_a_zero_point ? 2 : -1;
    b_zero_ = p.has_b_zero_point ? (p.has_a_zero_point ? 3 : 2) : -1;
    const auto constant = [&](int i) { return i < 0 || !spec.inputs[static_cast<size_t>(i)].value.empty(); };
    a_constant_ = constant(0) && constant(a_zero_);
    b_constant_ = constant(1) && constant(b_zero_);
    a_.row = s_.k, a_.padded = 2 * simd::PairsOf(s_.k), a_.step = s_.k, a_.count = s_.m;
    b_.row = b_.padded = b_.count = s_.n;
    scratch_.resize(static_cast<size_t>(simd::PanelValues(s_.k) * NumThreads()));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (NumThreads() * simd::PanelValues(s_.k) > static_cast<int64_t>(scratch_.size()))
      scratch_.resize(static_cast<size_t>(simd::PanelValues(s_.k) * NumThreads()));  // more threads than there were
    if (!a_ready_) a_fits_ = a_.Read(inputs[0], ZeroPoint(inputs, a_zero_));
    if (!b_ready_) TakeSecond(inputs);
    if (!shifts_.empty() && !a_ready_ && a_fits_) a_.SumRows(&row_sums_);
    a_ready_ = a_constant_;
    b_ready_ = b_constant_;
    if (!a_fits_ || !b_fits_) return RunWide(inputs, outputs[0]);
    RunPanels(inputs, outputs[0]);
    return Status::Ok();
  }

  std::string Detail() const override { return tail_.real ? "sums scaled" : ""; }

 private:
  static const DeviceTensor* ZeroPoint(const std::vector<DeviceTensor>& inputs, int i) {
    return i < 0 ? nullptr : &inputs[static_cast<size_t>(i)];
  }

  // For the rows of one matrix from `row` on.
  simd::SumTail TailOf(const std::vector<DeviceTensor>& inputs, int64_t matrix, int64_t row) const {
    const int64_t channel = (matrix * s_.m + row) % tail_.channels;
    return {tail_.scale.FactorAt(*group_, inputs, channel), tail_.shift.FactorAt(*group_, inputs, channel)};
  }

  void TakeSecond(const std::vector<DeviceTensor>& inputs) {
    b_fits_ = b_.Read(inputs[1], ZeroPoint(inputs, b_zero_));
    if (!b_fits_ || s_.k * s_.n == 0) return;
    const int64_t matrices = inputs[1].shape.NumElements() / (s_.k * s_.n), pairs = simd::PairsOf(s_.k);
    const int64_t size = simd::NumPanels(s_.n) * simd::PanelValues(s_.k);
    wide_.resize(static_cast<size_t>(matrices * size));
    ParallelFor(matrices * pairs, kFunctionGrain / std::max<int64_t>(1, s_.n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t matrix = i / pairs, first = i % pairs, last = std::min(pairs, first + end - i);
        simd::PackPanels(b_.values.data() + matrix * s_.k * s_.n, s_.k, s_.n, first, last,
                         wide_.data() + matrix * size);
        i += last - first;
      }
    });
    if (!b_constant_) return;
    b_ = {};
    NarrowSecond(matrices, size);
  }

  void NarrowSecond(int64_t matrices, int64_t size) {
    narrow_.resize(wide_.size());
    shifts_.resize(static_cast<size_t>(matrices * Columns()));
    for (int64_t i = 0; i < matrices; ++i) {
      if (simd::NarrowPanels(wide_.data() + i * size, s_.k, s_.n, narrow_.data() + i * size,
                             shifts_.data() + i * Columns()))
        continue;
      narrow_ = {};
      shifts_ = {};
      return;
    }
    wide_ = {};
    if (std::all_of(shifts_.begin(), shifts_.end(), [](int32_t v) { return v == 0; })) shifts_ = {};
  }

  // Of the panels.
  int64_t Columns() const { return simd::NumPanels(s_.n) * simd::kPanelColumns; }

  // Some panels, and where there are few of them some rows, to each thread.
  void RunPanels(const std::vector<DeviceTensor>& inputs, const DeviceTensor& output) {
    const int64_t matrices = static_cast<int64_t>(s_.first_matrix.size()), panels = simd::NumPanels(s_.n);
    const int64_t pieces = matrices * panels >= 4 * NumThreads() ? 1 : std::min<int64_t>(NumThreads(), s_.m / 6 + 1);
    const int64_t rows = (s_.m + pieces - 1) / std::max<int64_t>(1, pieces);
    const int64_t units = matrices * pieces * panels;
    const int threads = static_cast<int>(
        std::min<int64_t>(NumThreads(), 1 + units * rows * s_.k * simd::kPanelColumns / kIntegerProductGrain));
    ParallelRegion(threads, [&](int thread, int count) {
      const int64_t end = units * (thread + 1) / count;
      for (int64_t u = units * thread / count; u < end;) {
        const int64_t panel = u % panels, last = std::min(panels, panel + end - u);
        RunPiece(u / panels / pieces, u / panels % pieces * rows, rows, panel, last, thread, inputs, output);
        u += last - panel;
      }
    });
  }

  void RunPiece(int64_t matrix, int64_t row, int64_t rows, int64_t panel, int64_t last, int thread,
                const std::vector<DeviceTensor>& inputs, const DeviceTensor& output) {
    const auto at = static_cast<size_t>(matrix);
    const int64_t size = simd::NumPanels(s_.n) * simd::PanelValues(s_.k), b = s_.second_matrix[at] * size;
    simd::IntegerFactors f;
    f.a = a_.values.data() + (s_.first_matrix[at] * s_.m + row) * a_.padded;
    f.a_stride = a_.padded, f.rows = std::min(rows, s_.m - row), f.pairs = simd::PairsOf(s_.k), f.n = s_.n;
    f.wide = wide_.empty() ? nullptr : wide_.data() + b;
    f.narrow = narrow_.empty() ? nullptr : narrow_.data() + b;
    if (!shifts_.empty()) {
      f.shifts = shifts_.data() + s_.second_matrix[at] * Columns();
      f.row_sums = row_sums_.data() + s_.first_matrix[at] * s_.m + row;
    }
    int16_t* scratch = scratch_.data() + thread * simd::PanelValues(s_.k);
    const int64_t y = (matrix * s_.m + row) * s_.n;
    if (tail_.real) {
      simd::MultiplyIntegers(f, panel, last, scratch, TailOf(inputs, matrix, row), output.host<float>() + y);
    } else {
      simd::MultiplyIntegers(f, panel, last, scratch, output.host<int32_t>() + y);
    }
  }

  Status RunWide(const std::vector<DeviceTensor>& inputs, const DeviceTensor& output) {
    ShortMatrix a, b;
    a.step = s_.k, a.count = s_.m, b.count = s_.n;
    a.zeros = b.zeros = {0};
    if (a_zero_ >= 0) ReadWhole(inputs[static_cast<size_t>(a_zero_)], &a.zeros);
    if (b_zero_ >= 0) ReadWhole(inputs[static_cast<size_t>(b_zero_)], &b.zeros);
    std::vector<uint32_t> first, second;
    a.ReadBits(inputs[0], &first);
    b.ReadBits(inputs[1], &second);
    ParallelFor(static_cast<int64_t>(s_.first_matrix.size()) * s_.m,
                std::max<int64_t>(1, kFunctionGrain / (s_.k * s_.n + 1)), [&](int64_t begin, int64_t end) {
                  std::vector<uint32_t> sums(static_cast<size_t>(s_.n));
                  for (int64_t r = begin; r < end; ++r) {
                    const auto matrix = static_cast<size_t>(r / s_.m);
                    MultiplyRow(first.data() + (s_.first_matrix[matrix] * s_.m + r % s_.m) * s_.k,
                                second.data() + s_.second_matrix[matrix] * s_.k * s_.n, &sums);
                    StoreRow(sums, TailOf(inputs, r / s_.m, r % s_.m), r * s_.n, output);
                  }
                });
    return Status::Ok();
  }

  // b is read row by row, so that the inner loop runs over contiguous values.
  void MultiplyRow(const uint32_t* a, const uint32_t* b, std::vector<uint32_t>* sums) const {
    std::fill(sums->begin(), sums->end(), 0u);
    for (int64_t k = 0; k < s_.k; ++k) {
      for (int64_t j = 0; j < s_.n; ++j) (*sums)[static_cast<size_t>(j)] += a[k] * b[k * s_.n + j];
    }
  }

  void StoreRow(const std::vector<uint32_t>& sums, const simd::SumTail& tail, int64_t at,
                const DeviceTensor& output) const {
    for (int64_t j = 0; j < s_.n; ++j) {
      const auto sum = static_cast<int32_t>(sums[static_cast<size_t>(j)]);
      if (!tail_.real) {
        output.host<int32_t>()[at + j] = sum;
        continue;
      }
      float y = static_cast<float>(sum);
      if (tail.scale.values != nullptr) y *= tail.scale.values[j * tail.scale.step];
      if (tail.shift.values != nullptr) y += tail.shift.values[j * tail.shift.step];
      output.host<float>()[at + j] = y;
    }
  }

  const LayerGroup* group_ = nullptr;
  ScaledSums tail_;
  MatMulShape s_;
  int a_zero_ = -1, b_zero_ = -1;  // which inputs
  bool a_constant_ = false, b_constant_ = false, a_ready_ = false, b_ready_ = false;
  bool a_fits_ = true, b_fits_ = true;
  ShortMatrix a_, b_;
  std::vector<int16_t> wide_, scratch_;
  std::vector<int8_t> narrow_;
  std::vector<int32_t> shifts_, row_sums_;  // of narrow_'s columns; of a_'s rows
};

}  // namespace

const KernelFunctions kernel_matmul_integer = {MatMulIntegerKernel::Supports, MakeKernel<MatMulIntegerKernel>};

}  // namespace plumb::cpu
