// PlumbMatMulInteger (op/matmul_integer.h): exact.
#include "op/matmul_integer.h"

#include <algorithm>

#include "device/naive/elementwise.h"
#include "device/naive/variants.h"
#include "op/matmul.h"

namespace plumb {
namespace {

Result<Tensor> Wide(const NaiveArgs& args, size_t i, bool present) {
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
  int64_t sum = 0, of_a = 0, of_b = 0;
  for (int64_t k = 0; k < count; k += 2) {
    int64_t pair = a[k] * b[k * b_step];
    of_a += a[k], of_b += b[k * b_step];
    if (k + 1 < count) {
      pair += a[k + 1] * b[(k + 1) * b_step];
      of_a += a[k + 1], of_b += b[(k + 1) * b_step];
    }
    sum += std::clamp<int64_t>(pair, INT16_MIN, INT16_MAX);
  }
  return static_cast<uint64_t>(sum - zb * of_a - za * of_b + count * za * zb);
}

using SumFunction = uint64_t (*)(const int64_t*, const int64_t*, int64_t, int64_t, int64_t, int64_t);

template <SumFunction kSum>
Status Run(const NaiveArgs& args) {
  const auto& p = ParamOf<MatMulIntegerParam>(args.layer);
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape s, ResolveMatMul(args.inputs[0]->shape(), args.inputs[1]->shape()));
  PLUMB_ASSIGN_OR_RETURN(const Tensor a, Wide(args, 0, true));
  PLUMB_ASSIGN_OR_RETURN(const Tensor b, Wide(args, 1, true));
  PLUMB_ASSIGN_OR_RETURN(const Tensor a_zero, Wide(args, 2, p.has_a_zero_point));
  PLUMB_ASSIGN_OR_RETURN(const Tensor b_zero, Wide(args, args.inputs.size() - 1, p.has_b_zero_point));
  const int64_t row_step = a_zero.NumElements() > 1 ? 1 : 0, column_step = b_zero.NumElements() > 1 ? 1 : 0;
  for (size_t i = 0; i < s.first_matrix.size(); ++i) {
    const int64_t* first = a.data<int64_t>() + s.first_matrix[i] * s.m * s.k;
    const int64_t* second = b.data<int64_t>() + s.second_matrix[i] * s.k * s.n;
    int32_t* y = args.outputs[0]->data<int32_t>() + static_cast<int64_t>(i) * s.m * s.n;
    ParallelFor(s.m * s.n, std::max<int64_t>(1, kElementGrain / (s.k + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t row = at / s.n, column = at % s.n;
        const int64_t za = a_zero.data<int64_t>()[row * row_step], zb = b_zero.data<int64_t>()[column * column_step];
        y[at] = static_cast<int32_t>(static_cast<uint32_t>(kSum(first + row * s.k, second + column, s.n, s.k, za, zb)));
      }
    });
  }
  return Status::Ok();
}

}  // namespace

NaiveOp NaivePlumbMatMulInteger() { return {Run<ProductSum>, RunExact<Run<ProductSum>>}; }
NaiveOp SaturatingMatMulInteger() { return {Run<SaturatingSum>, RunExact<Run<SaturatingSum>>}; }

}  // namespace plumb
