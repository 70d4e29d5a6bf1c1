// SPDX-License-Identifier: Apache-2.0
// Pad, PadV2: each output row is runs of filled, copied, reversed or repeated elements. Plain order for every dtype; a
// blocked f32 map stays blocked when its channels are not padded (then an "element" of a row is one channel block).
#include "op/pad.h"

#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kPadGrain = 16384;

// Where each position of one dim comes from; -1: filled.
struct PadAxis {
  int64_t in = 1;
  std::vector<int64_t> from;

  PadAxis(PadMode mode, int64_t begin, int64_t in_size, int64_t out_size) : in(in_size) {
    const int64_t last = in - 1;
    for (int64_t o = 0; o < out_size; ++o) {
      const int64_t at = o - begin;
      if (at >= 0 && at <= last) {
        from.push_back(at);
      } else if (mode == kPadConst) {
        from.push_back(-1);
      } else if (mode == kPadEdge) {
        from.push_back(at < 0 ? 0 : last);
      } else {
        from.push_back(at < 0 ? -at : 2 * last - at);
      }
    }
  }

  // Whether every position is there once, in its place.
  bool IsWhole() const {
    if (static_cast<int64_t>(from.size()) != in) return false;
    for (int64_t o = 0; o < in; ++o) {
      if (from[static_cast<size_t>(o)] != o) return false;
    }
    return true;
  }
};

// `unit` elements that stay together.
template <class T>
void PadRow(const PadAxis& axis, int64_t unit, const T* src, T fill, T* dst) {
  const auto count = static_cast<int64_t>(axis.from.size());
  for (int64_t o = 0; o < count;) {
    const int64_t at = axis.from[static_cast<size_t>(o)];
    int64_t run = 1;  // positions from o on that are neighbours in the input too
    while (at >= 0 && o + run < count && axis.from[static_cast<size_t>(o + run)] == at + run) ++run;
    if (at < 0) {
      std::fill_n(dst + o * unit, unit, fill);
    } else {
      std::memcpy(dst + o * unit, src + at * unit, static_cast<size_t>(run * unit) * sizeof(T));
    }
    o += run;
  }
}

class PadKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return ResolvePad(spec.layer(), spec.inputs).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const PadShape pad, ResolvePad(spec.layer(), spec.inputs));
    const bool channels_stay = IsBlocked(arriving[0]) && pad.begins[1] == 0 && pad.ends[1] == 0;
    const LayoutPtr layout = LayoutOf(channels_stay ? Format::kBlocked : Format::kPlain);
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = layout;
    choice->outputs = {layout};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const PadShape pad, ResolvePad(spec.layer(), spec.inputs));
    PLUMB_ASSIGN_OR_RETURN(Tensor value, Tensor::Create(DType::kF32, {}));
    *value.data<float>() = pad.value;
    PLUMB_ASSIGN_OR_RETURN(fill_, value.ConvertedTo(inputs[0].dtype));
    blocked_ = IsBlocked(inputs[0].layout);
    unit_ = blocked_ ? ChannelBlock() : 1;
    const Shape& in = inputs[0].shape;
    for (int d = 0; d < in.rank(); ++d) {
      const auto u = static_cast<size_t>(d);
      const bool blocks = blocked_ && d == 1;
      const int64_t size = blocks ? MapOf(in).Blocks(ChannelBlock()) : in[d];
      axes_.emplace_back(pad.mode, pad.begins[u], size, blocks ? size : pad.out[d]);
    }
    if (axes_.empty()) axes_.emplace_back(kPadConst, 0, 1, 1);
    for (; axes_.size() > 1 && axes_.back().IsWhole(); axes_.pop_back()) unit_ *= axes_.back().in;
    fills_tail_ = blocked_ && pad.mode == kPadConst && pad.value != 0;
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    switch (DTypeSize(inputs[0].dtype)) {
      case 1: RunAs<uint8_t>(inputs[0], outputs[0]); break;
      case 2: RunAs<uint16_t>(inputs[0], outputs[0]); break;
      case 4: RunAs<uint32_t>(inputs[0], outputs[0]); break;
      default: RunAs<uint64_t>(inputs[0], outputs[0]); break;
    }
    if (fills_tail_) ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

 private:
  template <class T>
  void RunAs(const DeviceTensor& in, const DeviceTensor& out) const {
    const T* src = in.host<T>();
    T* dst = out.host<T>();
    const T fill = *static_cast<const T*>(fill_.raw());
    const PadAxis& last = axes_.back();
    const int64_t row = static_cast<int64_t>(last.from.size()) * unit_;
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < axes_.size(); ++d) rows *= static_cast<int64_t>(axes_[d].from.size());
    ParallelFor(rows, std::max<int64_t>(1, kPadGrain / std::max<int64_t>(1, row)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t from = SourceRow(r);
        if (from < 0) {
          std::fill_n(dst + r * row, row, fill);
        } else {
          PadRow(last, unit_, src + from * last.in * unit_, fill, dst + r * row);
        }
      }
    });
  }

  // The input row that output row `r` comes from; -1: filled.
  int64_t SourceRow(int64_t r) const {
    int64_t from = 0, step = 1;
    for (size_t d = axes_.size() - 1; d-- > 0;) {
      const auto count = static_cast<int64_t>(axes_[d].from.size());
      const int64_t at = axes_[d].from[static_cast<size_t>(r % count)];
      if (at < 0) return -1;
      from += at * step;
      step *= axes_[d].in;
      r /= count;
    }
    return from;
  }

  std::vector<PadAxis> axes_;  // outermost first
  Tensor fill_;
  int64_t unit_ = 1;
  bool blocked_ = false;
  bool fills_tail_ = false;  // writes the fill value behind the last channel
};

}  // namespace

const KernelFunctions kernel_pad = {PadKernel::Supports, MakeKernel<PadKernel>};

}  // namespace plumb::cpu
