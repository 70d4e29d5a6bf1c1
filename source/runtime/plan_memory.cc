// SPDX-License-Identifier: Apache-2.0
// PlanMemory: who shares memory with whom, and where everything lies.
//
// 1. Share wishes, in step order. A value that lies in another has a parent; the root of a chain is a storage.
//    View: always. Overwrite: when nothing of the input's storage is read later and it is not pinned.
//    Part: when the input is a storage of its own, as large as the part.
// 2. Storages live from their first write to their last read and are placed largest first at the lowest offset that is
//    free for that time (greedy by size; Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
//    Inference", 2020).
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "runtime/plan.h"

namespace plumb {
namespace {

constexpr size_t kAlign = 256;  // Vulkan's largest minStorageBufferOffsetAlignment; also keeps cache lines apart

struct Storage {
  int root;
  int first, last;
  size_t bytes;
  size_t offset = 0;
};

class MemoryPass {
 public:
  explicit MemoryPass(Plan* plan) : plan_(*plan) {}

  Status Run() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) GrantShares(static_cast<int>(s));
    std::vector<Storage> storages = FindStorages();
    Place(&storages);
    PLUMB_RETURN_IF_ERROR(Bind(storages));
    return UploadConstants();
  }

 private:
  Value& At(int id) { return plan_.values[static_cast<size_t>(id)]; }

  int Root(int id, size_t* offset = nullptr) {
    while (At(id).parent >= 0) {
      if (offset != nullptr) *offset += At(id).parent_offset;
      id = At(id).parent;
    }
    return id;
  }

  // Last read, and whether anything in the storage is pinned or constant.
  void Describe(int root, int except, int* last, bool* fixed) {
    *last = -1;
    *fixed = false;
    for (int id = 0; id < static_cast<int>(plan_.values.size()); ++id) {
      if (id == except || Root(id) != root) continue;
      *last = std::max(*last, At(id).last_step);
      *fixed = *fixed || At(id).pinned || At(id).constant;
    }
  }

  void GrantShares(int s) {
    Step& step = *plan_.steps[static_cast<size_t>(s)];
    for (const ShareWish& wish : step.choice.shares) {
      const int in = step.inputs[static_cast<size_t>(wish.input)];
      const int out = step.outputs[static_cast<size_t>(wish.output)];
      if (wish.kind == ShareWish::kView) {
        if (At(out).parent < 0) Attach(out, in, wish.offset);
      } else if (wish.kind == ShareWish::kOverwrite) {
        TryOverwrite(s, in, out);
      } else {
        TryPart(in, out, wish.offset);
      }
    }
  }

  void Attach(int child, int parent, size_t offset) {
    At(child).parent = parent;
    At(child).parent_offset = offset;
  }

  void TryOverwrite(int s, int in, int out) {
    if (At(out).parent >= 0 || At(in).bytes() != At(out).bytes()) return;
    int last;
    bool fixed;
    Describe(Root(in), out, &last, &fixed);
    if (last <= s && !fixed) Attach(out, in, 0);
  }

  void TryPart(int in, int out, size_t offset) {
    size_t inside = 0;
    const int root = Root(in, &inside);
    if (inside != 0 || root == Root(out) || At(root).bytes() != At(in).bytes()) return;
    int last;
    bool fixed;
    Describe(root, -1, &last, &fixed);
    if (!fixed) Attach(root, out, offset);
  }

  std::vector<Storage> FindStorages() {
    std::vector<Storage> storages;
    std::map<int, size_t> by_root;
    for (int id = 0; id < static_cast<int>(plan_.values.size()); ++id) {
      const Value& value = At(id);
      if (!value.constant) plan_.unplanned_bytes += value.bytes();
      const int root = Root(id);
      if (At(root).constant) continue;
      const auto [it, added] = by_root.emplace(root, storages.size());
      if (added) storages.push_back({root, value.first_step, value.last_step, At(root).bytes()});
      Storage& storage = storages[it->second];
      storage.first = std::min(storage.first, value.first_step);
      storage.last = std::max(storage.last, value.last_step);
    }
    const int end = static_cast<int>(plan_.steps.size());
    for (Storage& storage : storages) {
      storage.bytes = (storage.bytes + kAlign) / kAlign * kAlign;
      if (storage.first < 0) storage.last = end;  // inputs stay for the next Forward
    }
    return storages;
  }

  void Place(std::vector<Storage>* storages) {
    std::vector<Storage*> order;
    for (Storage& storage : *storages) order.push_back(&storage);
    std::stable_sort(order.begin(), order.end(),
                     [](const Storage* a, const Storage* b) { return a->bytes > b->bytes; });
    std::vector<Storage*> placed;
    for (Storage* storage : order) {
      size_t offset = 0;
      for (const Storage* other : placed) {  // sorted by offset
        if (other->last < storage->first || other->first > storage->last) continue;
        if (offset + storage->bytes <= other->offset) break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      storage->offset = offset;
      placed.insert(std::upper_bound(placed.begin(), placed.end(), storage,
                                     [](const Storage* a, const Storage* b) { return a->offset < b->offset; }),
                    storage);
      plan_.arena_bytes = std::max(plan_.arena_bytes, offset + storage->bytes);
    }
  }

  Status Bind(const std::vector<Storage>& storages) {
    PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> arena, plan_.device->Allocate(plan_.arena_bytes));
    std::map<int, size_t> offsets;
    for (const Storage& storage : storages) offsets[storage.root] = storage.offset;
    for (int id = 0; id < static_cast<int>(plan_.values.size()); ++id) {
      Value& value = At(id);
      size_t inside = 0;
      const int root = Root(id, &inside);
      value.tensor = DeviceTensor{value.dtype, value.shape, value.layout, arena, inside};
      if (At(root).constant) {
        if (root == id) {
          PLUMB_ASSIGN_OR_RETURN(value.tensor.buffer, plan_.device->Allocate(value.bytes()));
        } else {
          value.tensor.buffer = nullptr;  // set below, its root may come later
        }
      } else {
        value.tensor.offset += offsets.at(root);
      }
    }
    for (int id = 0; id < static_cast<int>(plan_.values.size()); ++id) {
      if (At(id).tensor.buffer == nullptr) At(id).tensor.buffer = At(Root(id)).tensor.buffer;
    }
    return Status::Ok();
  }

  Status UploadConstants() {
    for (Value& value : plan_.values) {
      if (!value.constant) continue;
      PLUMB_RETURN_IF_ERROR(plan_.device->Upload(plan_.blobs.at(value.blob).value, value.tensor)
                                .AddContext(fmt::format("constant '{}'", value.blob)));
    }
    return Status::Ok();
  }

  Plan& plan_;
};

}  // namespace

Status PlanMemory(Plan* plan) { return MemoryPass(plan).Run(); }

void MoveValue(int id, const std::shared_ptr<Buffer>& buffer, size_t offset, Plan* plan) {
  for (size_t i = 0; i < plan->values.size(); ++i) {
    size_t inside = 0;
    int root = static_cast<int>(i);
    for (const Value* value = &plan->values[i]; value->parent >= 0; value = &plan->values[static_cast<size_t>(root)]) {
      inside += value->parent_offset;
      root = value->parent;
    }
    if (root == id) plan->values[i].tensor.buffer = buffer, plan->values[i].tensor.offset = offset + inside;
  }
  for (auto& step : plan->steps) {
    const auto refresh = [&](const std::vector<int>& ids, std::vector<DeviceTensor>* tensors) {
      for (size_t i = 0; i < tensors->size(); ++i) (*tensors)[i] = plan->values[static_cast<size_t>(ids[i])].tensor;
    };
    refresh(step->inputs, &step->input_tensors);
    refresh(step->outputs, &step->output_tensors);
  }
}

}  // namespace plumb
