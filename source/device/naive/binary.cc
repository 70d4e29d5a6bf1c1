// Binary element-wise operators with NumPy broadcasting; the second operand may be the layer's constant.
// tau: Add, Mul 8 u |y| (tolerance.md, "Other operators"), and the operands' own uncertainty in quadrature.
#include "op/binary.h"

#include "device/naive/broadcast.h"
#include "device/naive/elementwise.h"

namespace plumb {
namespace {

struct Operands {
  const Tensor* a;
  const Tensor* b;
  Shape a_shape, b_shape;
  const double* tau_a = nullptr;
  const double* tau_b = nullptr;
  Tensor constant;  // converted to the storage dtype
};

Status Resolve(const NaiveArgs& args, const BoundArgs* bound, Operands* o) {
  o->a = args.inputs[0];
  o->a_shape = o->a->shape();
  if (bound != nullptr) o->tau_a = InputTau(*bound, 0);
  if (args.inputs.size() == 2) {
    o->b = args.inputs[1];
    o->b_shape = o->b->shape();
    if (bound != nullptr) o->tau_b = InputTau(*bound, 1);
    return Status::Ok();
  }
  const Tensor* element = args.layer.Resource("element");
  if (element == nullptr) return Status::CorruptModel("the constant operand is missing");
  PLUMB_ASSIGN_OR_RETURN(o->constant, element->ConvertedTo(o->a->dtype()));
  PLUMB_ASSIGN_OR_RETURN(o->b_shape, ConstantOperandShape(*element, o->a_shape));
  o->b = &o->constant;
  if (ParamOf<BinaryParam>(args.layer).weight_input_index == 0) {
    std::swap(o->a, o->b);
    std::swap(o->a_shape, o->b_shape);
    std::swap(o->tau_a, o->tau_b);
  }
  return Status::Ok();
}

template <class T, class F>
void Apply(const Operands& o, Tensor* out, F f) {
  const T* a = o.a->data<T>();
  const T* b = o.b->data<T>();
  T* y = out->data<T>();
  const Broadcast walk(o.a_shape, o.b_shape, out->shape());
  ParallelFor(out->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    walk.ForEach(begin, end, [&](int64_t i, int64_t ia, int64_t ib) { y[i] = static_cast<T>(f(a[ia], b[ib])); });
  });
}

// F has operator()(double, double) and integer overloads with wrap-around.
template <class F>
Status Run(const NaiveArgs& args) {
  Operands o;
  PLUMB_RETURN_IF_ERROR(Resolve(args, nullptr, &o));
  Tensor* out = args.outputs[0];
  switch (out->dtype()) {
    case DType::kF32: Apply<float>(o, out, [](float a, float b) { return F()(static_cast<double>(a), static_cast<double>(b)); }); break;
    case DType::kF64: Apply<double>(o, out, [](double a, double b) { return F()(a, b); }); break;
    case DType::kI32: Apply<int32_t>(o, out, [](int32_t a, int32_t b) { return F()(static_cast<uint32_t>(a), static_cast<uint32_t>(b)); }); break;
    case DType::kI64: Apply<int64_t>(o, out, [](int64_t a, int64_t b) { return F()(static_cast<uint64_t>(a), static_cast<uint64_t>(b)); }); break;
    default: return Status::NotSupported(std::string("no reference for ") + DTypeName(out->dtype()) + " operands");
  }
  return Status::Ok();
}

template <class F>
Status Bound(const NaiveArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(Run<F>(args));
  double* tau = bound.tau[0]->data<double>();
  if (!IsFloat(args.outputs[0]->dtype())) {
    std::fill(tau, tau + bound.tau[0]->NumElements(), 0.0);
    return Status::Ok();
  }
  Operands o;
  PLUMB_RETURN_IF_ERROR(Resolve(args, &bound, &o));
  const double* a = o.a->data<double>();
  const double* b = o.b->data<double>();
  const double* y = args.outputs[0]->data<double>();
  const Broadcast walk(o.a_shape, o.b_shape, args.outputs[0]->shape());
  ParallelFor(args.outputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    walk.ForEach(begin, end, [&](int64_t i, int64_t ia, int64_t ib) {
      tau[i] = F::kTau * bound.arithmetic.u_out * std::fabs(y[i]) + 4 * kEta;
      if (o.tau_a != nullptr) tau[i] = std::hypot(tau[i], Spread([&](double v) { return F()(v, b[ib]); }, a[ia], y[i], o.tau_a[ia]));
      if (o.tau_b != nullptr) tau[i] = std::hypot(tau[i], Spread([&](double v) { return F()(a[ia], v); }, b[ib], y[i], o.tau_b[ib]));
    });
  });
  return Status::Ok();
}

struct AddOp {
  static constexpr double kTau = 8;
  template <class T>
  T operator()(T a, T b) const { return a + b; }
};
struct MulOp {
  static constexpr double kTau = 8;
  template <class T>
  T operator()(T a, T b) const { return a * b; }
};

}  // namespace

NaiveOp NaiveAdd() { return {Run<AddOp>, Bound<AddOp>}; }
NaiveOp NaiveMul() { return {Run<MulOp>, Bound<MulOp>}; }

}  // namespace plumb
