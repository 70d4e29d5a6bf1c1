// Element-wise operators of one input: the rows of device/simd/unary_*.def, in the layout in which the blob arrives.
#include "device/simd/unary.h"

#include "base/threads.h"
#include "device/x86/blocked_layout.h"
#include "device/x86/kernel_list.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kGrain = 16384;  // elements that are worth a second thread

struct Choice {
  simd::UnaryOp op;
  simd::UnaryParams params;
};

Result<Choice> ChoiceOf(const Layer& layer) {
  Choice choice{simd::UnaryOp::kRelu, {}};
  if (layer.type == "ReLU") return choice;
  return Status::NotSupported("no vector kernel is named for '" + layer.type + "'");
}

class UnaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ChoiceOf(spec.layer()).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs = {arriving[0]};
    choice->outputs = {arriving[0]};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(choice_, ChoiceOf(spec.layer()));
    float zero = 0;
    simd::Unary(choice_.op, choice_.params, &zero, &zero, 1);
    keeps_zero_ = zero == 0;
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    ParallelFor(static_cast<int64_t>(outputs[0].bytes() / sizeof(float)), kGrain, [&](int64_t begin, int64_t end) {
      simd::Unary(choice_.op, choice_.params, src + begin, dst + begin, static_cast<size_t>(end - begin));
    });
    if (!keeps_zero_) ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

  std::string Detail() const override { return simd::UnaryName(choice_.op); }

 private:
  Choice choice_{simd::UnaryOp::kRelu, {}};
  bool keeps_zero_ = true;
};

}  // namespace

const KernelFunctions kernel_unary = {UnaryKernel::Supports, MakeKernel<UnaryKernel>};

}  // namespace plumb::x86
