// SPDX-License-Identifier: Apache-2.0
// Walks the elements of a broadcast result: calls f(out_index, a_index, b_index) for out in [begin, end).
// Neighbouring dims along which both operands advance alike are walked as one, so equal shapes are one plain loop.
#ifndef PLUMB_REFERENCE_CORE_BROADCAST_H_
#define PLUMB_REFERENCE_CORE_BROADCAST_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

class Broadcast {
 public:
  Broadcast(const Shape& a, const Shape& b, const Shape& out) {
    const std::vector<int64_t> a_strides = Strides(a, out), b_strides = Strides(b, out);
    for (size_t d = 0; d < a_strides.size(); ++d) {
      const int64_t size = out.dims()[d];
      if (!dims_.empty() && dims_.back().a == a_strides[d] * size && dims_.back().b == b_strides[d] * size) {
        dims_.back() = {dims_.back().size * size, a_strides[d], b_strides[d]};
      } else {
        dims_.push_back({size, a_strides[d], b_strides[d]});
      }
    }
    if (dims_.empty()) dims_.push_back({1, 0, 0});
  }

  template <class F>
  void ForEach(int64_t begin, int64_t end, F f) const {
    ForEachRun(begin, end, INT64_MAX,
               [&](int64_t i, int64_t ia, int64_t a_step, int64_t ib, int64_t b_step, int64_t run) {
                 for (int64_t k = 0; k < run; ++k) f(i + k, ia + k * a_step, ib + k * b_step);
               });
  }

  // The same in runs of at most `longest` neighbours: f(out_index, a_index, a_step, b_index, b_step, run).
  template <class F>
  void ForEachRun(int64_t begin, int64_t end, int64_t longest, F f) const {
    const Dim& inner = dims_.back();
    for (int64_t i = begin; i < end;) {
      int64_t ia = 0, ib = 0, rest = i;
      for (size_t d = dims_.size(); d-- > 0;) {
        const int64_t at = rest % dims_[d].size;
        rest /= dims_[d].size;
        ia += at * dims_[d].a;
        ib += at * dims_[d].b;
      }
      const int64_t run = std::min({inner.size - i % inner.size, end - i, longest});
      f(i, ia, inner.a, ib, inner.b, run);
      i += run;
    }
  }

 private:
  struct Dim {
    int64_t size, a, b;
  };

  static std::vector<int64_t> Strides(const Shape& shape, const Shape& out) {
    std::vector<int64_t> strides(static_cast<size_t>(out.rank()), 0);
    int64_t stride = 1;
    for (int i = shape.rank() - 1, o = out.rank() - 1; i >= 0; --i, --o) {
      if (shape[i] != 1) strides[static_cast<size_t>(o)] = stride;
      stride *= shape[i];
    }
    return strides;
  }

  std::vector<Dim> dims_;
};

}  // namespace plumb

#endif  // PLUMB_REFERENCE_CORE_BROADCAST_H_
