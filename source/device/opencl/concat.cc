// SPDX-License-Identifier: Apache-2.0
// Concat in plain order or in channel blocks.
#include "op/concat.h"

#include "device/opencl/copy.h"
#include "device/opencl/kernel_list.h"
#include "device/opencl/queue.h"

namespace plumb::opencl {
namespace {

// Parts that are contiguous in the result (nothing but ones before the axis) ask to be computed in place; what the
// runtime does not grant is copied. Feature maps in blocks join along the channels when every part but the last fills
// its blocks.
class ConcatKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return NormalizeAxis(ParamOf<ConcatParam>(spec.layer()).axis, spec.outputs[0].shape.rank()).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(axis_, NormalizeAxis(ParamOf<ConcatParam>(spec.layer()).axis, spec.outputs[0].shape.rank()));
    const LayoutPtr layout = StoredLayout(spec, spec.outputs[0].dtype, JoinsBlocks(spec, arriving));
    choice->inputs.assign(arriving.size(), layout);
    choice->outputs = {layout};
    if (spec.outputs[0].shape.Count(0, axis_) != 1) return Status::Ok();
    size_t offset = 0;
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      choice->shares.push_back({ShareWish::kPart, 0, static_cast<int>(i), offset});
      offset += layout->Bytes(spec.inputs[i].dtype, spec.inputs[i].shape);
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    queue_ = &QueueOf(spec.device);
    rows_ = outputs[0].shape.Count(0, axis_);
    if (rows_ == 1) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(launcher_, LoadCopy(spec, outputs[0]));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t y_row = static_cast<int64_t>(outputs[0].bytes() / ElementBytes(outputs[0])) / rows_;
    int64_t first = 0;
    for (const DeviceTensor& input : inputs) {
      const int64_t row = static_cast<int64_t>(input.bytes() / ElementBytes(input)) / rows_;
      if (rows_ == 1) {
        DeviceTensor to = outputs[0];
        to.offset += static_cast<size_t>(first) * ElementBytes(to);
        PLUMB_RETURN_IF_ERROR(queue_->Copy(input, to, input.bytes()));
      } else {
        Walk walk;
        walk.dims = {rows_, row};
        walk.strides = {{row, 1}, {y_row, 1}};
        Copy copy = Copy::Of(walk);
        copy.y_first = first;
        PLUMB_RETURN_IF_ERROR(copy.Run(&launcher_, outputs[0], input));
      }
      first += row;
    }
    return Status::Ok();
  }

 private:
  bool JoinsBlocks(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving) const {
    if (axis_ != 1) return false;
    bool any = false;
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      any = any || IsBlocked(arriving[i]);
      if (spec.inputs[i].shape[1] % kBlock != 0 && i + 1 < spec.inputs.size()) return false;
    }
    return any;
  }

  int axis_ = 1;
  int64_t rows_ = 1;
  Queue* queue_ = nullptr;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_concat = {ConcatKernel::Supports, MakeKernel<ConcatKernel>};

}  // namespace plumb::opencl
