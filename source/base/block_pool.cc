// SPDX-License-Identifier: Apache-2.0
// Blocks of 256 KiB and more are mapped by themselves and, once free, kept in a list from which the best fitting one is
// taken. Those that were freed first go back to the operating system when more than kMaxKept would be kept. When none
// fits, as much is given back as is mapped anew (down to half of kMaxKept): a change of sizes shall not raise the
// process's peak.
#include "base/block_pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <utility>

#include "base/memory_budget.h"

namespace plumb {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMinPooled = size_t{256} << 10;
constexpr size_t kMaxKept = size_t{40} << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPool = false;
#elif defined(__has_feature)
constexpr bool kPool = !__has_feature(address_sanitizer);
#else
constexpr bool kPool = true;
#endif

struct Block {
  void* memory = nullptr;
  size_t size = 0;
};

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// Fresh memory. Blocks that span a huge page begin on one, so that the kernel may back them with few large pages.
Block MapBlock(size_t size) {
  const size_t extra = size >= kHugePage ? kHugePage : 0;
  void* mapped = ::mmap(nullptr, size + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return {};
  if (extra == 0) return {mapped, size};
  char* const begin = static_cast<char*>(mapped);
  const size_t before = RoundUp(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (before > 0) ::munmap(begin, before);
  if (extra > before) ::munmap(begin + before + size, extra - before);
#ifdef MADV_HUGEPAGE
  ::madvise(begin + before, size, MADV_HUGEPAGE);
#endif
  return {begin + before, size};
}

class BlockPool {
 public:
  static BlockPool& Get() {
    static BlockPool* pool = Make();
    return *pool;
  }

  Block Take(size_t size) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      auto best = kept_.end();
      for (auto it = kept_.begin(); it != kept_.end(); ++it) {
        if (it->size >= size && it->size <= 16 * size && (best == kept_.end() || it->size < best->size)) best = it;
      }
      if (best != kept_.end()) {
        const Block block = *best;
        kept_bytes_ -= block.size;
        kept_.erase(best);
        return block;
      }
      Release(std::max(kMaxKept * 3 / 4, kept_bytes_ - std::min(kept_bytes_, size)));
    }
    return MapBlock(size);
  }

  void Give(Block block) {
    std::lock_guard<std::mutex> lock(mutex_);
    kept_.push_back(block);
    kept_bytes_ += block.size;
    Release(kMaxKept);
  }

  void ReleaseAll() {
    std::lock_guard<std::mutex> lock(mutex_);
    Release(0);
  }

  size_t kept_bytes() {
    std::lock_guard<std::mutex> lock(mutex_);
    return kept_bytes_;
  }

 private:
  // Never destroyed: static tensors may outlive it. Its mutex is free in a forked child, whoever held it.
  static BlockPool* Make() {
    static BlockPool* const pool = new BlockPool();
    pthread_atfork([] { pool->mutex_.lock(); }, [] { pool->mutex_.unlock(); }, [] { pool->mutex_.unlock(); });
    return pool;
  }

  // Keeps at most `bytes`.
  void Release(size_t bytes) {
    while (kept_bytes_ > bytes) {
      ::munmap(kept_.front().memory, kept_.front().size);
      kept_bytes_ -= kept_.front().size;
      kept_.pop_front();
    }
  }

  std::mutex mutex_;
  std::deque<Block> kept_;  // freed first in front
  size_t kept_bytes_ = 0;
};

}  // namespace

std::shared_ptr<void> AllocateBlock(size_t bytes) {
  // More than the machine has would be granted on credit and end in the out-of-memory killer.
  if (bytes > SIZE_MAX - 2 * kHugePage || !TakeMemory(bytes)) return nullptr;
  if (kPool && bytes >= kMinPooled) {
    const Block block = BlockPool::Get().Take(RoundUp(bytes, kPage));
    if (block.memory != nullptr) {
      return {block.memory, [block, bytes](void*) {
                BlockPool::Get().Give(block);
                GiveMemory(bytes);
              }};
    }
  } else if (void* memory = std::aligned_alloc(kAlignment, RoundUp(bytes == 0 ? 1 : bytes, kAlignment))) {
    return {memory, [bytes](void* block) {
              std::free(block);
              GiveMemory(bytes);
            }};
  }
  GiveMemory(bytes);
  return nullptr;
}

void ReleaseKeptBlocks() { BlockPool::Get().ReleaseAll(); }

size_t KeptBlockBytes() { return BlockPool::Get().kept_bytes(); }

}  // namespace plumb
