// SPDX-License-Identifier: Apache-2.0
// Hugging Face's safetensors: a JSON header of names, dtypes, shapes and places, then the values.
#ifndef PLUMB_INTEROP_SAFETENSORS_H_
#define PLUMB_INTEROP_SAFETENSORS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interop/stored_tensor.h"

namespace plumb {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t begin = 0, size = 0;  // bytes of the file
};

// What the header (behind its length) of a file of so many bytes names. Errors: as below.
Result<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(std::string_view text, uint64_t file_size,
                                                             const std::string& path);

// By name; read when they are asked for. CorruptModel names the file and the tensor; NotSupported: a
// dtype that no tensor here has (F8_E4M3 ...).
Result<std::vector<StoredTensor>> ListSafetensors(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_INTEROP_SAFETENSORS_H_
