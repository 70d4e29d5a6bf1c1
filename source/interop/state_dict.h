// SPDX-License-Identifier: Apache-2.0
// What torch.save wrote: a state dict, a checkpoint that holds one, a module or a TorchScript file (.pt, .pth).
//
// The file is a zip archive of raw storages and of one pickle that says which tensor lies where. A pickle is a program
// that may call anything. This reader runs none of it: it knows the opcodes that build dicts, lists, tuples, numbers
// and text, and the two calls that describe a tensor. Every other call leaves a value that nothing looks into.
// A pickle has at most 32 MiB, and all tensors together no more bytes than UnpackedLimit of the file.
#ifndef PLUMB_INTEROP_STATE_DICT_H_
#define PLUMB_INTEROP_STATE_DICT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interop/tensor_set.h"

namespace plumb {

struct StateDictEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::string storage;  // the member "data/<storage>" of the archive
  int64_t offset = 0;   // in elements
  Shape shape;
  std::vector<int64_t> strides;  // in elements
};

// The tensors that the pickle describes, in its order. CorruptModel for a pickle that ends early or contradicts itself.
Result<std::vector<StateDictEntry>> ParseStateDict(std::string_view text, const std::string& path);

// The same of a file, read when they are asked for. A tensor's memory lies within its storage, or that is an error.
Result<std::vector<StoredTensor>> ListStateDict(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_INTEROP_STATE_DICT_H_
