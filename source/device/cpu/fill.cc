// SPDX-License-Identifier: Apache-2.0
// Values that are known before the network runs (device/shared/fill.h): made once, when the kernel is prepared, and
// copied at each Forward.
#include "device/shared/fill.h"

#include <cstring>

#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

class FillKernel : public Kernel {
 public:
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(made_, MakeFill(spec));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>& outputs) override {
    for (size_t i = 0; i < made_.size(); ++i) std::memcpy(outputs[i].host<char>(), made_[i].raw(), made_[i].bytes());
    return Status::Ok();
  }

 private:
  std::vector<Tensor> made_;
};

}  // namespace

const KernelFunctions kernel_fill = {SupportsFill, MakeKernel<FillKernel>};

}  // namespace plumb::cpu
