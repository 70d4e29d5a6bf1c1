// SPDX-License-Identifier: Apache-2.0
// Pad, PadV2: per dim a table says which input position every output position shows. A feature map in channel blocks
// stays so when its channels are not padded (then the lane is one more dim).
#include "op/pad.h"

#include <fmt/core.h>

#include <cstring>

#include "device/opencl/kernel_list.h"
#include "device/opencl/walk.h"

namespace plumb::opencl {
namespace {

// PadDims of pad.cl.
struct PadDims {
  int rank;
  int in[kMaxRank], out[kMaxRank];
};

// Where position `o` of a dim comes from; -1: filled.
int Source(PadMode mode, int64_t begin, int64_t in, int64_t o) {
  const int64_t last = in - 1, at = o - begin;
  if (at >= 0 && at <= last) return static_cast<int>(at);
  if (mode == kPadConst) return -1;
  if (mode == kPadEdge) return static_cast<int>(at < 0 ? 0 : last);
  return static_cast<int>(at < 0 ? -at : 2 * last - at);
}

class PadKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (spec.inputs[0].shape.rank() > kMaxRank)
      return Status::NotSupported(fmt::format("takes at most {} dims", kMaxRank));
    return ResolvePad(spec.layer(), spec.inputs).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const PadShape pad, ResolvePad(spec.layer(), spec.inputs));
    blocked_ =
        IsBlocked(arriving[0]) && pad.begins[1] == 0 && pad.ends[1] == 0 && spec.inputs[0].shape.rank() < kMaxRank;
    const LayoutPtr layout = StoredLayout(spec, spec.inputs[0].dtype, blocked_);
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = layout;
    choice->outputs = {layout};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const PadShape pad, ResolvePad(spec.layer(), spec.inputs));
    const Shape& in = inputs[0].shape;
    std::vector<int> table;
    const auto add = [&](int64_t begin, int64_t from, int64_t to) {
      dims_.in[dims_.rank] = static_cast<int>(from);
      dims_.out[dims_.rank++] = static_cast<int>(to);
      for (int64_t o = 0; o < to; ++o) table.push_back(Source(pad.mode, begin, from, o));
    };
    for (int d = 0; d < in.rank(); ++d) {
      const int64_t blocks = (in[d] + kBlock - 1) / kBlock;
      if (blocked_ && d == 1) {
        add(0, blocks, blocks);
      } else {
        add(pad.begins[static_cast<size_t>(d)], in[d], pad.out[d]);
      }
    }
    if (blocked_) add(0, kBlock, kBlock);
    if (table.empty()) add(0, 1, 1);
    PLUMB_ASSIGN_OR_RETURN(table_, UploadArray(spec.device, table));
    PLUMB_RETURN_IF_ERROR(SetFill(pad.value, inputs[0]));
    PLUMB_ASSIGN_OR_RETURN(
        launcher_, Launcher::Create(spec.device, "pad.cl", "pad_" + std::to_string(ElementBytes(inputs[0])), false));
    return fill_.bits != 0 ? tail_.Prepare(spec, outputs[0]) : Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = PlanesOf(outputs[0]).elements();
    PLUMB_RETURN_IF_ERROR(launcher_.Run({count}, outputs[0], inputs[0], table_, count, dims_, fill_));
    return tail_.Run(outputs[0]);
  }

 private:
  struct Fill {
    uint64_t bits = 0;
  };

  // The value's bits as the blob stores it.
  Status SetFill(float value, const DeviceTensor& blob) {
    PLUMB_ASSIGN_OR_RETURN(Tensor scalar, Tensor::Create(DType::kF32, {}));
    *scalar.data<float>() = value;
    const bool half = blob.dtype == DType::kF32 && FormOf(blob.layout).half;
    PLUMB_ASSIGN_OR_RETURN(const Tensor stored, scalar.ConvertedTo(half ? DType::kF16 : blob.dtype));
    std::memcpy(&fill_.bits, stored.raw(), stored.bytes());
    return Status::Ok();
  }

  bool blocked_ = false;
  PadDims dims_{};
  Array table_;
  Fill fill_;
  Launcher launcher_;
  TailZero tail_;
};

}  // namespace

const KernelFunctions kernel_pad = {PadKernel::Supports, MakeKernel<PadKernel>};

}  // namespace plumb::opencl
