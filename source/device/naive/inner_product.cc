// InnerProduct, plain loops.
#include "op/inner_product.h"

#include <cmath>

#include "base/threads.h"
#include "device/naive/naive_op.h"

namespace plumb {
namespace {

Status Run(const NaiveArgs& args) {
  const auto& p = ParamOf<InnerProductParam>(args.layer);
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, args.inputs[0]->shape().rank()));
  const int64_t rows = args.inputs[0]->shape().Count(0, axis);
  const int64_t k = args.inputs[0]->shape().CountFrom(axis);
  const float* w = args.layer.Resource("weight")->data<float>();
  const Tensor* bias = args.layer.Resource("bias");
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    ParallelFor(p.num_output, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = 0; n < rows; ++n) {
        for (int64_t o = begin; o < end; ++o) {
          double sum = 0;
          for (int64_t i = 0; i < k; ++i) sum = std::fma(static_cast<double>(w[o * k + i]), static_cast<double>(x[n * k + i]), sum);
          if (bias != nullptr) sum += static_cast<double>(bias->data<float>()[o]);
          y[n * p.num_output + o] = static_cast<T>(sum);
        }
      }
    });
    return Status::Ok();
  });
}

Status Bound(const NaiveArgs&, const BoundArgs&) { return Status::NotSupported("no bound yet"); }

}  // namespace

NaiveOp NaiveInnerProduct() { return {Run, Bound}; }

}  // namespace plumb
