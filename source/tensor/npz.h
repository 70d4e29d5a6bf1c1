// SPDX-License-Identifier: Apache-2.0
// numpy's .npz: a zip archive of .npy files; a tensor's name is the member's without ".npy".
#ifndef PLUMB_TENSOR_NPZ_H_
#define PLUMB_TENSOR_NPZ_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/tensor_file.h"

namespace plumb {

// Of the array in that member.
std::string NpzName(const std::string& member);
// The unpacked members together have at most max_bytes.
Result<std::vector<NamedTensor>> ParseNpz(std::string_view bytes, const std::string& path, uint64_t max_bytes,
                                          std::optional<DType> expected = {});
// Stored, not compressed.
Status WriteNpz(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace plumb

#endif  // PLUMB_TENSOR_NPZ_H_
