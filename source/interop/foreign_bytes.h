// SPDX-License-Identifier: Apache-2.0
// The readers of foreign formats from memory: what those of foreign_formats.h call for each file, and what is fuzzed.
#ifndef PLUMB_INTEROP_FOREIGN_BYTES_H_
#define PLUMB_INTEROP_FOREIGN_BYTES_H_

#include <string>
#include <string_view>

#include "plumb/tensor_file.h"

namespace plumb {

// OpenVINO's .ieb, its precision as in the newest of the plugin's enumerations that fits.
Result<Tensor> ParseIebFile(std::string_view bytes, const std::string& path);

// A serialised TensorProto of ONNX.
Result<NamedTensor> ParseTensorProtoFile(std::string_view bytes, const std::string& path);

// torch.save's archive of one tensor, of the dtype and shape that msprobe's dump.json says.
Result<Tensor> ParseTorchArchive(std::string_view bytes, const std::string& path, DType dtype, const Shape& shape);

// A raw file of QNN's `name`, as `description` says: a MODEL_net.json or encodings. `native`: as the device has it.
Result<Tensor> ParseQnnFile(std::string_view bytes, const std::string& path, std::string_view description,
                            const std::string& name, bool native);

}  // namespace plumb

#endif  // PLUMB_INTEROP_FOREIGN_BYTES_H_
