// SPDX-License-Identifier: Apache-2.0
// PlumbDynamicQuantizeLSTM (op/recurrent.h), step by step with all sequences together, because they share the scale of
// h.
//
// x is exact, so its q are; the q of h are those of the h that the device had, where its Y is known. Then only the
// scales round: with zx and zh the two products
//   sum var = u^2 (4 zx^2 + 4 zh^2 + 2 (|zx| + |zh| + |bias|)^2)
// An h that is carried (recurrent_cells.h) moves by one step of its q where it lies within 8 sigma of a tie, and with
// the scale by at most the largest sigma.
#include <algorithm>
#include <cmath>

#include "reference/core/elementwise.h"
#include "reference/core/variants.h"
#include "reference/recurrent_cells.h"

namespace plumb {
namespace {

constexpr int64_t kRowGrain = 256;

// How products are computed: exactly, as x86 without VNNI does (two products are added in 16 bits, which saturate; zero
// points follow from the operands' own sums), or without rounding x and h.
enum class Way { kExact, kSaturating, kFloats };

// The weights of all directions, [direction][length][rows], without their zero points, and these and the scale of each
// row.
struct Weights {
  int64_t rows = 0, length = 0;
  std::vector<int32_t> values, zeros;
  std::vector<float> scales;

  const int32_t* Column(int64_t d, int64_t k) const { return values.data() + (d * length + k) * rows; }
};

Result<Weights> TakeWeights(const ReferenceArgs& args, const RecurrentShape& s, bool recurrent) {
  const auto first = static_cast<size_t>(s.quantization + (recurrent ? 2 : 0));
  PLUMB_ASSIGN_OR_RETURN(const Tensor q, args.inputs[recurrent ? 2 : 1]->ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, args.inputs[first + 1]->ConvertedTo(DType::kI64));
  Weights w{s.gates * s.hidden, recurrent ? s.hidden : s.size, {}, {}, {}};
  const auto each = [&](const Tensor& tensor, int64_t d, int64_t row) {
    return tensor.shape().rank() == 1 ? d : d * w.rows + row;
  };
  for (int64_t i = 0; i < q.NumElements(); ++i) {
    const int64_t d = i / (w.rows * w.length), row = i % w.rows;
    w.values.push_back(static_cast<int32_t>(q.data<int64_t>()[i] - zeros.data<int64_t>()[each(zeros, d, row)]));
  }
  for (int64_t i = 0; i < s.directions * w.rows; ++i) {
    const Tensor& scales = *args.inputs[first];
    w.scales.push_back(static_cast<float>(scales.ValueAt(each(scales, i / w.rows, i % w.rows))));
    w.zeros.push_back(static_cast<int32_t>(zeros.data<int64_t>()[each(zeros, i / w.rows, i % w.rows)]));
  }
  return w;
}

// Vectors of one scale, quantised, and as they were.
struct QuantizedGate {
  explicit QuantizedGate(const std::vector<float>& x) : values(x), by(x.data(), static_cast<int64_t>(x.size())) {
    for (const float value : x) q.push_back(by.Of(value));
  }
  std::vector<float> values;
  DynamicQuantization by;
  std::vector<int> q;
};

template <Way kWay>
class Lstm {
 public:
  Status Init(const ReferenceArgs& args, const BoundArgs* bound) {
    PLUMB_RETURN_IF_ERROR(cells_.Init(args, bound));
    PLUMB_ASSIGN_OR_RETURN(w_, TakeWeights(args, cells_.shape(), false));
    PLUMB_ASSIGN_OR_RETURN(r_, TakeWeights(args, cells_.shape(), true));
    return Status::Ok();
  }

  void Run() const {
    const RecurrentShape& s = cells_.shape();
    std::vector<float> values;
    for (int64_t i = 0; i < s.time * s.batch * s.size; ++i) values.push_back(static_cast<float>(cells_.At(0, i).v));
    const QuantizedGate x(values);
    for (int64_t d = 0; d < s.directions; ++d) {
      std::vector<RecurrentCells::State> states;
      for (int64_t b = 0; b < s.batch; ++b) states.push_back(cells_.Initial(d, b));
      for (int64_t i = 0; i < s.time; ++i) Step(d, i, x, &states);
      for (int64_t b = 0; b < s.batch; ++b) cells_.EndSequence(d, b, states[static_cast<size_t>(b)]);
    }
  }

 private:
  void Step(int64_t d, int64_t i, const QuantizedGate& x, std::vector<RecurrentCells::State>* states) const {
    const RecurrentShape& s = cells_.shape();
    std::vector<float> values;
    double largest = 0;  // variance
    for (const auto& state : *states) {
      for (const Real& h : state.h) {
        values.push_back(static_cast<float>(h.v));
        largest = std::max(largest, h.var);
      }
    }
    const QuantizedGate h(values);
    for (int64_t b = 0; b < s.batch; ++b) {
      RecurrentCells::State& state = (*states)[static_cast<size_t>(b)];
      std::vector<double> variances;
      for (const Real& one : state.h) {
        const double reach = 8 * std::sqrt(one.var);
        const bool flips = h.by.Of(static_cast<float>(one.v - reach)) != h.by.Of(static_cast<float>(one.v + reach));
        variances.push_back(largest + (flips ? Square(static_cast<double>(h.by.scale)) : 0));
      }
      const Vector of_x{&x, s.InputAt(cells_.StepAt(d, b, i), b)}, of_h{&h, b * s.hidden};
      cells_.FinishLstm(d, Sums(d, of_x, of_h, variances), &state);
      cells_.EndStep(d, b, i, &state);
    }
  }

  struct Vector {
    const QuantizedGate* all;
    int64_t first;

    int64_t q(int64_t k) const { return all->q[static_cast<size_t>(first + k)]; }
    double value(int64_t k) const { return static_cast<double>(all->values[static_cast<size_t>(first + k)]); }
  };

  std::vector<Real> Sums(int64_t d, Vector x, Vector h, const std::vector<double>& variances) const {
    std::vector<Real> sums(static_cast<size_t>(w_.rows));
    const bool uncertain = std::any_of(variances.begin(), variances.end(), [](double v) { return v > 0; });
    ParallelFor(w_.rows, kRowGrain, [&](int64_t begin, int64_t end) {
      const std::vector<double> zx = Products(w_, d, x, begin, end), zh = Products(r_, d, h, begin, end);
      for (int64_t row = begin; row < end; ++row) {
        const double a = zx[static_cast<size_t>(row - begin)], b = zh[static_cast<size_t>(row - begin)];
        const double bias = cells_.Bias(d, row, false) + cells_.Bias(d, row, true);
        const double all = std::fabs(a) + std::fabs(b) + std::fabs(bias);
        Real& sum = sums[static_cast<size_t>(row)];
        sum = {a + b + bias, Square(cells_.u()) * (4 * (a * a + b * b) + 2 * all * all)};
        if (uncertain && cells_.with_bound()) sum.var += Inherited(d, row, variances);
      }
    });
    return sums;
  }

  // scale * sum of q (w - zero) of rows [begin, end).
  static std::vector<double> Products(const Weights& w, int64_t d, Vector x, int64_t begin, int64_t end) {
    const double scale = kWay == Way::kFloats ? 1 : static_cast<double>(x.all->by.scale);
    std::vector<double> products(static_cast<size_t>(end - begin));  // exact below 2^53
    if constexpr (kWay == Way::kSaturating) {
      for (int64_t row = begin; row < end; ++row) products[static_cast<size_t>(row - begin)] = Saturated(w, d, x, row);
    } else {
      for (int64_t k = 0; k < w.length; ++k) {
        const int32_t* column = w.Column(d, k) + begin;
        const double factor = kWay == Way::kFloats ? x.value(k) : static_cast<double>(x.q(k));
        for (size_t i = 0; i < products.size(); ++i) products[i] += factor * column[i];
      }
    }
    for (size_t i = 0; i < products.size(); ++i)
      products[i] *= scale * static_cast<double>(w.scales[static_cast<size_t>(d * w.rows + begin) + i]);
    return products;
  }

  static double Saturated(const Weights& w, int64_t d, Vector x, int64_t row) {
    const int64_t zero_x = x.all->by.zero, zero_w = w.zeros[static_cast<size_t>(d * w.rows + row)];
    int64_t sum = 0, of_x = 0, of_w = 0;
    for (int64_t k = 0; k < w.length; k += 2) {
      int64_t pair = 0;
      for (int64_t i = k; i < std::min(k + 2, w.length); ++i) {
        const int64_t from_x = x.q(i) + zero_x, from_w = w.Column(d, i)[row] + zero_w;
        pair += from_x * from_w, of_x += from_x, of_w += from_w;
      }
      sum += std::clamp<int64_t>(pair, INT16_MIN, INT16_MAX);
    }
    return static_cast<double>(sum - zero_w * of_x - zero_x * of_w + w.length * zero_x * zero_w);
  }

  double Inherited(int64_t d, int64_t row, const std::vector<double>& variances) const {
    double sum = 0;
    for (int64_t k = 0; k < r_.length; ++k) {
      sum += Square(static_cast<double>(r_.Column(d, k)[row])) * variances[static_cast<size_t>(k)];
    }
    return sum * Square(static_cast<double>(r_.scales[static_cast<size_t>(d * r_.rows + row)]));
  }

  RecurrentCells cells_;
  Weights w_, r_;
};

template <Way kWay>
Status Compute(const ReferenceArgs& args, const BoundArgs* bound) {
  PLUMB_RETURN_IF_ERROR(CheckStorage(args));
  Lstm<kWay> lstm;
  PLUMB_RETURN_IF_ERROR(lstm.Init(args, bound));
  lstm.Run();
  return Status::Ok();
}

template <Way kWay>
ReferenceOp OpOf() {
  ReferenceOp op{[](const ReferenceArgs& args) { return Compute<kWay>(args, nullptr); },
                 [](const ReferenceArgs& args, const BoundArgs& bound) { return Compute<kWay>(args, &bound); }};
  op.propagates = false;
  op.feeds_back = true;
  return op;
}

}  // namespace

ReferenceOp ReferencePlumbDynamicQuantizeLSTM() { return OpOf<Way::kExact>(); }
ReferenceOp SaturatingDynamicQuantizeLstm() { return OpOf<Way::kSaturating>(); }
ReferenceOp UnroundedDynamicQuantizeLstm() { return OpOf<Way::kFloats>(); }

}  // namespace plumb
