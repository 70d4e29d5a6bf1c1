// GridSample, RoiAlign, PlumbRoiAlign, PlumbMaxUnpool and PlumbDet in plain order: scalar loops, positions in double,
// interpolation in f32.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/by_dtype.h"
#include "base/threads.h"
#include "device/x86/kernel_list.h"
#include "op/grid_sample.h"
#include "op/pool_nd.h"
#include "op/roi_align.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kSampleGrain = 1024;  // positions that are worth a second thread

template <Status (*run)(const Layer&, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&), bool moves>
class SampleKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (moves || spec.inputs[0].dtype == DType::kF32) return Status::Ok();
    return Status::NotSupported(std::string("takes f32, found ") + DTypeName(spec.inputs[0].dtype));
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

// One dim of the sampled blob.
struct Side {
  int64_t size = 1;
  double low = 0, high = 0;  // reflection turns round here
};

double Mirror(const Side& side, double x) {
  const double range = side.high - side.low;
  if (range <= 0) return side.low;
  double at = std::fmod(std::fabs(x - side.low), 2 * range);
  if (at > range) at = 2 * range - at;
  return side.low + at;
}

// Element offset of whole position x, or -1 where it counts 0.
int64_t OffsetOf(const GridSampleParam& p, const Side& side, double x) {
  if (p.pad_type == 1) x = std::nearbyint(Mirror(side, x));
  const double last = static_cast<double>(side.size - 1);
  if (p.pad_type != 0) return static_cast<int64_t>(std::min(std::max(x, 0.0), last));
  return x < 0 || x > last ? -1 : static_cast<int64_t>(x);
}

struct Neighbours {
  int count = 1;
  int64_t at[4] = {0, 0, 0, 0};
  float weight[4] = {1, 0, 0, 0};
};

void Cubic(double part, float* weight) {  // a = -0.75
  const double rest = 1 - part;
  weight[0] = static_cast<float>(-0.75 * part * rest * rest);
  weight[1] = static_cast<float>(1 + part * part * (1.25 * part - 2.25));
  weight[2] = static_cast<float>(1 + rest * rest * (1.25 * rest - 2.25));
  weight[3] = static_cast<float>(-0.75 * rest * part * part);
}

Neighbours NeighboursOf(const GridSampleParam& p, const Side& side, float position) {
  const double size = static_cast<double>(side.size), g = static_cast<double>(position) + 1;
  double x = p.align_corners ? g * (size - 1) / 2 : (g * size - 1) / 2;
  if (!(std::fabs(x) < 0x1p40)) x = -0x1p40;
  Neighbours n;
  if (p.mode == 1) {
    n.at[0] = OffsetOf(p, side, std::nearbyint(x));
    return n;
  }
  if (p.pad_type != 0 && (x < side.low || x > side.high))
    x = p.pad_type == 1 ? Mirror(side, x) : std::min(std::max(x, 0.0), size - 1);
  const double below = std::floor(x), part = x - below;
  n.count = p.mode == 2 ? 2 : 4;
  if (p.mode == 3) {
    Cubic(part, n.weight);
  } else {
    n.weight[0] = static_cast<float>(1 - part);
    n.weight[1] = static_cast<float>(part);
  }
  for (int k = 0; k < n.count; ++k) n.at[k] = OffsetOf(p, side, below + k - (p.mode == 3 ? 1 : 0));
  return n;
}

// The weighted sum over the products of all dims' neighbours.
float Gather(const std::vector<Neighbours>& dims, const std::vector<Side>& sides, size_t d, int64_t at,
             const float* x) {
  if (d == dims.size()) return x[at];
  float sum = 0;
  for (int k = 0; k < dims[d].count; ++k) {
    if (dims[d].at[k] < 0) continue;
    sum += dims[d].weight[k] * Gather(dims, sides, d + 1, at * sides[d].size + dims[d].at[k], x);
  }
  return sum;
}

Status RunGridSample(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const auto& p = ParamOf<GridSampleParam>(layer);
  const int spatial = in[0].shape.rank() - 2;
  std::vector<Side> sides;
  for (int d = 0; d < spatial; ++d) {
    const int64_t size = in[0].shape[d + 2];
    const double edge = p.align_corners ? 0 : 0.5;
    sides.push_back({size, -edge, static_cast<double>(size - 1) + edge});
  }
  const int64_t channels = in[0].shape[1], plane = in[0].shape.CountFrom(2), positions = out[0].shape.CountFrom(2);
  ParallelFor(in[0].shape[0] * positions, kSampleGrain, [&](int64_t begin, int64_t end) {
    std::vector<Neighbours> dims(sides.size());
    for (int64_t r = begin; r < end; ++r) {
      const float* grid = in[1].host<float>() + r * spatial;
      for (int d = 0; d < spatial; ++d) {
        const auto at = static_cast<size_t>(d);
        dims[at] = NeighboursOf(p, sides[at], grid[spatial - 1 - d]);
      }
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t channel = r / positions * channels + c;
        out[0].host<float>()[channel * positions + r % positions] =
            Gather(dims, sides, 0, 0, in[0].host<float>() + channel * plane);
      }
    }
  });
  return Status::Ok();
}

// Along one dim: the points of all bins, as neighbours and the second one's weight; -1 counts 0.
struct Points {
  int64_t per_bin = 1;
  std::vector<int64_t> low, high;
  std::vector<double> part;
};

Points PointsOf(const PlumbRoiAlignParam& p, float begin, float end, int bins, int64_t size) {
  const double scale = static_cast<double>(p.base.spatial_scale), shift = p.half_pixel ? 0.5 : 0;
  const double start = static_cast<double>(begin) * scale - shift;
  double length = static_cast<double>(end) * scale - shift - start;
  if (!p.half_pixel && length < 1) length = 1;
  const double bin = length / bins, last = static_cast<double>(size - 1);
  Points points;
  points.per_bin = p.base.sampling_ratio > 0 ? p.base.sampling_ratio
                                             : static_cast<int64_t>(std::ceil(std::min(std::max(bin, 0.0), 4096.0)));
  for (int64_t i = 0; i < bins * points.per_bin; ++i) {
    const double at = start + bin * ((static_cast<double>(i) + 0.5) / static_cast<double>(points.per_bin));
    const bool none = !(at >= -1 && at <= static_cast<double>(size));
    const double inside = none ? 0 : std::min(std::max(at, 0.0), last);
    points.low.push_back(none ? -1 : static_cast<int64_t>(inside));
    points.high.push_back(std::min(static_cast<int64_t>(inside) + 1, size - 1));
    points.part.push_back(inside - std::floor(inside));
  }
  return points;
}

float BinOf(const Points& rows, const Points& columns, int64_t row, int64_t column, bool average, int64_t width,
            const float* x) {
  double sum = 0, largest = -INFINITY;
  for (int64_t i = row * rows.per_bin; i < (row + 1) * rows.per_bin; ++i) {
    for (int64_t j = column * columns.per_bin; j < (column + 1) * columns.per_bin; ++j) {
      const auto r = static_cast<size_t>(i), c = static_cast<size_t>(j);
      double terms[4] = {0, 0, 0, 0};
      if (rows.low[r] >= 0 && columns.low[c] >= 0) {
        const float *upper = x + rows.low[r] * width, *lower = x + rows.high[r] * width;
        const double down = rows.part[r], right = columns.part[c];
        terms[0] = (1 - down) * (1 - right) * static_cast<double>(upper[columns.low[c]]);
        terms[1] = (1 - down) * right * static_cast<double>(upper[columns.high[c]]);
        terms[2] = down * (1 - right) * static_cast<double>(lower[columns.low[c]]);
        terms[3] = down * right * static_cast<double>(lower[columns.high[c]]);
      }
      for (const double term : terms) largest = std::max(largest, term);
      sum += terms[0] + terms[1] + terms[2] + terms[3];
    }
  }
  const int64_t count = rows.per_bin * columns.per_bin;
  if (count == 0) return 0;
  return static_cast<float>(average ? sum / static_cast<double>(count) : largest);
}

Status RunRoiAlign(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const PlumbRoiAlignParam p = RoiParamOf(layer);
  const Shape& x = in[0].shape;
  const Tensor images = Tensor::View(in[2].dtype, in[2].shape, in[2].host<char>(), in[2].buffer);
  for (int64_t r = 0; r < out[0].shape[0]; ++r) {
    const float* roi = in[1].host<float>() + r * 4;
    const auto image = static_cast<int64_t>(images.ValueAt(r));
    if (image < 0 || image >= x[0]) {
      return Status::InvalidArgument("batch index " + std::to_string(image) + " of region " + std::to_string(r) +
                                     " is outside " + x.ToString());
    }
    const Points rows = PointsOf(p, roi[1], roi[3], p.base.out_h, x[2]);
    const Points columns = PointsOf(p, roi[0], roi[2], p.base.out_w, x[3]);
    ParallelFor(x[1], 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        float* y = out[0].host<float>() + (r * x[1] + c) * p.base.out_h * p.base.out_w;
        const float* plane = in[0].host<float>() + (image * x[1] + c) * x.CountFrom(2);
        for (int64_t i = 0; i < int64_t{p.base.out_h} * p.base.out_w; ++i)
          y[i] = BinOf(rows, columns, i / p.base.out_w, i % p.base.out_w, p.base.mode == 1, x[3], plane);
      }
    });
  }
  return Status::Ok();
}

Status RunUnpool(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  std::vector<BlobInfo> infos;
  for (const DeviceTensor& t : in)
    infos.push_back({t.dtype, t.shape, Tensor::View(t.dtype, t.shape, t.host<char>(), t.buffer)});
  PLUMB_ASSIGN_OR_RETURN(const UnpoolShape s, ResolveUnpool(layer, infos));
  std::memset(out[0].host<char>(), 0, out[0].bytes());
  const int64_t* indices = in[1].host<int64_t>();
  return WithBits(out[0].dtype, [&](auto bits) {
    using T = decltype(bits);
    for (int64_t i = 0; i < in[0].shape.NumElements(); ++i) {
      int64_t rest = indices[i], to = 0, step = 1;
      if (rest < 0 || rest >= s.inferred.NumElements()) {
        return Status::InvalidArgument("index " + std::to_string(rest) + " at position " + std::to_string(i) +
                                       " is outside " + s.inferred.ToString());
      }
      for (int d = s.out.rank() - 1; d >= 0; --d) {
        to += rest % s.inferred[d] * step;
        rest /= s.inferred[d];
        step *= s.out[d];
      }
      out[0].host<T>()[to] = in[0].host<T>()[i];
    }
    return Status::Ok();
  });
}

Status RunDet(const Layer&, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const int64_t n = in[0].shape[in[0].shape.rank() - 1];
  std::vector<std::vector<double>> rows(static_cast<size_t>(n));
  for (int64_t i = 0; i < out[0].shape.NumElements(); ++i) {
    const float* x = in[0].host<float>() + i * n * n;
    for (auto& row : rows) {
      row.assign(x, x + n);
      x += n;
    }
    double det = 1;
    for (size_t k = 0; k < rows.size() && det != 0; ++k) {
      const auto best = std::max_element(rows.begin() + static_cast<ptrdiff_t>(k), rows.end(),
                                         [&](auto& a, auto& b) { return std::fabs(a[k]) < std::fabs(b[k]); });
      if (*best != rows[k]) {
        std::swap(*best, rows[k]);
        det = -det;
      }
      det *= rows[k][k];
      for (size_t r = k + 1; r < rows.size() && det != 0; ++r) {
        const double factor = rows[r][k] / rows[k][k];
        for (size_t c = k; c < rows.size(); ++c) rows[r][c] -= factor * rows[k][c];
      }
    }
    out[0].host<float>()[i] = static_cast<float>(det);
  }
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_grid_sample = {SampleKernel<RunGridSample, false>::Supports,
                                            MakeKernel<SampleKernel<RunGridSample, false>>};
const KernelFunctions kernel_roi_align = {SampleKernel<RunRoiAlign, false>::Supports,
                                          MakeKernel<SampleKernel<RunRoiAlign, false>>};
const KernelFunctions kernel_max_unpool = {SampleKernel<RunUnpool, true>::Supports,
                                           MakeKernel<SampleKernel<RunUnpool, true>>};
const KernelFunctions kernel_det = {SampleKernel<RunDet, false>::Supports, MakeKernel<SampleKernel<RunDet, false>>};

}  // namespace plumb::x86
