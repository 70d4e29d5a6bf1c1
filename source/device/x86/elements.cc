// Operators that pick or place single elements by index, in plain order: PlumbGatherElements, PlumbReverseSequence,
// PlumbCompress, PlumbTrilu, OneHot and PlumbOneHot, the Scatter family, PlumbCumSum, PlumbHardmax, TopK and PlumbTopK.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/by_dtype.h"
#include "base/threads.h"
#include "device/x86/kernel_list.h"
#include "op/cum_sum.h"
#include "op/gather_elements.h"
#include "op/hardmax.h"
#include "op/one_hot.h"
#include "op/reverse_sequence.h"
#include "op/scatter.h"
#include "op/selection.h"
#include "op/top_k.h"
#include "op/trilu.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kElementsGrain = 1 << 14;  // elements that are worth a second thread

Tensor ViewOfElements(const DeviceTensor& t) { return Tensor::View(t.dtype, t.shape, t.host<char>(), t.buffer); }

// `spec.inputs` with the values of this Forward.
std::vector<BlobInfo> WithValues(const std::vector<DeviceTensor>& inputs) {
  std::vector<BlobInfo> infos;
  for (const DeviceTensor& in : inputs) infos.push_back({in.dtype, in.shape, ViewOfElements(in)});
  return infos;
}

// Kernels whose work is one function of the layer and the tensors. What depends on indices is resolved in each Run:
// such layers are rare and small.
using RunFunction = Status (*)(const Layer&, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&);

template <RunFunction run, bool only_numbers>
class ElementsKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (!only_numbers || dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
    return Status::NotSupported(std::string("takes f32, i32 and i64, found ") + DTypeName(dtype));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    layer_ = &spec.layer();
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return run(*layer_, inputs, outputs);
  }

 private:
  const Layer* layer_ = nullptr;
};

Status Pick(const std::vector<int64_t>& from, const DeviceTensor& in, const DeviceTensor& out) {
  return WithBits(in.dtype, [&](auto bits) {
    using T = decltype(bits);
    const T* x = in.host<T>();
    T* y = out.host<T>();
    ParallelFor(static_cast<int64_t>(from.size()), kElementsGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[from[static_cast<size_t>(i)]];
    });
    return Status::Ok();
  });
}

Status GatherElements(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<GatherElementsParam>(layer).axis, in[0].shape.rank()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> from, ElementsAlong(in[0].shape, axis, ViewOfElements(in[1])));
  return Pick(from, in[0], out[0]);
}

Status Reverse(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> from, ReversedElements(layer, in[0].shape, ViewOfElements(in[1])));
  return Pick(from, in[0], out[0]);
}

Status Compress(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const CompressShape s, ResolveCompress(layer, WithValues(in)));
  const size_t bytes = static_cast<size_t>(s.inner) * DTypeSize(in[0].dtype);
  char* to = out[0].host<char>();
  for (int64_t o = 0; o < s.outer; ++o) {
    for (const int64_t i : s.kept) {
      std::memcpy(to, in[0].host<char>() + static_cast<size_t>(o * s.size + i) * bytes, bytes);
      to += bytes;
    }
  }
  return Status::Ok();
}

Status Triangle(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const auto& p = ParamOf<TriluParam>(layer);
  const int64_t k = in.size() == 2 ? *in[1].host<int64_t>() : p.k;
  const int rank = in[0].shape.rank();
  const int64_t rows = in[0].shape[rank - 2], columns = in[0].shape[rank - 1];
  return WithBits(in[0].dtype, [&](auto bits) {
    using T = decltype(bits);
    const T* x = in[0].host<T>();
    T* y = out[0].host<T>();
    for (int64_t r = 0; r < in[0].shape.Count(0, rank - 1); ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t at = r * columns + c;
        y[at] = InTriangle(p.upper, k, r % rows, c) ? x[at] : T{0};
      }
    }
    return Status::Ok();
  });
}

Status OneHot(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const OneHotShape s, ResolveOneHot(layer, WithValues(in)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor indices, ViewOfElements(in[0]).ConvertedTo(DType::kI64));
  float own[2] = {0, 1};
  if (layer.kind == OpKind::kOneHot) {
    own[0] = ParamOf<OneHotParam>(layer).off_value;
    own[1] = ParamOf<OneHotParam>(layer).on_value;
  }
  const void* values = layer.kind == OpKind::kOneHot ? own : in[2].host<void>();
  return WithBits(out[0].dtype, [&](auto bits) {
    using T = decltype(bits);
    const T* pair = static_cast<const T*>(values);
    T* y = out[0].host<T>();
    for (int64_t i = 0; i < out[0].shape.NumElements(); ++i) {
      const int64_t wanted = indices.data<int64_t>()[i / (s.depth * s.inner) * s.inner + i % s.inner];
      const int64_t here = i / s.inner % s.depth;
      y[i] = pair[wanted == here || wanted + s.depth == here ? 1 : 0];
    }
    return Status::Ok();
  });
}

template <class T>
T CombineElements(Reduction reduction, T old, T update) {
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction == Reduction::kAdd) return old + update;
    if (reduction == Reduction::kMul) return old * update;
    if (std::isnan(update)) return update;
  } else {
    using U = std::make_unsigned_t<T>;
    if (reduction == Reduction::kAdd) return static_cast<T>(static_cast<U>(old) + static_cast<U>(update));
    if (reduction == Reduction::kMul) return static_cast<T>(static_cast<U>(old) * static_cast<U>(update));
  }
  const bool take = reduction == Reduction::kMin ? update < old : update > old;
  return take ? update : old;
}

Status Scatter(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const ScatterShape s, ResolveScatter(layer, WithValues(in)));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> targets, ScatterTargets(s, in[0].shape, ViewOfElements(in[1])));
  if (out[0].host<char>() != in[0].host<char>()) std::memcpy(out[0].host<char>(), in[0].host<char>(), in[0].bytes());
  if (s.reduction == Reduction::kNone) {
    const size_t bytes = static_cast<size_t>(s.slice) * DTypeSize(in[0].dtype), size = DTypeSize(in[0].dtype);
    for (size_t t = 0; t < targets.size(); ++t) {
      std::memcpy(out[0].host<char>() + static_cast<size_t>(targets[t]) * size, in[2].host<char>() + t * bytes, bytes);
    }
    return Status::Ok();
  }
  return WithNumber(in[0].dtype, [&](auto number) {
    using T = decltype(number);
    const T* updates = in[2].host<T>();
    for (const int64_t target : targets) {
      T* y = out[0].host<T>() + target;
      for (int64_t k = 0; k < s.slice; ++k) y[k] = CombineElements(s.reduction, y[k], *updates++);
    }
    return Status::Ok();
  });
}

Status CumSum(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const auto& p = ParamOf<CumSumParam>(layer);
  PLUMB_ASSIGN_OR_RETURN(const int axis, CumSumAxis(layer, WithValues(in)));
  const int64_t size = in[0].shape[axis], inner = in[0].shape.CountFrom(axis + 1);
  return WithNumber(in[0].dtype, [&](auto number) {
    using T = decltype(number);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
    std::vector<Sum> sums(static_cast<size_t>(inner));
    for (int64_t o = 0; o < in[0].shape.Count(0, axis); ++o) {
      std::fill(sums.begin(), sums.end(), Sum{0});
      for (int64_t i = 0; i < size; ++i) {
        const int64_t at = (o * size + (p.reverse ? size - 1 - i : i)) * inner;
        for (int64_t k = 0; k < inner; ++k) {
          Sum& sum = sums[static_cast<size_t>(k)];
          const Sum before = sum;
          sum += static_cast<Sum>(in[0].host<T>()[at + k]);
          out[0].host<T>()[at + k] = static_cast<T>(p.exclusive ? before : sum);
        }
      }
    }
    return Status::Ok();
  });
}

Status Hardmax(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<HardmaxParam>(layer).axis, in[0].shape.rank()));
  const int64_t size = in[0].shape[axis], inner = in[0].shape.CountFrom(axis + 1);
  const float* x = in[0].host<float>();
  float* y = out[0].host<float>();
  std::memset(y, 0, out[0].bytes());
  for (int64_t r = 0; size > 0 && r < in[0].shape.Count(0, axis) * inner; ++r) {
    const int64_t start = r / inner * size * inner + r % inner;
    int64_t best = start;
    for (int64_t i = start; i < start + size * inner && !std::isnan(x[best]); i += inner) {
      if (x[i] > x[best] || std::isnan(x[i])) best = i;
    }
    y[best] = 1;
  }
  return Status::Ok();
}

template <class T>
bool Before(T a, T b) {  // a is the larger one; NaN is larger than every number
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return !std::isnan(b);
    if (std::isnan(b)) return false;
  }
  return a > b;
}

Status TopK(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const TopKShape s, ResolveTopK(layer, WithValues(in)));
  return WithNumber(in[0].dtype, [&](auto number) {
    using T = decltype(number);
    ParallelFor(s.outer * s.inner, std::max<int64_t>(1, kElementsGrain / (s.size + 1)),
                [&](int64_t begin, int64_t end) {
                  std::vector<std::pair<T, int64_t>> row(static_cast<size_t>(s.size));
                  for (int64_t r = begin; r < end; ++r) {
                    const T* x = in[0].host<T>() + r / s.inner * s.size * s.inner + r % s.inner;
                    for (int64_t i = 0; i < s.size; ++i) row[static_cast<size_t>(i)] = {x[i * s.inner], i};
                    std::partial_sort(row.begin(), row.begin() + s.k, row.end(), [&](const auto& a, const auto& b) {
                      if (Before(a.first, b.first)) return s.largest;
                      if (Before(b.first, a.first)) return !s.largest;
                      return a.second < b.second;
                    });
                    const int64_t to = r / s.inner * s.k * s.inner + r % s.inner;
                    for (int64_t i = 0; i < s.k; ++i) {
                      const auto& [value, index] = row[static_cast<size_t>(i)];
                      out[0].host<T>()[to + i * s.inner] = value;
                      if (out[1].dtype == DType::kI64) {
                        out[1].host<int64_t>()[to + i * s.inner] = index;
                      } else {
                        out[1].host<int32_t>()[to + i * s.inner] = static_cast<int32_t>(index);
                      }
                    }
                  }
                });
    return Status::Ok();
  });
}

template <RunFunction run, bool only_numbers>
constexpr KernelFunctions Functions() {
  return {ElementsKernel<run, only_numbers>::Supports, MakeKernel<ElementsKernel<run, only_numbers>>};
}

// Hardmax computes in f32 only.
Status SupportsHardmax(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  return RequireF32(spec);
}

}  // namespace

const KernelFunctions kernel_gather_elements = Functions<GatherElements, false>();
const KernelFunctions kernel_reverse_sequence = Functions<Reverse, false>();
const KernelFunctions kernel_compress = Functions<Compress, false>();
const KernelFunctions kernel_trilu = Functions<Triangle, false>();
const KernelFunctions kernel_one_hot = Functions<OneHot, false>();
const KernelFunctions kernel_scatter = Functions<Scatter, false>();
const KernelFunctions kernel_cum_sum = Functions<CumSum, true>();
const KernelFunctions kernel_hardmax = {SupportsHardmax, MakeKernel<ElementsKernel<Hardmax, true>>};
const KernelFunctions kernel_top_k = Functions<TopK, true>();

}  // namespace plumb::x86
