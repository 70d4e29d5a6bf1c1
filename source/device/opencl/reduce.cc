// SPDX-License-Identifier: Apache-2.0
// Reductions of f32 and, for some, of i32 and i64, in plain order.
#include "op/reduce.h"

#include <fmt/core.h>

#include "device/opencl/kernel_list.h"
#include "device/opencl/row_items.h"
#include "device/opencl/walk.h"

namespace plumb::opencl {
namespace {

// Terms of reduce.cl.
struct Terms {
  int rank, term_rank, terms;
  int dims[kMaxRank], strides[kMaxRank], term_dims[kMaxRank], term_strides[kMaxRank];
};

struct Walks {
  Walk outputs, terms;
};

Result<Walks> WalksOf(const KernelSpec& spec) {
  const Shape& shape = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> reduced,
                         ReducedDims(ParamOf<ReduceParam>(spec.layer()), shape.rank()));
  Walks walks;
  walks.outputs.strides.resize(1);
  walks.terms.strides.resize(1);
  for (int d = 0; d < shape.rank(); ++d) {
    Walk& walk = reduced[static_cast<size_t>(d)] ? walks.terms : walks.outputs;
    walk.dims.push_back(shape[d]);
    walk.strides[0].push_back(shape.CountFrom(d + 1));
  }
  walks.outputs.Simplify();
  walks.terms.Simplify();
  PLUMB_RETURN_IF_ERROR(CheckRank(walks.outputs));
  PLUMB_RETURN_IF_ERROR(CheckRank(walks.terms));
  return walks;
}

class ReduceKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kI32 || dtype == DType::kI64) {
      if (!ReducesWhole(spec.layer().kind)) {
        return Status::NotSupported(fmt::format("'{}' of whole numbers has no kernel", spec.layer().type));
      }
    } else {
      PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    }
    return WalksOf(spec).status();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const Walks walks, WalksOf(spec));
    terms_.rank = static_cast<int>(walks.outputs.rank());
    terms_.term_rank = static_cast<int>(walks.terms.rank());
    terms_.terms = static_cast<int>(walks.terms.count());
    PutDims(walks.outputs.dims, terms_.dims);
    PutDims(walks.outputs.strides[0], terms_.strides);
    PutDims(walks.terms.dims, terms_.term_dims);
    PutDims(walks.terms.strides[0], terms_.term_strides);
    const DType dtype = spec.inputs[0].dtype;
    const char* suffix = dtype == DType::kI32 ? "_int" : dtype == DType::kI64 ? "_long" : "";
    const bool side_by_side = walks.terms.strides[0].back() <= 1;
    items_ = RowItems(spec.device, walks.outputs.count(), terms_.terms, side_by_side);
    const std::string name = RowKernelName(fmt::format("reduce_{}{}", spec.layer().type, suffix), items_);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "reduce.cl", name));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = outputs[0].shape.NumElements();
    return launcher_.Run({count * items_}, outputs[0], inputs[0], count, terms_);
  }

 private:
  Terms terms_{};
  int64_t items_ = 1;  // of an output
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_reduce = {ReduceKernel::Supports, MakeKernel<ReduceKernel>};

}  // namespace plumb::opencl
