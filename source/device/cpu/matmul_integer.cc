// SPDX-License-Identifier: Apache-2.0
// PlumbMatMulInteger in plain order on simd/integer_product.h, alone or with what scales its sums (scaled_sums.h);
// numbers that, less their zero point, do not fit 16 bits take plain loops. Sums wrap around. A constant second operand
// is packed once, in 8 bits where it fits. Where the CPU multiplies bytes (simd/byte_product.h), numbers of 8 bits are
// multiplied as those; what then does not fit 8 bits beside such a constant takes the plain loops, too.
#include "op/matmul_integer.h"

#include <algorithm>
#include <atomic>

#include "device/cpu/function_kernel.h"
#include "device/cpu/integer_panels.h"
#include "device/cpu/scaled_sums.h"
#include "op/matmul.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kIntegerProductGrain = 1 << 17;  // products that are worth a second thread

// A matrix less its zero points, of which there is one per step of `step` elements, `count` of them in turn; or one for
// all. `row`: elements that lie side by side.
struct WholeMatrix {
  int64_t row = 1, step = 1, count = 1;
  std::vector<int64_t> whole, zeros;
  int64_t offset = 0;  // what made the last numbers bytes

  void ReadZeros(const DeviceTensor* zero_point) {
    zeros.assign(1, 0);
    if (zero_point != nullptr) ReadWhole(*zero_point, &zeros);
  }
  int64_t Rows(const DeviceTensor& tensor) const { return row == 0 ? 0 : tensor.shape.NumElements() / row; }

  // Rows `padded` apart, zeros behind; false when a number does not fit 16 bits.
  bool Read(const DeviceTensor& tensor, int64_t padded, std::vector<int16_t>* to) {
    to->resize(static_cast<size_t>(Rows(tensor) * padded));
    return ForEachRow(
        tensor, [&](int64_t r, const int64_t* src) { return ReadRow(src, r * row, to->data() + r * padded, padded); });
  }

  // As they are stored, plus an `offset` that makes bytes of all; false when there is none.
  bool ReadBytes(const DeviceTensor& tensor, int64_t padded, std::vector<uint8_t>* to) {
    to->resize(static_cast<size_t>(Rows(tensor) * padded));
    const auto read = [&](int64_t r, const int64_t* src) {
      uint8_t* dst = to->data() + r * padded;
      std::fill(dst + row, dst + padded, uint8_t{0});
      return simd::ToBytes(src, offset, dst, static_cast<size_t>(row));
    };
    if (ForEachRow(tensor, read)) return true;  // most often that of the last time
    std::vector<int64_t> least(static_cast<size_t>(Rows(tensor)), 0);
    ForEachRow(tensor, [&](int64_t r, const int64_t* src) {
      least[static_cast<size_t>(r)] = simd::LeastOf(src, static_cast<size_t>(row));
      return true;
    });
    const auto low = std::min_element(least.begin(), least.end());
    if (low == least.end() || *low < INT16_MIN || *low > INT16_MAX) return false;
    offset = -*low;
    return ForEachRow(tensor, read);
  }

  // What the bytes of ReadBytes lack of the numbers at `i` and behind it, as far as they share a zero point.
  int32_t LowAt(int64_t i) const {
    return static_cast<int32_t>(0 - static_cast<uint32_t>(offset) - static_cast<uint32_t>(ZeroAt(i)));
  }

  // The numbers as bits of 32, which wrap: of any size.
  void ReadBits(const DeviceTensor& tensor, std::vector<uint32_t>* bits) {
    ReadWhole(tensor, &whole);
    bits->resize(whole.size());
    for (size_t i = 0; i < whole.size(); ++i)
      (*bits)[i] = static_cast<uint32_t>(whole[i]) - static_cast<uint32_t>(ZeroAt(static_cast<int64_t>(i)));
  }

 private:
  // Whether do_row(r, numbers) was true for all.
  template <class DoRow>
  bool ForEachRow(const DeviceTensor& tensor, const DoRow& do_row) {
    const int64_t* src = tensor.dtype == DType::kI64 ? tensor.host<int64_t>() : nullptr;
    if (src == nullptr) {
      ReadWhole(tensor, &whole);
      src = whole.data();
    }
    std::atomic<bool> all{true};
    ParallelFor(Rows(tensor), kFunctionGrain / std::max<int64_t>(1, row), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        if (!do_row(r, src + r * row)) all = false;
      }
    });
    return all;
  }
  int64_t ZeroAt(int64_t i) const {
    return zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(i / std::max<int64_t>(1, step) % count)];
  }
  bool ReadRow(const int64_t* src, int64_t at, int16_t* dst, int64_t padded) const {
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
    a_.row = a_.step = rows_.length = s_.k, a_.count = s_.m;
    a_.offset = b_constant_ ? 0 : 128;  // of u8; of i8
    b_.row = b_.count = s_.n;
    scratch_.resize(static_cast<size_t>(simd::PanelValues(s_.k) * NumThreads()));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (NumThreads() * simd::PanelValues(s_.k) > static_cast<int64_t>(scratch_.size()))
      scratch_.resize(static_cast<size_t>(simd::PanelValues(s_.k) * NumThreads()));  // more threads than there were
    if (!TakeBytes(inputs) && !TakeNumbers(inputs)) return RunWide(inputs, outputs[0]);
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

  int64_t Matrices(const DeviceTensor& b) const { return b.shape.NumElements() / std::max<int64_t>(1, s_.k * s_.n); }

  enum class RowsAs { kNothing, kNumbers, kBytes, kSigned };

  // The first operand for panels_, with its sums where those need them; false where a number does not fit.
  bool TakeRows(const std::vector<DeviceTensor>& inputs, RowsAs as) {
    if (a_constant_ && rows_as_ == as) return true;
    rows_as_ = RowsAs::kNothing;
    rows_.bytes.clear();
    rows_.lows.clear();
    a_.ReadZeros(ZeroPoint(inputs, a_zero_));
    const bool fits = as == RowsAs::kNumbers ? a_.Read(inputs[0], rows_.Padded(), &rows_.numbers)
                                             : a_.ReadBytes(inputs[0], rows_.Padded(), &rows_.bytes);
    if (!fits) return false;
    const int64_t count = a_.Rows(inputs[0]);
    if (as == RowsAs::kSigned) {
      for (uint8_t& byte : rows_.bytes) byte ^= 0x80;  // 128 less, as i8
    }
    for (int64_t r = 0; r < count && as != RowsAs::kNumbers; ++r)
      rows_.lows.push_back(a_.LowAt(r * s_.k) + (as == RowsAs::kSigned ? 128 : 0));
    rows_as_ = as;
    if (!panels_.shifted()) return true;
    rows_.sums.resize(static_cast<size_t>(count));
    ParallelFor(count, kFunctionGrain / std::max<int64_t>(1, s_.k),
                [&](int64_t begin, int64_t end) { rows_.SumRows(begin, end, panels_.quads_are_u8()); });
    return true;
  }

  // A second operand that changes, as quads of u8 beside rows of i8; false where they are something else.
  bool TakeBytes(const std::vector<DeviceTensor>& inputs) {
    if (b_constant_ || !may_be_bytes_ || s_.k * s_.n == 0) return false;
    b_.ReadZeros(ZeroPoint(inputs, b_zero_));
    may_be_bytes_ = simd::MultipliesBytes() && b_.ReadBytes(inputs[1], s_.n, &bytes_);
    if (!may_be_bytes_) return false;
    std::vector<int32_t> shifts;  // one, or one per column
    for (size_t i = 0; i < b_.zeros.size(); ++i) shifts.push_back(b_.LowAt(static_cast<int64_t>(i)));
    const int64_t matrices = Matrices(inputs[1]);
    panels_.ResizeQuads(matrices, s_.k, s_.n, shifts);
    may_be_bytes_ = TakeRows(inputs, RowsAs::kSigned);
    if (!may_be_bytes_) return false;
    ForParts(matrices, panels_.NumPanels(), s_.k * simd::kPanelColumns,
             [&](int64_t matrix, int64_t first, int64_t last) {
               panels_.PackQuads(bytes_.data() + matrix * s_.k * s_.n, matrix, first, last);
             });
    return true;
  }

  // As numbers of up to 16 bits; a constant second operand perhaps as quads. False when one of them does not fit.
  bool TakeNumbers(const std::vector<DeviceTensor>& inputs) {
    if (!b_ready_) {
      b_.ReadZeros(ZeroPoint(inputs, b_zero_));
      if (!b_.Read(inputs[1], s_.n, &numbers_)) return false;
      const int64_t matrices = Matrices(inputs[1]);
      panels_.Resize(matrices, s_.k, s_.n);
      ForParts(matrices, simd::PairsOf(s_.k), s_.n, [&](int64_t matrix, int64_t first, int64_t last) {
        panels_.PackPairs(numbers_.data() + matrix * s_.k * s_.n, matrix, first, last);
      });
      if (b_constant_) panels_.Narrow(), numbers_ = {};
      b_ready_ = b_constant_;
    }
    return TakeRows(inputs, panels_.quads() ? RowsAs::kBytes : RowsAs::kNumbers);
  }

  // do_part(matrix, first, last) for parts of [0, count) in each matrix; `work`: elements of one.
  template <class DoPart>
  static void ForParts(int64_t matrices, int64_t count, int64_t work, const DoPart& do_part) {
    ParallelFor(matrices * count, kFunctionGrain / std::max<int64_t>(1, work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t first = i % count, last = std::min(count, first + end - i);
        do_part(i / count, first, last);
        i += last - first;
      }
    });
  }

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
    const int64_t y = (matrix * s_.m + row) * s_.n;
    IntegerOutput to;
    if (tail_.real) to.real = output.host<float>() + y, to.tail = TailOf(inputs, matrix, row);
    if (!tail_.real) to.sums = output.host<int32_t>() + y;
    panels_.Multiply(rows_, s_.first_matrix[at] * s_.m + row, std::min(rows, s_.m - row), s_.second_matrix[at], panel,
                     last, scratch_.data() + thread * simd::PanelValues(s_.k), to);
  }

  Status RunWide(const std::vector<DeviceTensor>& inputs, const DeviceTensor& output) {
    WholeMatrix a, b;
    a.step = s_.k, a.count = s_.m, b.count = s_.n;
    a.ReadZeros(ZeroPoint(inputs, a_zero_));
    b.ReadZeros(ZeroPoint(inputs, b_zero_));
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
  bool a_constant_ = false, b_constant_ = false, b_ready_ = false;
  bool may_be_bytes_ = true;  // a second operand that changes, beside the first: no run has shown else
  RowsAs rows_as_ = RowsAs::kNothing;
  WholeMatrix a_, b_;
  IntegerRows rows_;
  IntegerPanels panels_;
  std::vector<int16_t> numbers_, scratch_;  // b's numbers, before they are packed
  std::vector<uint8_t> bytes_;
};

}  // namespace

const KernelFunctions kernel_matmul_integer = {MatMulIntegerKernel::Supports, MakeKernel<MatMulIntegerKernel>};

}  // namespace plumb::cpu
