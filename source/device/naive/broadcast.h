// Walks the elements of a broadcast result: calls f(out_index, a_index, b_index) for out in [begin, end).
#ifndef PLUMB_DEVICE_NAIVE_BROADCAST_H_
#define PLUMB_DEVICE_NAIVE_BROADCAST_H_

#include <algorithm>
#include <vector>

#include "plumb/shape.h"

namespace plumb {

class Broadcast {
 public:
  // Dims that both operands walk alike are merged, so that equal shapes are one long line.
  Broadcast(const Shape& a, const Shape& b, const Shape& out) {
    const std::vector<int64_t> a_strides = Strides(a, out), b_strides = Strides(b, out);
    for (int i = 0; i < out.rank(); ++i) {
      const auto u = static_cast<size_t>(i);
      if (out[i] == 1) continue;
      if (!dims_.empty() && a_.back() == a_strides[u] * out[i] && b_.back() == b_strides[u] * out[i]) {
        dims_.back() *= out[i];
        a_.back() = a_strides[u];
        b_.back() = b_strides[u];
      } else {
        dims_.push_back(out[i]);
        a_.push_back(a_strides[u]);
        b_.push_back(b_strides[u]);
      }
    }
    if (dims_.empty()) dims_ = {1}, a_ = {0}, b_ = {0};
  }

  template <class F>
  void ForEach(int64_t begin, int64_t end, F f) const {
    std::vector<int64_t> at(dims_.size(), 0);
    int64_t ia = 0, ib = 0, rest = begin;
    for (size_t d = dims_.size(); d-- > 0;) {
      at[d] = rest % dims_[d];
      rest /= dims_[d];
      ia += at[d] * a_[d];
      ib += at[d] * b_[d];
    }
    for (int64_t i = begin; i < end;) {
      const int64_t count = std::min(dims_.back() - at.back(), end - i);
      Line(i, ia, ib, count, f);
      i += count;
      if (i < end) NextLine(&at, &ia, &ib);
    }
  }

 private:
  // Constant steps let the compiler make vectors of the usual cases.
  template <class F>
  void Line(int64_t i, int64_t ia, int64_t ib, int64_t count, F& f) const {
    const int64_t step_a = a_.back(), step_b = b_.back();
    if (step_a == 1 && step_b == 1) {
      for (int64_t k = 0; k < count; ++k) f(i + k, ia + k, ib + k);
    } else if (step_a == 1 && step_b == 0) {
      for (int64_t k = 0; k < count; ++k) f(i + k, ia + k, ib);
    } else if (step_a == 0 && step_b == 1) {
      for (int64_t k = 0; k < count; ++k) f(i + k, ia, ib + k);
    } else {
      for (int64_t k = 0; k < count; ++k) f(i + k, ia + k * step_a, ib + k * step_b);
    }
  }

  // From anywhere in a line to the beginning of the next one.
  void NextLine(std::vector<int64_t>* at, int64_t* ia, int64_t* ib) const {
    *ia -= at->back() * a_.back();
    *ib -= at->back() * b_.back();
    at->back() = 0;
    for (size_t d = dims_.size() - 1; d-- > 0;) {
      *ia += a_[d];
      *ib += b_[d];
      if (++(*at)[d] < dims_[d]) return;
      *ia -= a_[d] * dims_[d];
      *ib -= b_[d] * dims_[d];
      (*at)[d] = 0;
    }
  }

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
