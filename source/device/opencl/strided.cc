// Every operator that only moves elements (OpDef::map): Reshape, Permute, slices, Tile, Expand, PixelShuffle ... in
// plain order, and Concat. What is a contiguous piece of the input becomes a view: nothing is written where the runtime
// grants it. Feature maps in channel blocks stay so where an output is whole blocks of one image's channels, or the
// whole input.
#include "op/core/strided.h"

#include "device/opencl/kernel_list.h"
#include "device/opencl/queue.h"
#include "device/opencl/walk.h"
#include "device/shared/moved_elements.h"
#include "op/concat.h"
#include "op/reshape.h"

namespace plumb::opencl {
namespace {

// Walk of strided.cl.
struct CopyWalk {
  int rank;
  int dims[kMaxRank], x[kMaxRank], y[kMaxRank];
};

// One copy: where it begins and how both sides are walked.
struct Copy {
  CopyWalk walk{};
  int64_t count = 0, y_first = 0, x_first = 0;

  static Copy Of(const Walk& plan) {
    Copy copy;
    copy.count = plan.count();
    copy.walk.rank = static_cast<int>(plan.rank());
    PutDims(plan.dims, copy.walk.dims);
    PutDims(plan.strides[0], copy.walk.x);
    PutDims(plan.strides[1], copy.walk.y);
    return copy;
  }
};

Result<Launcher> LoadCopy(const KernelSpec& spec, const DeviceTensor& tensor) {
  return Launcher::Create(spec.device, "strided.cl", "copy_" + std::to_string(ElementBytes(tensor)), false);
}

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
        PLUMB_RETURN_IF_ERROR(
            launcher_.Run({copy.count}, outputs[i], inputs[0], copy.count, copy.y_first, copy.x_first, copy.walk));
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

// Reshape: the same elements under another shape.
class ViewKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (ParamOf<ReshapeParam>(spec.layer()).reshape_type == 0) return Status::Ok();
    return Status::NotSupported("reads its elements in NHWC order (reshape_type 1)");
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = StoredLayout(spec, spec.inputs[0].dtype);
    choice->outputs = {choice->inputs[0]};
    choice->shares = {{ShareWish::kView, 0, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    queue_ = &QueueOf(spec.device);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return queue_->Copy(inputs[0], outputs[0], outputs[0].bytes());
  }

 private:
  Queue* queue_ = nullptr;
};

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
        const Copy copy = Copy::Of(walk);
        PLUMB_RETURN_IF_ERROR(launcher_.Run({copy.count}, outputs[0], input, copy.count, first, int64_t{0}, copy.walk));
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

const KernelFunctions kernel_strided = {StridedKernel::Supports, MakeKernel<StridedKernel>};
const KernelFunctions kernel_view = {ViewKernel::Supports, MakeKernel<ViewKernel>};
const KernelFunctions kernel_concat = {ConcatKernel::Supports, MakeKernel<ConcatKernel>};

}  // namespace plumb::opencl
