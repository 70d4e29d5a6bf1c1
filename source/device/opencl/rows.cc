// Operators over one axis in plain order: Softmax, LogSoftmax, Normalize, ArgMaxOrMin, and the normalisations by mean
// and variance.
#include "device/opencl/constant.h"
#include "device/opencl/kernel_list.h"
#include "device/opencl/row_items.h"
#include "device/shared/axis_view.h"
#include "op/arg_max.h"
#include "op/norm.h"
#include "op/normalize.h"
#include "op/softmax.h"

namespace plumb::opencl {
namespace {

int64_t ItemsOf(const AxisView& view, Device* device) { return RowItems(device, view.rows(), view.n, view.inner == 1); }

class SoftmaxKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(spec.layer()).axis, shape.rank()));
    view_ = AxisView::Over(shape, axis, axis + 1);
    items_ = ItemsOf(view_, spec.device);
    const bool log = spec.layer().kind == OpKind::kLogSoftmax;
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "rows.cl", RowKernelName(log ? "log_softmax" : "softmax", items_)));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return launcher_.Run({view_.rows() * items_}, outputs[0], inputs[0], view_.outer, view_.n, view_.inner);
  }

 private:
  AxisView view_;
  int64_t items_ = 1;  // of a row
  Launcher launcher_;
};

class NormalizeKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return KindOf(spec).status();
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<NormalizeParam>(spec.layer());
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
    PLUMB_ASSIGN_OR_RETURN(kind_, KindOf(spec));
    view_ = AxisView::Over(shape, axis, p.across_spatial != 0 ? shape.rank() : axis + 1);
    epsilon_ = p.epsilon;
    items_ = ItemsOf(view_, spec.device);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "rows.cl", RowKernelName("normalize_rows", items_)));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return launcher_.Run({view_.rows() * items_}, outputs[0], inputs[0], view_.outer, view_.n, view_.inner, kind_,
                         epsilon_);
  }

 private:
  static Result<int> KindOf(const KernelSpec& spec) {
    const int p = ParamOf<NormalizeParam>(spec.layer()).p;
    if (p == 1 || p == 2) return p - 1;
    if (p == INT_MAX) return 2;
    if (p == INT_MIN) return 3;
    return Status::NotSupported("knows no norm of p = " + std::to_string(p));
  }
  int kind_ = 0;
  float epsilon_ = 0;
  AxisView view_;
  int64_t items_ = 1;  // of a row
  Launcher launcher_;
};

// gamma and beta are f32, whatever the blobs' storage.
class NormKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ResolveNorm(spec.layer(), spec.inputs[0].shape).status();
  }
  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), PlainLayout());
    choice->inputs[0] = StoredLayout(spec, DType::kF32);
    choice->outputs = {choice->inputs[0]};
    return Status::Ok();
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(shape_, ResolveNorm(spec.layer(), spec.inputs[0].shape));
    gamma_ = beta_ = NoTensor(spec.device);
    items_ = RowItems(spec.device, shape_.rows, shape_.n, true);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "rows.cl", RowKernelName("norm_rows", items_)));
    has_ = (spec.inputs.size() > 1 ? 1 : 0) + (spec.inputs.size() > 2 ? 2 : 0);
    if (spec.layer().kind != OpKind::kInstBatchNormCxx) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(Take(spec, "scale", 1, &gamma_));
    return Take(spec, "bias", 2, &beta_);
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const DeviceTensor& gamma = inputs.size() > 1 ? inputs[1] : gamma_;
    const DeviceTensor& beta = inputs.size() > 2 ? inputs[2] : beta_;
    return launcher_.Run({shape_.rows * items_}, outputs[0], inputs[0], gamma, beta, shape_.rows, shape_.n,
                         shape_.groups, shape_.per_row, shape_.inner, static_cast<float>(shape_.eps), has_);
  }

 private:
  Status Take(const KernelSpec& spec, const char* slot, int flag, DeviceTensor* tensor) {
    const Tensor* resource = spec.layer().Resource(slot);
    if (resource == nullptr) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const Tensor f32, resource->ConvertedTo(DType::kF32));
    PLUMB_ASSIGN_OR_RETURN(*tensor, UploadConstant(spec.device, f32, PlainLayout()));
    has_ |= flag;
    return Status::Ok();
  }
  NormShape shape_;
  int has_ = 0;
  int64_t items_ = 1;  // of a row
  DeviceTensor gamma_, beta_;
  Launcher launcher_;
};

class ArgMaxKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
    return Status::NotSupported(std::string("takes f32, i32 and i64, found ") + DTypeName(dtype));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<ArgMaxParam>(spec.layer());
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
    view_ = AxisView::Over(shape, axis, axis + 1);
    smallest_ = p.mode != 1;
    last_ = p.select_last_index;
    const DType dtype = spec.inputs[0].dtype;
    items_ = ItemsOf(view_, spec.device);
    const char* name = dtype == DType::kI32 ? "arg_int" : dtype == DType::kI64 ? "arg_long" : "arg_float";
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "rows.cl", RowKernelName(name, items_)));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return launcher_.Run({view_.rows() * items_}, outputs[0], inputs[0], view_.outer, view_.n, view_.inner, smallest_,
                         last_);
  }

 private:
  AxisView view_;
  int64_t items_ = 1;  // of a row
  int smallest_ = 0, last_ = 0;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_softmax = {SoftmaxKernel::Supports, MakeKernel<SoftmaxKernel>};
const KernelFunctions kernel_normalize = {NormalizeKernel::Supports, MakeKernel<NormalizeKernel>};
const KernelFunctions kernel_norm = {NormKernel::Supports, MakeKernel<NormKernel>};
const KernelFunctions kernel_arg_max = {ArgMaxKernel::Supports, MakeKernel<ArgMaxKernel>};

}  // namespace plumb::opencl
