// ReLU: y = max(x, 0), NaN stays NaN; bit-exact.
#include "device/naive/elementwise.h"

namespace plumb {
namespace {

double Relu(double x) { return x < 0 ? 0.0 : x; }

Status Run(const NaiveArgs& args) { return RunUnary(args, Relu); }
Status Bound(const NaiveArgs& args, const BoundArgs& bound) {
  return RunUnaryWithBound(args, bound, Relu, [](double, double) { return 0.0; });
}

}  // namespace

NaiveOp NaiveReLU() { return {Run, Bound}; }

}  // namespace plumb
