// SPDX-License-Identifier: Apache-2.0
// Where in plain order, for conditions of bool, i32 and i64.
#include "device/cpu/broadcast_rows.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

using WhereRows = BroadcastRows<3>;

template <class T, class C>
void PickRows(const WhereRows& rows, const std::vector<DeviceTensor>& inputs, const DeviceTensor& output) {
  const T* x = inputs[0].host<T>();
  const T* y = inputs[1].host<T>();
  const C* condition = inputs[2].host<C>();
  T* out = output.host<T>();
  rows.ForEach([&](int64_t at, const WhereRows::Offsets& from, const WhereRows::Offsets& step, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const bool first = condition[from[2] + i * step[2]] != C(0);
      out[at + i] = first ? x[from[0] + i * step[0]] : y[from[1] + i * step[1]];
    }
  });
}

template <class C>
void PickBySize(const WhereRows& rows, const std::vector<DeviceTensor>& inputs, const DeviceTensor& output) {
  switch (DTypeSize(output.dtype)) {
    case 1: return PickRows<uint8_t, C>(rows, inputs, output);
    case 2: return PickRows<uint16_t, C>(rows, inputs, output);
    case 4: return PickRows<uint32_t, C>(rows, inputs, output);
    default: return PickRows<uint64_t, C>(rows, inputs, output);
  }
}

class WhereKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[2].dtype;
    if (dtype == DType::kBool || dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
    return Status::NotSupported(std::string("needs a condition of bool, i32 or i64, got ") + DTypeName(dtype));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    rows_ = WhereRows({inputs[0].shape, inputs[1].shape, inputs[2].shape}, outputs[0].shape);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    switch (DTypeSize(inputs[2].dtype)) {
      case 1: PickBySize<uint8_t>(rows_, inputs, outputs[0]); break;
      case 4: PickBySize<uint32_t>(rows_, inputs, outputs[0]); break;
      default: PickBySize<uint64_t>(rows_, inputs, outputs[0]); break;
    }
    return Status::Ok();
  }

 private:
  WhereRows rows_;
};

}  // namespace

const KernelFunctions kernel_where = {WhereKernel::Supports, MakeKernel<WhereKernel>};

}  // namespace plumb::cpu
