// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/kernel_list.h"
#include "device/cpu/element_chain.h"
#include "device/cpu/pointwise_band.h"
#include "device/cpu/scaled_sums.h"
#include "device/shared/fused_tail.h"

namespace plumb::cpu {

const std::vector<KernelRow>& KernelList() {
  static const std::vector<KernelRow>* list = [] {
    auto* rows = new std::vector<KernelRow>{
#define PLUMB_CPU_KERNEL(op, name, file) {#name, OpKind::k##op, kernel_##name.supports, kernel_##name.create},
#include "device/cpu/kernel_list.def"
#undef PLUMB_CPU_KERNEL
    };
    AddMovingRows({"strided", {}, kernel_strided.supports, kernel_strided.create}, rows);
    return rows;
  }();
  return *list;
}

bool MayFuse(const LayerGroup& group, const Layer& next, const BlobTable& blobs) {
  std::vector<const Layer*> members = group.members;
  members.push_back(&next);
  return ReadGroup(members, blobs).ok() || ReadScaledSums(members, blobs).ok() || IsElementChain(members, blobs).ok() ||
         IsPointwiseBand(members, blobs).ok();
}

}  // namespace plumb::cpu
