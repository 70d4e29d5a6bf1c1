// SPDX-License-Identifier: Apache-2.0
// PlumbMatMulInteger (op/matmul_integer.h): exact. Behind uncertain integers (quantised as they come, next to a tie)
// tau is how many steps the sum may be off: each step of one operand moves it by the other.
#include "op/matmul_integer.h"

#include <algorithm>
#include <cmath>

#include "op/matmul.h"
#include "reference/core/elementwise.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

Result<Tensor> Wide(const ReferenceArgs& args, size_t i, bool present) {
  if (!present) return Tensor::Zeros(DType::kI64, {});
  return args.inputs[i]->ConvertedTo(DType::kI64);
}

// Exactly, modulo 2^32.
uint64_t ProductSum(const int64_t* a, const int64_t* b, int64_t b_step, int64_t count, int64_t za, int64_t zb) {
  uint64_t sum = 0;
  for (int64_t k = 0; k < count; ++k) {
    sum += (static_cast<uint64_t>(a[k]) - static_cast<uint64_t>(za)) *
           (static_cast<uint64_t>(b[k * b_step]) - static_cast<uint64_t>(zb));
  }
  return sum;
}

// As x86 without VNNI multiplies u8 by i8 (vpmaddubsw): two products are added in 16 bits, which saturate. Zero points
// follow from the operands' own sums.
uint64_t SaturatingSum(const int64_t* a, const int64_t* b, int64_t b_step, int64_t count, int64_t za, int64_t zb) {
  const auto bits = [](int64_t v) { return static_cast<uint64_t>(v); };  // operands of other sizes wrap round
  uint64_t sum = 0, of_a = 0, of_b = 0;
  for (int64_t k = 0; k < count; k += 2) {
    uint64_t pair = bits(a[k]) * bits(b[k * b_step]);
    of_a += bits(a[k]), of_b += bits(b[k * b_step]);
    if (k + 1 < count) {
      pair += bits(a[k + 1]) * bits(b[(k + 1) * b_step]);
      of_a += bits(a[k + 1]), of_b += bits(b[(k + 1) * b_step]);
    }
    sum += bits(std::clamp<int64_t>(static_cast<int64_t>(pair), INT16_MIN, INT16_MAX));
  }
  return sum - bits(zb) * of_a - bits(za) * of_b + bits(count) * bits(za) * bits(zb);
}

// Added term by term in 16 bits, which saturate.
uint64_t ShortSum(const int64_t* a, const int64_t* b, int64_t b_step, int64_t count, int64_t za, int64_t zb) {
  int64_t sum = 0;
  for (int64_t k = 0; k < count; ++k) {
    const auto term = static_cast<int64_t>(ProductSum(a + k, b + k * b_step, b_step, 1, za, zb));
    sum = std::clamp<int64_t>(sum + std::clamp<int64_t>(term, INT16_MIN, INT16_MAX), INT16_MIN, INT16_MAX);
  }
  return static_cast<uint64_t>(sum);
}

using SumFunction = uint64_t (*)(const int64_t*, const int64_t*, int64_t, int64_t, int64_t, int64_t);

// Operands as i64, and which zero point belongs to which row or column.
struct IntegerOperands {
  MatMulShape s;
  Tensor a, b, a_zero, b_zero;
  int64_t row_step = 0, column_step = 0;
  size_t a_zero_input = 2, b_zero_input = 0;

  int64_t ZeroOfRow(int64_t row) const { return a_zero.data<int64_t>()[row * row_step]; }
  int64_t ZeroOfColumn(int64_t column) const { return b_zero.data<int64_t>()[column * column_step]; }
};

Result<IntegerOperands> TakeOperands(const ReferenceArgs& args) {
  const auto& p = ParamOf<MatMulIntegerParam>(args.layer);
  IntegerOperands o;
  PLUMB_ASSIGN_OR_RETURN(o.s, ResolveMatMul(args.inputs[0]->shape(), args.inputs[1]->shape()));
  o.b_zero_input = args.inputs.size() - 1;
  PLUMB_ASSIGN_OR_RETURN(o.a, Wide(args, 0, true));
  PLUMB_ASSIGN_OR_RETURN(o.b, Wide(args, 1, true));
  PLUMB_ASSIGN_OR_RETURN(o.a_zero, Wide(args, o.a_zero_input, p.has_a_zero_point));
  PLUMB_ASSIGN_OR_RETURN(o.b_zero, Wide(args, o.b_zero_input, p.has_b_zero_point));
  o.row_step = o.a_zero.NumElements() > 1 ? 1 : 0;
  o.column_step = o.b_zero.NumElements() > 1 ? 1 : 0;
  return o;
}

template <SumFunction kSum>
Status Run(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const IntegerOperands o, TakeOperands(args));
  const MatMulShape& s = o.s;
  for (size_t i = 0; i < s.first_matrix.size(); ++i) {
    const int64_t* first = o.a.data<int64_t>() + s.first_matrix[i] * s.m * s.k;
    const int64_t* second = o.b.data<int64_t>() + s.second_matrix[i] * s.k * s.n;
    int32_t* y = args.outputs[0]->data<int32_t>() + static_cast<int64_t>(i) * s.m * s.n;
    ParallelFor(s.m * s.n, std::max<int64_t>(1, kElementGrain / (s.k + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t row = at / s.n, column = at % s.n;
        const int64_t za = o.ZeroOfRow(row), zb = o.ZeroOfColumn(column);
        y[at] = static_cast<int32_t>(static_cast<uint32_t>(kSum(first + row * s.k, second + column, s.n, s.k, za, zb)));
      }
    });
  }
  return Status::Ok();
}

// The steps of each operand; null: exact.
struct OperandSteps {
  const double *a, *b, *a_zero, *b_zero;
};

double StepsOfSum(const IntegerOperands& o, const OperandSteps& steps, int64_t first, int64_t second, int64_t row,
                  int64_t column) {
  const auto za = static_cast<double>(o.ZeroOfRow(row)), zb = static_cast<double>(o.ZeroOfColumn(column));
  double moved = 0, of_a = 0, of_b = 0;
  for (int64_t k = 0; k < o.s.k; ++k) {
    const int64_t i = first + row * o.s.k + k, j = second + k * o.s.n + column;
    const double a = static_cast<double>(o.a.data<int64_t>()[i]) - za,
                 b = static_cast<double>(o.b.data<int64_t>()[j]) - zb;
    const double tau_a = steps.a == nullptr ? 0 : steps.a[i], tau_b = steps.b == nullptr ? 0 : steps.b[j];
    moved += tau_a * std::fabs(b) + tau_b * std::fabs(a) + tau_a * tau_b;
    of_a += a, of_b += b;
  }
  if (steps.a_zero != nullptr) moved += steps.a_zero[row * o.row_step] * std::fabs(of_b);
  if (steps.b_zero != nullptr) moved += steps.b_zero[column * o.column_step] * std::fabs(of_a);
  return std::isnan(moved) ? INFINITY : moved;  // 0 times an integer that may be any
}

// A step moves a pair that saturates by less.
template <SumFunction kSum>
Status BoundProduct(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunExact<Run<kSum>>(args, bound));
  if (std::all_of(bound.input_tau.begin(), bound.input_tau.end(), [](const Tensor* tau) { return tau == nullptr; }))
    return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const IntegerOperands o, TakeOperands(args));
  const auto& p = ParamOf<MatMulIntegerParam>(args.layer);
  const OperandSteps steps = {InputTau(bound, 0), InputTau(bound, 1),
                              p.has_a_zero_point ? InputTau(bound, o.a_zero_input) : nullptr,
                              p.has_b_zero_point ? InputTau(bound, o.b_zero_input) : nullptr};
  for (size_t i = 0; i < o.s.first_matrix.size(); ++i) {
    double* tau = bound.tau[0]->data<double>() + static_cast<int64_t>(i) * o.s.m * o.s.n;
    const int64_t first = o.s.first_matrix[i] * o.s.m * o.s.k, second = o.s.second_matrix[i] * o.s.k * o.s.n;
    ParallelFor(o.s.m * o.s.n, std::max<int64_t>(1, kElementGrain / (o.s.k + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) tau[at] = StepsOfSum(o, steps, first, second, at / o.s.n, at % o.s.n);
    });
  }
  return Status::Ok();
}

template <SumFunction kSum>
ReferenceOp IntegerProduct() {
  ReferenceOp op{Run<kSum>, BoundProduct<kSum>};
  op.takes_uncertain_integers = true;
  return op;
}

}  // namespace

ReferenceOp ReferencePlumbMatMulInteger() { return IntegerProduct<ProductSum>(); }
ReferenceOp SaturatingMatMulInteger() { return IntegerProduct<SaturatingSum>(); }
ReferenceOp SaturatingSumsMatMulInteger() { return IntegerProduct<ShortSum>(); }

}  // namespace plumb
