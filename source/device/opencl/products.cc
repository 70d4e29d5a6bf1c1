// Sums of products in plain order, for every shape: Convolution, Deconvolution, InnerProduct, MatMul. Convolutions in
// channel blocks stand in front of these in kernel_list.def.
#include "device/opencl/constant.h"
#include "device/opencl/conv_arg.h"
#include "op/inner_product.h"
#include "op/matmul.h"

namespace plumb::opencl {
namespace {

class ConvolutionPlainKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ConvGroup::Of(spec).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_RETURN_IF_ERROR(ClKernel::ChooseLayouts(spec, arriving, choice));
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    group.WishForAddend(spec, choice);
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(spec.layer(), group.shape, group.strides(), group.fused.affine));
    PLUMB_ASSIGN_OR_RETURN(weight_, UploadArray(spec.device, folded.weight.raw(), folded.weight.bytes()));
    if (!folded.bias.empty()) {
      PLUMB_ASSIGN_OR_RETURN(bias_, UploadArray(spec.device, folded.bias.raw(), folded.bias.bytes()));
    }
    conv_ = ConvArg(group.shape);
    epilogue_ = EpilogueArg(group.fused.epilogue);
    addend_ = group.addend;
    flags_ = (folded.bias.empty() ? 0 : 1) + (addend_ >= 0 ? 2 : 0);
    PLUMB_ASSIGN_OR_RETURN(launcher_,
                           Load(spec, "products.cl", group.transposed ? "deconvolution_plain" : "convolution_plain"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const DeviceTensor& addend = inputs[static_cast<size_t>(addend_ < 0 ? 0 : addend_)];
    return launcher_.Run({outputs[0].shape.NumElements()}, outputs[0], inputs[0], addend, weight_, bias_, flags_, conv_,
                         epilogue_);
  }

 private:
  ConvArg conv_;
  EpilogueArg epilogue_;
  int addend_ = -1, flags_ = 0;
  Array weight_, bias_;
  Launcher launcher_;
};

class InnerProductKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ReadGroup(spec.group.members, *spec.blobs).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    // One pixel per channel and whole blocks: the same bytes in both forms, so it is taken as it comes.
    const Planes p = PlanesOf(spec.inputs[0].shape, true);
    const bool same = p.pixels == 1 && (p.batch == 1 || p.channels % kBlock == 0);
    choice->inputs = {StoredLayout(spec, DType::kF32, same && IsBlocked(arriving[0]))};
    choice->outputs = {StoredLayout(spec, DType::kF32)};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& param = ParamOf<InnerProductParam>(spec.layer());
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, spec.inputs[0].shape.rank()));
    rows_ = spec.inputs[0].shape.Count(0, axis);
    k_ = spec.inputs[0].shape.CountFrom(axis);
    outputs_ = param.num_output;
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    ConvolutionShape as_conv;  // the same folding: outputs are channels, one pixel
    as_conv.in_channels = k_;
    as_conv.out_channels = outputs_;
    as_conv.bias = spec.layer().Resource("bias") != nullptr;
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(spec.layer(), as_conv, {0, k_, 1}, group.affine));
    PLUMB_ASSIGN_OR_RETURN(weight_, UploadArray(spec.device, folded.weight.raw(), folded.weight.bytes()));
    flags_ = folded.bias.empty() ? 0 : 1;
    if (flags_ != 0) {
      PLUMB_ASSIGN_OR_RETURN(bias_, UploadArray(spec.device, folded.bias.raw(), folded.bias.bytes()));
    }
    epilogue_ = EpilogueArg(group.epilogue);
    cpu_ = Launcher::CpuShapes(spec.device);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "products.cl", cpu_ ? "inner_product" : "inner_product_gpu"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t items = cpu_ ? 1 : kLinearGroup;  // of an output
    return launcher_.Run({rows_ * outputs_ * items}, outputs[0], inputs[0], weight_, bias_, rows_, k_, outputs_, flags_,
                         epilogue_);
  }

 private:
  bool cpu_ = false;
  int64_t rows_ = 1, k_ = 1, outputs_ = 1;
  int flags_ = 0;
  EpilogueArg epilogue_;
  Array weight_, bias_;
  Launcher launcher_;
};

// Several outputs per item (matmul.cl).
class MatMulKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ShapeOf(spec).status();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(shape_, ShapeOf(spec));
    if (spec.inputs.size() == 1) {
      constant_ = ParamOf<MatMulParam>(spec.layer()).weight_position;
      PLUMB_ASSIGN_OR_RETURN(const Tensor weight, F32Resource(spec.layer(), "weight"));
      PLUMB_ASSIGN_OR_RETURN(weight_, UploadConstant(spec.device, weight, PlainLayout()));
    }
    std::vector<int> matrices;
    for (size_t b = 0; b < shape_.first_matrix.size(); ++b) {
      matrices.push_back(static_cast<int>(shape_.first_matrix[b]));
      matrices.push_back(static_cast<int>(shape_.second_matrix[b]));
    }
    PLUMB_ASSIGN_OR_RETURN(matrices_, UploadArray(spec.device, matrices));
    cpu_ = Launcher::CpuShapes(spec.device);
    // A constant is f32, whatever the blobs' storage: a variant of its own.
    const std::string constant = !Half(spec) || constant_ < 0 ? "" : constant_ == 0 ? "_first_f32" : "_second_f32";
    PLUMB_ASSIGN_OR_RETURN(launcher_,
                           Load(spec, "matmul.cl", std::string(cpu_ ? "matmul_cpu" : "matmul_gpu") + constant));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const DeviceTensor& first = constant_ == 0 ? weight_ : inputs[0];
    const DeviceTensor& second = constant_ == 1 ? weight_ : inputs.back();
    const auto count = static_cast<int64_t>(shape_.first_matrix.size());
    // The tile of an item, or of a work-group.
    const int64_t height = cpu_ ? 6 : 64, width = cpu_ ? 16 : 32, items = cpu_ ? 1 : kLinearGroup;
    const Extent tiles{(shape_.n + width - 1) / width * items, (shape_.m + height - 1) / height, count};
    return launcher_.Run(tiles, outputs[0], first, second, matrices_, count, shape_.m, shape_.k, shape_.n);
  }

 private:
  static Result<MatMulShape> ShapeOf(const KernelSpec& spec) {
    std::vector<Shape> shapes;
    for (const BlobInfo& input : spec.inputs) shapes.push_back(input.shape);
    PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(spec.layer(), shapes));
    return ResolveMatMul(operands.first, operands.second);
  }

  bool cpu_ = false;
  MatMulShape shape_;
  int constant_ = -1;
  DeviceTensor weight_;
  Array matrices_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_convolution_plain = {ConvolutionPlainKernel::Supports, MakeKernel<ConvolutionPlainKernel>};
const KernelFunctions kernel_inner_product = {InnerProductKernel::Supports, MakeKernel<InnerProductKernel>};
const KernelFunctions kernel_matmul = {MatMulKernel::Supports, MakeKernel<MatMulKernel>};

}  // namespace plumb::opencl
