// SPDX-License-Identifier: Apache-2.0
// InnerProduct with an activation behind it, with packed weights. One row of input: split by outputs, whose
// weights are contiguous; several rows: split by rows, all threads reading the same weights.
#include "op/inner_product.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "device/shared/fused_tail.h"

namespace plumb::cpu {
namespace {

class InnerProductKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ReadGroup(spec.group.members, *spec.blobs).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    // A blob of one pixel per channel has the same bytes in both layouts: take it as it comes.
    choice->inputs = {SameBytes(spec.inputs[0].shape) ? nullptr : PlainLayout()};
    choice->outputs = {PlainLayout()};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& param = ParamOf<InnerProductParam>(spec.layer());
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, spec.inputs[0].shape.rank()));
    rows_ = spec.inputs[0].shape.Count(0, axis);
    inputs_ = spec.inputs[0].shape.CountFrom(axis);
    outputs_ = param.num_output;
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(Tensor weight, F32Resource(spec.layer(), "weight"));
    Tensor bias;
    if (spec.layer().Resource("bias") != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(bias, F32Resource(spec.layer(), "bias"));
    }
    if (!group.affine.empty()) PLUMB_RETURN_IF_ERROR(Fold(group.affine, &weight, &bias));
    const float* bias_data = bias.empty() ? nullptr : bias.data<float>();
    return rows_ == 1 ? PrepareByOutput(weight.data<float>(), bias_data, group.epilogue)
                      : PrepareByRow(weight.data<float>(), bias_data, group.epilogue);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    const int count = static_cast<int>(parts_.size());
    ParallelRegion(count, [&](int thread, int threads) {
      for (int i = thread; i < count; i += threads) {
        Part& part = parts_[static_cast<size_t>(i)];
        part.op->Run(src + part.src_offset, dst + part.dst_offset);
      }
    });
    return Status::Ok();
  }

  bool ReadsResources() const override { return false; }
  std::string Detail() const override { return parts_.empty() ? "" : parts_.front().op->implementation(); }

 private:
  struct Part {
    ProductPtr op;
    int64_t src_offset, dst_offset;
  };

  // Takes the scales and shifts behind the product into its weights and bias.
  Status Fold(const ChannelAffine& affine, Tensor* weight, Tensor* bias) const {
    PLUMB_ASSIGN_OR_RETURN(*weight, weight->Clone());
    PLUMB_ASSIGN_OR_RETURN(Tensor folded, Tensor::Zeros(DType::kF32, {outputs_}));
    for (int64_t o = 0; o < outputs_; ++o) {
      const double scale = affine.scale[static_cast<size_t>(o)], shift = affine.shift[static_cast<size_t>(o)];
      const double old = bias->empty() ? 0.0 : static_cast<double>(bias->data<float>()[o]);
      folded.data<float>()[o] = static_cast<float>(old * scale + shift);
      float* row = weight->data<float>() + o * inputs_;
      for (int64_t i = 0; i < inputs_; ++i) row[i] = static_cast<float>(row[i] * scale);
    }
    *bias = folded;
    return Status::Ok();
  }

  int Threads() const { return ThreadsFor(rows_ * inputs_ * outputs_, NumThreads()); }

  Status PrepareByOutput(const float* weight, const float* bias, const Epilogue& epilogue) {
    const int64_t count = std::max<int64_t>(1, std::min<int64_t>(Threads(), outputs_ / 64));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = outputs_ * i / count, last = outputs_ * (i + 1) / count;
      PLUMB_ASSIGN_OR_RETURN(ProductPtr op, MakeInnerProduct(1, inputs_, last - first, weight + first * inputs_,
                                                             bias ? bias + first : nullptr, epilogue));
      parts_.push_back({std::move(op), 0, first});
    }
    return Status::Ok();
  }

  Status PrepareByRow(const float* weight, const float* bias, const Epilogue& epilogue) {
    const int64_t count = std::max<int64_t>(1, std::min<int64_t>(Threads(), rows_));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = rows_ * i / count, last = rows_ * (i + 1) / count;
      PLUMB_ASSIGN_OR_RETURN(ProductPtr op, MakeInnerProduct(last - first, inputs_, outputs_, weight, bias, epilogue));
      parts_.push_back({std::move(op), first * inputs_, first * outputs_});
    }
    return Status::Ok();
  }

  int64_t rows_ = 1, inputs_ = 0, outputs_ = 0;
  std::vector<Part> parts_;
};

}  // namespace

const KernelFunctions kernel_inner_product = {InnerProductKernel::Supports, MakeKernel<InnerProductKernel>};

}  // namespace plumb::cpu
