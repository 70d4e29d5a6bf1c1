// Element-wise operators of one input: a row each. a, b, c are the operator's parameters; NaN stays NaN in every row.
#include "common.clh"
#include "math.clh"

#define UNARY(name, expression)                                                                                        \
  LINEAR void unary_##name(global stored* y, long y_at, global const stored* in, long in_at, int count, float a,       \
                           float b, float c) {                                                                         \
    const int i = get_global_id(0);                                                                                    \
    if (i >= count) return;                                                                                            \
    const float x = LOAD(in + in_at, i);                                                                               \
    STORE(expression, y + y_at, i);                                                                                    \
  }

UNARY(ReLU, x < 0.0f ? 0.0f : x)
UNARY(ReLU6, x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x)
UNARY(Clip, clip(x, a, b))
UNARY(LeakyRelu, x < 0.0f ? x * a : x)
UNARY(HardSigmoid, clip(fma(x, a, b), 0.0f, 1.0f))
UNARY(HardSwish, x* clip(fma(x, a, b), 0.0f, 1.0f))
UNARY(Softsign, x / (1.0f + fabs(x)))
UNARY(Sqrt, sqrt(x))
UNARY(Rsqrt, 1.0f / sqrt(x))
UNARY(Reciprocal, 1.0f / x)
UNARY(Abs, fabs(x))
UNARY(Neg, -x)
UNARY(Floor, floor(x))
UNARY(Ceil, ceil(x))
UNARY(Sign, fabs(x) > 0.0f ? copysign(1.0f, x) : x)
UNARY(Exp, exp(x))
UNARY(Log, log(x))
UNARY(Sigmoid, sigmoid(x))
UNARY(LogSigmoid, -softplus(-x))
UNARY(Swish, x* sigmoid(x))
UNARY(Tanh, tanh(x))
UNARY(Elu, x > 0.0f ? x : a * expm1(x))
UNARY(Selu, b*(x > 0.0f ? x : a * expm1(x)))
UNARY(Softplus, softplus(x))
UNARY(Erf, erf(x))
UNARY(GELU, gelu(x))
UNARY(Sin, sin(x))
UNARY(Cos, cos(x))
UNARY(Tan, tan(x))
UNARY(Asin, asin(x))
UNARY(Acos, acos(x))
UNARY(Atan, atan(x))
UNARY(Power, power(x, a, b, c))

UNARY(PlumbSinh, sinh(x))
UNARY(PlumbCosh, cosh(x))
UNARY(PlumbAsinh, asinh(x))
UNARY(PlumbAcosh, acosh(x))
UNARY(PlumbAtanh, atanh(x))
UNARY(PlumbMish, x* tanh(softplus(x)))
UNARY(PlumbRound, rint(x))
UNARY(PlumbCelu, x > 0.0f ? x : a * expm1(x / a))
UNARY(PlumbThresholdedRelu, x > a ? x : x != x ? x : 0.0f)
UNARY(PlumbShrink, x < -a ? x + b : x > a ? x - b : x != x ? x : 0.0f)

// ReLU, Abs, Neg, Sign and Clip of whole numbers, which wrap around.
#define UNARY_INT(T, U)                                                                                           \
  LINEAR void unary_##T(global T* y, long y_at, global const T* in, long in_at, int count, int op, T low, T high) { \
    const int i = get_global_id(0);                                                                               \
    if (i >= count) return;                                                                                       \
    const T x = in[in_at + i];                                                                                    \
    const T negated = (T)(0 - (U)x);                                                                              \
    T v = x;                                                                                                      \
    if (op == 0) v = x < 0 ? 0 : x;                                                                               \
    if (op == 1) v = (T)abs(x);                                                                                   \
    if (op == 2) v = negated;                                                                                     \
    if (op == 3) v = (x > 0) - (x < 0);                                                                           \
    if (op == 4) v = x < low ? (low > high ? high : low) : x > high ? high : x;                                   \
    y[y_at + i] = v;                                                                                              \
  }
UNARY_INT(int, uint)
UNARY_INT(long, ulong)
