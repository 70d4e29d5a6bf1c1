// SPDX-License-Identifier: Apache-2.0
// Memory of tensors. Large blocks are recycled, because fresh memory is dear: the kernel clears it page by page when it
// is first touched, which costs more than most element-wise layers spend on computing. A checked resnet50 asks for 0.9
// GB in tensors that live for one layer; recycled, it touches 0.1 GB.
//
// What is kept for reuse is bounded (kMaxKept of block_pool.cc). Under AddressSanitizer nothing is kept, so that it
// sees every use after free. Threading: any thread.
#ifndef PLUMB_BASE_BLOCK_POOL_H_
#define PLUMB_BASE_BLOCK_POOL_H_

#include <cstddef>
#include <memory>

namespace plumb {

// At least `bytes` of uninitialised memory, aligned to 64 bytes, returned when the last owner lets go. Null: out of
// memory.
std::shared_ptr<void> AllocateBlock(size_t bytes);

// Gives what is kept for reuse back to the operating system: where sizes change for good.
void ReleaseKeptBlocks();

// Bytes that are kept for reuse at the moment; for tests.
size_t KeptBlockBytes();

}  // namespace plumb

#endif  // PLUMB_BASE_BLOCK_POOL_H_
