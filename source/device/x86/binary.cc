// Binary element-wise operators with broadcasting on the rows of simd/binary.def; f32, i32 and i64. The second
// operand may be the layer's constant. Two feature maps of equally many channels stay in channel blocks; everything
// else is computed in plain order.
#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "device/binary_operands.h"
#include "device/x86/blocked_layout.h"
#include "device/x86/kernel_list.h"
#include "simd/binary.h"

namespace plumb::x86 {
namespace {

using simd::BinaryOp;

constexpr int64_t kBinaryGrain = 16384;  // elements that are worth a second thread

struct NamedBinary {
  const char* type;
  BinaryOp op;
};

const NamedBinary kBinaryNamed[] = {
    {"Add", BinaryOp::kAdd},         {"Sub", BinaryOp::kSub},
    {"Mul", BinaryOp::kMul},         {"Div", BinaryOp::kDiv},
    {"Maximum", BinaryOp::kMaximum}, {"Minimum", BinaryOp::kMinimum},
    {"PlumbPow", BinaryOp::kPow},    {"SquaredDifference", BinaryOp::kSquaredDifference},
};

const NamedBinary* Find(const Layer& layer) {
  for (const NamedBinary& named : kBinaryNamed) {
    if (layer.type == named.type) return &named;
  }
  return nullptr;
}

class BinaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (Find(spec.layer()) == nullptr) return Status::NotSupported("'" + spec.layer().type + "' has no vector kernel");
    const DType dtype = spec.inputs[0].dtype;
    if (dtype != DType::kF32 && dtype != DType::kI32 && dtype != DType::kI64) {
      return Status::NotSupported(std::string("takes f32, i32 and i64, found ") + DTypeName(dtype));
    }
    PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
    for (const Shape& shape : operands.shape) {
      if (shape.rank() > simd::BroadcastPlan::kMaxRank - 1) return Status::NotSupported("takes at most 7 dims");
    }
    return Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
    blocked_ = StaysBlocked(spec, arriving, operands);
    const LayoutPtr layout = LayoutOf(blocked_ ? Format::kBlocked : Format::kPlain);
    choice->inputs.assign(arriving.size(), layout);
    choice->outputs = {layout};
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      if (spec.inputs[i].shape == spec.outputs[0].shape) {
        choice->shares.push_back({ShareWish::kOverwrite, 0, static_cast<int>(i)});
      }
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    op_ = Find(spec.layer());
    PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
    const int64_t block = blocked_ ? ChannelBlock() : 1;
    const auto a = MemoryDims(operands.shape[0], block), b = MemoryDims(operands.shape[1], block);
    plan_ = simd::PlanBroadcast(a.data(), static_cast<int>(a.size()), b.data(), static_cast<int>(b.size()));
    constant_ = operands.constant;
    if (constant_ < 0) return Status::Ok();
    element_ = operands.element;
    if (!blocked_ || element_.NumElements() == 1) return Status::Ok();
    const MapShape map = MapOf(operands.shape[constant_]);
    const int64_t image = map.ImageElements(Format::kBlocked, ChannelBlock());
    PLUMB_ASSIGN_OR_RETURN(element_, Tensor::Zeros(DType::kF32, {map.batch * image}));
    ToBlocked(map, ChannelBlock(), operands.element.data<float>(), map.channels * map.pixels, element_.data<float>(),
              image);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    switch (outputs[0].dtype) {
      case DType::kI32: RunAs<int32_t>(inputs, outputs[0]); break;
      case DType::kI64: RunAs<int64_t>(inputs, outputs[0]); break;
      default: RunAs<float>(inputs, outputs[0]); break;
    }
    ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

  std::string Detail() const override { return op_ == nullptr ? "" : simd::BinaryName(op_->op); }

 private:
  // Equal rank and channels, so that lane by lane the operands belong together, or one of them a single value.
  static bool StaysBlocked(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving,
                           const BinaryOperands& operands) {
    if (std::none_of(arriving.begin(), arriving.end(), IsBlocked)) return false;
    const Shape &a = operands.shape[0], &b = operands.shape[1];
    if (a.rank() != b.rank()) return false;
    return operands.has_single_constant() || a[1] == b[1];
  }

  template <class T>
  void RunAs(const std::vector<DeviceTensor>& inputs, const DeviceTensor& output) {
    const T* operand[2];
    size_t next = 0;
    for (int i = 0; i < 2; ++i) operand[i] = i == constant_ ? element_.data<T>() : inputs[next++].template host<T>();
    T* dst = output.host<T>();
    ParallelFor(plan_.size(), kBinaryGrain, [&](int64_t begin, int64_t end) {
      simd::Binary(op_->op, plan_, operand[0], operand[1], dst, begin, end);
    });
  }

  bool blocked_ = false;
  const NamedBinary* op_ = nullptr;
  simd::BroadcastPlan plan_;
  int constant_ = -1;
  Tensor element_;
};

}  // namespace

const KernelFunctions kernel_binary = {BinaryKernel::Supports, MakeKernel<BinaryKernel>};

}  // namespace plumb::x86
