// SPDX-License-Identifier: Apache-2.0
// How much memory this process may take for what files and options ask of it: blobs, weights, tensors, unpacked files.
//
// One number for the process, asked before anything of that kind is allocated, so that a shape of 2^40 elements, an
// archive that unpacks to a thousand times its size or a pipe without an end fails with a sentence instead of filling
// the machine. Counted are the blocks that live (block_pool.h); bookkeeping around them is not. Threading: all
// functions, any thread.
#ifndef PLUMB_BASE_MEMORY_BUDGET_H_
#define PLUMB_BASE_MEMORY_BUDGET_H_

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "plumb/status.h"

namespace plumb {

// The bytes allowed: what SetMemoryBudget said, else 3/4 of the machine (or of the limit that its control group or
// `ulimit -v` sets, where that is less).
uint64_t MemoryBudget();
// 0: the default again.
void SetMemoryBudget(uint64_t bytes);

// Bytes counted at the moment.
uint64_t MemoryInUse();
// Counts `bytes`, or does not and returns false when the budget has not so much left.
bool TakeMemory(uint64_t bytes);
void GiveMemory(uint64_t bytes);

// OutOfMemory when a piece of that size can never or not now be had. `what`: "a blob [1,3] f32".
Status CheckMemory(uint64_t bytes, const std::string& what);
// "no memory for WHAT: 12345 bytes, with 100 in use of the 17179869184 that SetMaxMemory allows".
Status NoMemory(uint64_t bytes, const std::string& what);

// Whether the system would map so much more at this moment (ulimit -v). Asked before a library that takes it for
// granted.
bool HasAddressSpace(uint64_t bytes);

// The last resort at the library's doors: what the standard library throws when it cannot allocate becomes a Status.
// `f` returns a Status or a Result.
template <class F>
auto CatchNoMemory(const std::string& what, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory("no memory for " + what);
  } catch (const std::length_error&) {
    return Status::OutOfMemory("no memory for " + what + " (a size beyond all limits)");
  }
}

}  // namespace plumb

#endif  // PLUMB_BASE_MEMORY_BUDGET_H_
