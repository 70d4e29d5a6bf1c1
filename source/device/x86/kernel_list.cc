#include "device/x86/kernel_list.h"
#include "device/shared/fused_tail.h"
#include "device/x86/scaled_sums.h"

namespace plumb::x86 {

const std::vector<KernelRow>& KernelList() {
  static const std::vector<KernelRow>* list = [] {
    auto* rows = new std::vector<KernelRow>{
#define PLUMB_X86_KERNEL(op, name, file) {#name, OpKind::k##op, kernel_##name.supports, kernel_##name.create},
#include "device/x86/kernel_list.def"
#undef PLUMB_X86_KERNEL
    };
    AddMovingRows({"strided", {}, kernel_strided.supports, kernel_strided.create}, rows);
    return rows;
  }();
  return *list;
}

bool MayFuse(const LayerGroup& group, const Layer& next, const BlobTable& blobs) {
  std::vector<const Layer*> members = group.members;
  members.push_back(&next);
  return ReadGroup(members, blobs).ok() || ReadScaledSums(members, blobs).ok();
}

}  // namespace plumb::x86
