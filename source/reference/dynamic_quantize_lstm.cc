// PlumbDynamicQuantizeLSTM (op/recurrent.h), step by step with all sequences together, because they share the scale of
// h.
//
// x is exact, so its q are; the q of h are those of the h that the device had, where its Y is known. Then only the
// scales round: with zx and zh the two products
//   sum var = u^2 (4 zx^2 + 4 zh^2 + 2 (|zx| + |zh| + |bias|)^2)
// An h that is carried (recurrent_cells.h) moves by one step of its q where it lies within 8 sigma of a tie, and with
// the scale by at most the largest sigma.
#include <cmath>

#include "reference/core/elementwise.h"
#include "reference/recurrent_cells.h"

namespace plumb {
namespace {

constexpr int64_t kRowGrain = 256;

// The weights of all directions, [direction][length][rows], without their zero points, and the scale of each row.
struct Weights {
  int64_t rows = 0, length = 0;
  std::vector<int32_t> values;
  std::vector<float> scales;

  const int32_t* Column(int64_t d, int64_t k) const { return values.data() + (d * length + k) * rows; }
};

Result<Weights> TakeWeights(const ReferenceArgs& args, const RecurrentShape& s, bool recurrent) {
  const auto first = static_cast<size_t>(s.quantization + (recurrent ? 2 : 0));
  PLUMB_ASSIGN_OR_RETURN(const Tensor q, args.inputs[recurrent ? 2 : 1]->ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, args.inputs[first + 1]->ConvertedTo(DType::kI64));
  Weights w{s.gates * s.hidden, recurrent ? s.hidden : s.size, {}, {}};
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
  }
  return w;
}

// Vectors of one scale, quantised.
struct QuantizedGate {
  explicit QuantizedGate(const std::vector<float>& x) : by(x.data(), static_cast<int64_t>(x.size())) {
    for (const float value : x) q.push_back(by.Of(value));
  }
  DynamicQuantization by;
  std::vector<int> q;
};

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
      const int* x_q = x.q.data() + s.InputAt(cells_.StepAt(d, b, i), b);
      cells_.FinishLstm(d, Sums(d, {x_q, x.by.scale}, {h.q.data() + b * s.hidden, h.by.scale}, variances), &state);
      cells_.EndStep(d, b, i, &state);
    }
  }

  struct Vector {
    const int* q;
    float scale;
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
    std::vector<int64_t> sums(static_cast<size_t>(end - begin));
    for (int64_t k = 0; k < w.length; ++k) {
      const int32_t* column = w.Column(d, k) + begin;
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<int64_t>(x.q[k]) * column[i];
    }
    std::vector<double> products;
    for (size_t i = 0; i < sums.size(); ++i) {
      const float scale = w.scales[static_cast<size_t>(d * w.rows + begin) + i];
      products.push_back(static_cast<double>(sums[i]) * static_cast<double>(x.scale) * static_cast<double>(scale));
    }
    return products;
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

Status ComputeDynamicQuantizeLstm(const ReferenceArgs& args, const BoundArgs* bound) {
  PLUMB_RETURN_IF_ERROR(CheckStorage(args));
  Lstm lstm;
  PLUMB_RETURN_IF_ERROR(lstm.Init(args, bound));
  lstm.Run();
  return Status::Ok();
}

Status RunDynamicQuantizeLstm(const ReferenceArgs& args) { return ComputeDynamicQuantizeLstm(args, nullptr); }
Status BoundDynamicQuantizeLstm(const ReferenceArgs& args, const BoundArgs& bound) {
  return ComputeDynamicQuantizeLstm(args, &bound);
}

}  // namespace

ReferenceOp ReferencePlumbDynamicQuantizeLSTM() {
  ReferenceOp op{RunDynamicQuantizeLstm, BoundDynamicQuantizeLstm};
  op.propagates = false;
  op.feeds_back = true;
  return op;
}

}  // namespace plumb
