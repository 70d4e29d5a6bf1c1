// SPDX-License-Identifier: Apache-2.0
// Binary element-wise operators with broadcasting: f32 on the rows of simd/binary.def, f64, i32 and
// i64 on op/binary.def's expressions. The second operand may be the layer's constant. Two feature maps of
// equally many channels stay in channel blocks; everything else is computed in plain order.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/double_functions.h"
#include "device/cpu/kernel_list.h"
#include "device/shared/binary_operands.h"
#include "op/core/whole_numbers.h"
#include "simd/broadcast.h"

namespace plumb::cpu {
namespace {

using simd::BinaryOp;

constexpr int64_t kBinaryGrain = 16384;  // elements that are worth a second thread

// NotSupported for what device/cpu/binary_scalar.cc computes.
Result<BinaryOp> VectorBinaryOf(const Layer& layer) {
  switch (layer.kind) {
#define PLUMB_BINARY_binary(name) \
  case OpKind::k##name:           \
    return BinaryOp::k##name;
#define PLUMB_BINARY_scalar_binary(name)
#define PLUMB_BINARY(name, min_inputs, fill, cpu, ...) PLUMB_BINARY_##cpu(name)
#include "op/binary.def"
#undef PLUMB_BINARY
#undef PLUMB_BINARY_scalar_binary
#undef PLUMB_BINARY_binary
    default: return Status::NotSupported(fmt::format("'{}' has no vector kernel", layer.type));
  }
}

// The operator as a kernel's detail names it: without the prefix of types that are ours.
std::string ShownBinary(const std::string& type) { return type.substr(type.rfind("Plumb", 0) == 0 ? 5 : 0); }

class BinaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(VectorBinaryOf(spec.layer()).status());
    const DType dtype = spec.inputs[0].dtype;
    if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kI32 && dtype != DType::kI64) {
      return Status::NotSupported(std::string("takes f32, f64, i32 and i64, found ") + DTypeName(dtype));
    }
    PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
    for (const Shape& shape : operands.shape) {
      if (shape.rank() > simd::BroadcastPlan::kMaxRank - 1) return Status::NotSupported("takes at most 7 dims");
    }
    return Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const BinaryOperands operands, BinaryOperandsOf(spec));
    blocked_ = std::any_of(arriving.begin(), arriving.end(), IsBlocked) && operands.FitsBlocks();
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
    kind_ = spec.layer().kind;
    detail_ = ShownBinary(spec.layer().type);
    PLUMB_ASSIGN_OR_RETURN(op_, VectorBinaryOf(spec.layer()));
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
      case DType::kF64: RunEach<double>(inputs, outputs[0], real::BinaryFunctionOf(kind_)); break;
      case DType::kI32: RunWhole<int32_t>(inputs, outputs[0]); break;
      case DType::kI64: RunWhole<int64_t>(inputs, outputs[0]); break;
      default: RunFloat(inputs, outputs[0]); break;
    }
    ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

  std::string Detail() const override { return detail_; }

 private:
  template <class T>
  std::array<const T*, 2> Operands(const std::vector<DeviceTensor>& inputs) const {
    std::array<const T*, 2> operand{};
    size_t next = 0;
    for (int i = 0; i < 2; ++i) {
      operand[static_cast<size_t>(i)] = i == constant_ ? element_.data<T>() : inputs[next++].template host<T>();
    }
    return operand;
  }

  void RunFloat(const std::vector<DeviceTensor>& inputs, const DeviceTensor& output) {
    const auto operand = Operands<float>(inputs);
    float* dst = output.host<float>();
    ParallelFor(plan_.size(), kBinaryGrain,
                [&](int64_t begin, int64_t end) { simd::Binary(op_, plan_, operand[0], operand[1], dst, begin, end); });
  }

  template <class T>
  void RunWhole(const std::vector<DeviceTensor>& inputs, const DeviceTensor& output) {
    whole::WithBinary<T>(kind_, [&](auto f) { RunEach<T>(inputs, output, f); });
  }

  template <class T, class F>
  void RunEach(const std::vector<DeviceTensor>& inputs, const DeviceTensor& output, F f) {
    const auto operand = Operands<T>(inputs);
    T* dst = output.host<T>();
    const auto row = [&](int64_t a, int64_t b, int64_t at, int64_t count) {
      const T *left = operand[0] + a, *right = operand[1] + b;
      T* y = dst + at;
      if (plan_.a_step == 0) {  // steps are 0 or 1: loops that the compiler may turn into vectors
        for (int64_t i = 0; i < count; ++i) y[i] = f(*left, right[i * plan_.b_step]);
      } else if (plan_.b_step == 0) {
        const T value = *right;
        for (int64_t i = 0; i < count; ++i) y[i] = f(left[i], value);
      } else {
        for (int64_t i = 0; i < count; ++i) y[i] = f(left[i], right[i]);
      }
    };
    ParallelFor(plan_.size(), kBinaryGrain,
                [&](int64_t begin, int64_t end) { simd::ForEachBroadcastRow(plan_, begin, end, row); });
  }

  bool blocked_ = false;
  OpKind kind_{};
  BinaryOp op_ = BinaryOp::kAdd;
  std::string detail_;
  simd::BroadcastPlan plan_;
  int constant_ = -1;
  Tensor element_;
};

}  // namespace

const KernelFunctions kernel_binary = {BinaryKernel::Supports, MakeKernel<BinaryKernel>};

}  // namespace plumb::cpu
