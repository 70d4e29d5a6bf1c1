// SPDX-License-Identifier: Apache-2.0
// Every operator that only moves elements (OpDef::map): Permute, slices, Tile, Expand, PixelShuffle ... in plain order.
// What is a contiguous piece of the input becomes a view: nothing is written where the runtime grants it. Feature maps
// in channel blocks stay so where an output is whole blocks of one image's channels, or the whole input.
#include "op/core/strided.h"

#include "device/opencl/copy.h"
#include "device/opencl/kernel_list.h"
#include "device/opencl/queue.h"
#include "device/shared/moved_elements.h"

namespace plumb::opencl {
namespace {

Walk WalkOfStrided(const StridedMap& map) {
  Walk walk;
  walk.dims = map.dims;
  walk.strides = {map.strides, DenseStrides(Shape(map.dims))};
  walk.Simplify();
  return walk;
}

class StridedKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const StridedMap map, MapOfOutput(spec, i));
      PLUMB_RETURN_IF_ERROR(CheckRank(WalkOfStrided(map)));
    }
    return Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    bool blocked = IsBlocked(arriving[0]);
    if (blocked) {
      PLUMB_ASSIGN_OR_RETURN(blocked, MovesWholeBlocks(spec, kBlock));
    }
    const LayoutPtr layout = StoredLayout(spec, spec.inputs[0].dtype, blocked);
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = layout;
    choice->outputs.assign(spec.outputs.size(), layout);
    const size_t element = layout->Bytes(spec.inputs[0].dtype, Shape{1, kBlock}) / kBlock;
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const StridedMap map, MapOfOutput(spec, i));
      const size_t offset = static_cast<size_t>(map.offset) * element;
      if (map.Contiguous()) choice->shares.push_back({ShareWish::kView, static_cast<int>(i), 0, offset});
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    queue_ = &QueueOf(spec.device);
    bool walks = false;
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const StridedMap map, MapOfOutput(spec, i));
      copies_.push_back(Copy::Of(WalkOfStrided(map)));
      copies_.back().x_first = map.offset;
      contiguous_.push_back(map.Contiguous());
      walks = walks || !map.Contiguous();
    }
    if (!walks) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(launcher_, LoadCopy(spec, inputs[0]));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Copy& copy = copies_[i];
      if (contiguous_[i]) {
        DeviceTensor from = inputs[0];
        from.offset += static_cast<size_t>(copy.x_first) * ElementBytes(inputs[0]);
        PLUMB_RETURN_IF_ERROR(queue_->Copy(from, outputs[i], outputs[i].bytes()));
      } else {
        PLUMB_RETURN_IF_ERROR(copy.Run(&launcher_, outputs[i], inputs[0]));
      }
    }
    return Status::Ok();
  }

 private:
  Queue* queue_ = nullptr;
  std::vector<Copy> copies_;
  std::vector<bool> contiguous_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_strided = {StridedKernel::Supports, MakeKernel<StridedKernel>};

}  // namespace plumb::opencl
