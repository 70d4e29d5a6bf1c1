// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/sliced_convolution.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "base/threads.h"
#include "device/cpu/reorder.h"

namespace plumb::cpu {
namespace {

bool IsPadded(const ConvParams& p) {
  const int64_t reach_h = (p.out_h - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1;
  const int64_t reach_w = (p.out_w - 1) * p.stride_w + (p.kernel_w - 1) * p.dilation_w + 1;
  return p.pad_top > 0 || p.pad_left > 0 || reach_h - p.pad_top > p.in_h || reach_w - p.pad_left > p.in_w;
}

// The same convolution on an input that has its zeros written out.
ConvParams WithBorder(ConvParams p) {
  p.in_h = std::max(p.in_h + p.pad_top, (p.out_h - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1);
  p.in_w = std::max(p.in_w + p.pad_left, (p.out_w - 1) * p.stride_w + (p.kernel_w - 1) * p.dilation_w + 1);
  p.pad_top = p.pad_left = 0;
  return p;
}

// Of 1x1, and where oneDNN has a kernel in blocks only without pads: its direct kernels refuse wide ones (3x39 with
// 19 columns of padding runs six times as long in plain order).
bool NeedsBorder(const ConvParams& p) {
  if (p.transposed || !IsPadded(p)) return false;
  if (p.kernel_h == 1 && p.kernel_w == 1) return true;
  return p.dst == Format::kBlocked && !CheckConvolution(p).ok() && CheckConvolution(WithBorder(p)).ok();
}

// Channels that may be split off without cutting a block or a group.
int64_t SliceUnit(const ConvParams& p) {
  const int64_t block = ChannelBlock();
  const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
  const int64_t dst_unit = p.dst == Format::kBlocked ? block : 1;
  const int64_t src_unit = p.src == Format::kBlocked ? block : 1;
  if (p.groups == 1) return dst_unit;
  if (in == 1 && out == 1) return std::max(src_unit, dst_unit);
  return in % src_unit == 0 && out % dst_unit == 0 ? out : p.out_channels;
}

int64_t PixelsOf(int64_t h, int64_t w) { return h * w; }

struct Part {
  ConvParams params;
  int64_t src_offset, dst_offset, weight_offset, first;
};

// Output channels [first, first + count).
Part MakePart(const ConvParams& p, const WeightStrides& s, int64_t first, int64_t count) {
  Part part{p, 0, first * PixelsOf(p.out_h, p.out_w), first * s.out, first};
  part.params.out_channels = count;
  if (p.groups > 1) {
    const int64_t out = p.out_channels / p.groups, in = p.in_channels / p.groups;
    part.params.groups = count / out;
    part.params.in_channels = part.params.groups * in;
    part.src_offset = first / out * in * PixelsOf(p.in_h, p.in_w);
    part.weight_offset = first / out * s.group;
  }
  return part;
}

// One block of output channels, whose rows are dense and which slices of channels cannot share among threads.
bool SplitsByRows(const ConvParams& p) {
  return !p.transposed && p.groups == 1 && p.dst == Format::kBlocked && p.out_channels <= ChannelBlock();
}

// Of rows [first, first + count), with what they read next to each other and without padding.
Part RowPart(const ConvParams& p, int64_t first, int64_t count) {
  ConvParams rows = p;
  rows.out_h = count;
  rows.in_h = (count - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1;
  rows.in_w = (p.out_w - 1) * p.stride_w + (p.kernel_w - 1) * p.dilation_w + 1;
  rows.pad_top = rows.pad_left = 0;
  return {rows, 0, first * p.out_w * ChannelBlock(), 0, 0};
}

int64_t LanesOf(const ConvParams& p) { return p.src == Format::kBlocked ? ChannelBlock() : 1; }
int64_t PlanesOf(const ConvParams& p) { return (p.in_channels + LanesOf(p) - 1) / LanesOf(p); }

// Of the input of a convolution without padding, copied from that of `p`.
BorderedRows CopyOf(const ConvParams& p, const ConvParams& copied) {
  return {LanesOf(p), p.in_h, p.in_w, p.pad_left, copied.in_w, copied.in_h};
}

}  // namespace

Status SlicedConvolution::Check(const ConvParams& params) {
  return CheckConvolution(NeedsBorder(params) ? WithBorder(params) : params);
}

Result<SlicedConvolution> SlicedConvolution::Create(int64_t batch, const ConvParams& params, const float* weights,
                                                    const WeightStrides& strides, const float* bias, int threads) {
  SlicedConvolution conv;
  conv.batch_ = batch;
  conv.params_ = params;
  if (threads > 1 && batch < threads && params.out_h > 1 && SplitsByRows(params)) {
    conv.by_row_ = true;
    if (conv.MakeSlices(std::min<int64_t>(threads, params.out_h), params, weights, strides, bias).ok()) return conv;
    conv.by_row_ = false;
  }
  ConvParams p = params;
  if (NeedsBorder(params)) {
    p = WithBorder(params);
    PLUMB_ASSIGN_OR_RETURN(conv.bordered_, Tensor::Zeros(DType::kF32, {PlanesOf(p) * LanesOf(p) * p.in_h * p.in_w}));
  }
  conv.by_image_ = batch > 1 && batch >= threads && conv.bordered_.empty();
  const int64_t units = (p.out_channels + SliceUnit(p) - 1) / SliceUnit(p);
  const int64_t count = conv.by_image_ ? 1 : std::min<int64_t>(threads, units);
  Status status = conv.MakeSlices(count, p, weights, strides, bias);
  // Few groups cut into fewer may be left with a reference kernel only.
  if (!status.ok() && count > 1) status = conv.MakeSlices(1, p, weights, strides, bias);
  PLUMB_RETURN_IF_ERROR(status);
  if (conv.by_image_) {
    for (int i = 1; i < threads; ++i) conv.slices_.push_back({conv.slices_.front().op->Share(), 0, 0, {}, 0, {}});
  }
  return conv;
}

Status SlicedConvolution::MakeSlices(int64_t count, const ConvParams& p, const float* weights,
                                     const WeightStrides& strides, const float* bias) {
  const int64_t unit = by_row_ ? 1 : SliceUnit(p), extent = by_row_ ? p.out_h : p.out_channels;
  const int64_t units = (extent + unit - 1) / unit;
  std::vector<std::optional<Slice>> slices(static_cast<size_t>(count));
  std::mutex mutex;
  Status status;
  ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = units * i / count * unit, last = std::min(units * (i + 1) / count * unit, extent);
      const Part part = by_row_ ? RowPart(p, first, last - first) : MakePart(p, strides, first, last - first);
      auto op = MakeConvolution(part.params, weights + part.weight_offset, strides, bias ? bias + part.first : nullptr);
      const int64_t floats = by_row_ ? PlanesOf(p) * LanesOf(p) * part.params.in_h * part.params.in_w : 0;
      auto rows = Tensor::Zeros(DType::kF32, {floats});
      std::lock_guard<std::mutex> lock(mutex);
      if (!op.ok() || !rows.ok()) {
        status = op.ok() ? rows.status() : op.status();
        continue;
      }
      slices[static_cast<size_t>(i)] =
          Slice{std::move(op).value(),          part.src_offset,        part.dst_offset, CopyOf(p, part.params),
                first * p.stride_h - p.pad_top, std::move(rows).value()};
    }
  });
  PLUMB_RETURN_IF_ERROR(status);
  slices_.clear();
  for (auto& slice : slices) slices_.push_back(std::move(*slice));
  return Status::Ok();
}

void SlicedConvolution::Run(const float* src, int64_t src_image, float* dst, int64_t dst_image) {
  if (by_image_) return RunImages(src, src_image, dst, dst_image);
  const int count = static_cast<int>(slices_.size());
  for (int64_t image = 0; image < batch_; ++image) {
    const float* in = src + image * src_image;
    if (!bordered_.empty()) {
      CopyWithBorder(in);
      in = bordered_.data<float>();
    }
    ParallelRegion(count, [&](int thread, int threads) {
      for (int i = thread; i < count; i += threads) {
        Slice& slice = slices_[static_cast<size_t>(i)];
        const float* from = in + slice.src_offset;
        if (by_row_) {
          slice.copy.Copy(in, PlanesOf(params_), slice.first_row, slice.copy.height, slice.rows.data<float>());
          from = slice.rows.data<float>();
        }
        slice.op->Run(from, dst + image * dst_image + slice.dst_offset);
      }
    });
  }
}

// The products add to what dst holds; nothing to do where the runtime let dst be the addend.
void SlicedConvolution::Run(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image,
                            float*) {
  if (addend != nullptr && addend != dst) {
    ParallelFor(batch_ * dst_image, 1 << 14, [&](int64_t begin, int64_t end) {
      std::memcpy(dst + begin, addend + begin, static_cast<size_t>(end - begin) * sizeof(float));
    });
  }
  Run(src, src_image, dst, dst_image);
}

void SlicedConvolution::RunImages(const float* src, int64_t src_image, float* dst, int64_t dst_image) {
  const int count = static_cast<int>(slices_.size());
  ParallelRegion(count, [&](int thread, int threads) {
    for (int i = thread; i < count; i += threads) {
      for (int64_t image = batch_ * i / count; image < batch_ * (i + 1) / count; ++image) {
        slices_[static_cast<size_t>(i)].op->Run(src + image * src_image, dst + image * dst_image);
      }
    }
  });
}

void SlicedConvolution::CopyWithBorder(const float* src) {
  const BorderedRows rows = CopyOf(params_, WithBorder(params_));
  const int64_t from = rows.in_h * rows.in_w * rows.lanes, to = rows.height * rows.width * rows.lanes;
  ParallelFor(PlanesOf(params_), 4, [&](int64_t begin, int64_t end) {
    rows.Copy(src + begin * from, end - begin, -params_.pad_top, rows.height, bordered_.data<float>() + begin * to);
  });
}

size_t SlicedConvolution::packed_bytes() const {
  size_t bytes = by_image_ ? slices_.front().op->packed_bytes() : 0;
  if (!by_image_) {
    for (const Slice& slice : slices_) bytes += slice.op->packed_bytes();
  }
  return bytes;
}

}  // namespace plumb::cpu
