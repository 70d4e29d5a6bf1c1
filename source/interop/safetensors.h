// Hugging Face's safetensors: a JSON header of names, dtypes, shapes and places, then the values.
#ifndef PLUMB_INTEROP_SAFETENSORS_H_
#define PLUMB_INTEROP_SAFETENSORS_H_

#include <string>
#include <vector>

#include "interop/tensor_set.h"

namespace plumb {

// By name; read when they are asked for. CorruptModel names the file and the tensor; NotSupported: a
// dtype that no tensor here has (F8_E4M3 ...).
Result<std::vector<StoredTensor>> ListSafetensors(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_INTEROP_SAFETENSORS_H_
