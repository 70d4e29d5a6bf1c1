// Walks the elements of a broadcast result: calls f(out_index, a_index, b_index) for out in [begin, end).
#ifndef PLUMB_DEVICE_NAIVE_BROADCAST_H_
#define PLUMB_DEVICE_NAIVE_BROADCAST_H_

#include <vector>

#include "plumb/shape.h"

namespace plumb {

class Broadcast {
 public:
  Broadcast(const Shape& a, const Shape& b, const Shape& out)
      : dims_(out.dims()), a_(Strides(a, out)), b_(Strides(b, out)) {}

  template <class F>
  void ForEach(int64_t begin, int64_t end, F f) const {
    const int rank = static_cast<int>(dims_.size());
    std::vector<int64_t> at(dims_.size(), 0);
    int64_t ia = 0, ib = 0, rest = begin;
    for (int d = rank - 1; d >= 0; --d) {
      const auto u = static_cast<size_t>(d);
      at[u] = rest % dims_[u];
      rest /= dims_[u];
      ia += at[u] * a_[u];
      ib += at[u] * b_[u];
    }
    for (int64_t i = begin; i < end; ++i) {
      f(i, ia, ib);
      for (int d = rank - 1; d >= 0; --d) {
        const auto u = static_cast<size_t>(d);
        ia += a_[u];
        ib += b_[u];
        if (++at[u] < dims_[u]) break;
        ia -= a_[u] * dims_[u];
        ib -= b_[u] * dims_[u];
        at[u] = 0;
      }
    }
  }

 private:
  static std::vector<int64_t> Strides(const Shape& shape, const Shape& out) {
    std::vector<int64_t> strides(static_cast<size_t>(out.rank()), 0);
    int64_t stride = 1;
    for (int i = shape.rank() - 1, o = out.rank() - 1; i >= 0; --i, --o) {
      if (shape[i] != 1) strides[static_cast<size_t>(o)] = stride;
      stride *= shape[i];
    }
    return strides;
  }

  std::vector<int64_t> dims_, a_, b_;
};

}  // namespace plumb

#endif  // PLUMB_DEVICE_NAIVE_BROADCAST_H_
