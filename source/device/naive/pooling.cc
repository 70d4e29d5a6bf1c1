// Pooling (2-D), plain loops (op/pooling.h has the rules).
#include "op/pooling.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "device/naive/naive_op.h"

namespace plumb {
namespace {

struct Range {
  int64_t begin, end, window;  // valid pixels, and the whole window's length
};

Range WindowOf(const WindowAxis& a, bool adaptive, int64_t o) {
  if (adaptive) {
    const int64_t begin = o * a.in / a.out;
    const int64_t end = ((o + 1) * a.in + a.out - 1) / a.out;
    return {begin, end, end - begin};
  }
  const int64_t start = o * a.stride - a.pad_begin;
  const int64_t stop = std::min(start + a.kernel, a.in + a.pad_end);
  return {std::max<int64_t>(start, 0), std::min(start + a.kernel, a.in), stop - start};
}

template <class T>
double Pool(const PoolingShape& s, const T* x, const Range& h, const Range& w) {
  double sum = 0, max = -INFINITY;
  for (int64_t i = h.begin; i < h.end; ++i) {
    for (int64_t j = w.begin; j < w.end; ++j) {
      const double v = static_cast<double>(x[i * s.window.w.in + j]);
      sum += v;
      if (!(v <= max)) max = std::isnan(max) ? max : v;
    }
  }
  if (!s.average) return max;
  const int64_t count = s.count_include_pad ? h.window * w.window
                                            : std::max<int64_t>(0, h.end - h.begin) * std::max<int64_t>(0, w.end - w.begin);
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

Status Run(const NaiveArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape s, ResolvePooling(args.layer, args.inputs[0]->shape()));
  const WindowAxis& h = s.window.h;
  const WindowAxis& w = s.window.w;
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    ParallelFor(s.batch * s.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const T* x = args.inputs[0]->data<T>() + c * h.in * w.in;
        T* y = args.outputs[0]->data<T>() + c * h.out * w.out;
        for (int64_t p = 0; p < h.out * w.out; ++p) {
          y[p] = static_cast<T>(Pool(s, x, WindowOf(h, s.adaptive, p / w.out), WindowOf(w, s.adaptive, p % w.out)));
        }
      }
    });
    return Status::Ok();
  });
}

Status Bound(const NaiveArgs&, const BoundArgs&) { return Status::NotSupported("no bound yet"); }

}  // namespace

NaiveOp NaivePooling() { return {Run, Bound}; }

}  // namespace plumb
