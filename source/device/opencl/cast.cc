// Cast, PlumbCast between all dtypes, and blobs that are made from known values (ConstantOfShape, Range), in plain order.
#include "op/cast.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "device/opencl/constant.h"
#include "device/opencl/kernel_list.h"
#include "device/opencl/queue.h"
#include "op/fill.h"

namespace plumb::opencl {
namespace {

class CastKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(CastTarget(spec.layer()).status());
    if (spec.inputs[0].dtype == spec.outputs[0].dtype) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(RequireF64(spec.device, spec.inputs[0].dtype));
    return RequireF64(spec.device, spec.outputs[0].dtype);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_RETURN_IF_ERROR(ClKernel::ChooseLayouts(spec, arriving, choice));
    copies_ = spec.inputs[0].dtype == spec.outputs[0].dtype;
    if (copies_) choice->shares.push_back({ShareWish::kView, 0, 0, 0});
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    queue_ = &QueueOf(spec.device);
    if (copies_) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "cast.cl", "cast_any"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (copies_) return queue_->Copy(inputs[0], outputs[0], outputs[0].bytes());
    const int64_t count = outputs[0].shape.NumElements();
    return launcher_.Run({count}, outputs[0], inputs[0], count, static_cast<int>(outputs[0].dtype), static_cast<int>(inputs[0].dtype));
  }

 private:
  bool copies_ = false;
  Queue* queue_ = nullptr;
  Launcher launcher_;
};

// Whole numbers wrap around.
template <class T>
void FillRange(const Tensor& start, const Tensor& delta, Tensor* made) {
  using U = std::make_unsigned_t<T>;
  U at = static_cast<U>(*start.data<T>());
  for (int64_t i = 0; i < made->NumElements(); ++i, at += static_cast<U>(*delta.data<T>())) made->data<T>()[i] = static_cast<T>(at);
}

Result<Tensor> Make(const KernelSpec& spec) {
  const BlobInfo& out = spec.outputs[0];
  PLUMB_ASSIGN_OR_RETURN(Tensor made, Tensor::Create(out.dtype, out.shape));
  if (spec.layer().kind == OpKind::kConstantOfShape) {
    const Tensor* value = spec.layer().Resource("value");
    if (value == nullptr) return Status::CorruptModel("the value is missing");
    const size_t size = DTypeSize(out.dtype);
    char* to = static_cast<char*>(made.raw());
    for (int64_t i = 0; i < made.NumElements(); ++i, to += size) std::memcpy(to, value->raw(), size);
    return made;
  }
  const Tensor &start = spec.inputs[0].value, &delta = spec.inputs[2].value;
  if (out.dtype == DType::kI32) {
    FillRange<int32_t>(start, delta, &made);
  } else if (out.dtype == DType::kI64) {
    FillRange<int64_t>(start, delta, &made);
  } else {
    const float first = *start.data<float>(), step = *delta.data<float>();
    for (int64_t i = 0; i < made.NumElements(); ++i) made.data<float>()[i] = std::fma(static_cast<float>(i), step, first);
  }
  return made;
}

// Made once, when the kernel is prepared, and copied at each Forward.
class FillKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.outputs[0].dtype;
    if (spec.layer().kind == OpKind::kConstantOfShape || dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64) {
      return Status::Ok();
    }
    return Status::NotSupported(std::string("ranges of ") + DTypeName(dtype) + " have no kernel");
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>& outputs) override {
    queue_ = &QueueOf(spec.device);
    PLUMB_ASSIGN_OR_RETURN(const Tensor made, Make(spec));
    PLUMB_ASSIGN_OR_RETURN(made_, UploadConstant(spec.device, made, outputs[0].layout));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>& outputs) override {
    return queue_->Copy(made_, outputs[0], outputs[0].bytes());
  }

 private:
  Queue* queue_ = nullptr;
  DeviceTensor made_;
};

}  // namespace

const KernelFunctions kernel_cast = {CastKernel::Supports, MakeKernel<CastKernel>};
const KernelFunctions kernel_fill = {FillKernel::Supports, MakeKernel<FillKernel>};

}  // namespace plumb::opencl
