// SPDX-License-Identifier: Apache-2.0
// numpy's .npy: versions 1, 2 and 3, C and Fortran order, both byte orders; written as version 1 (2 when the header is
// long), C order, little endian, data aligned to 64 bytes.
//
// f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 bool are numpy's own. numpy has no bf16: it is written as '<u2' and read as u16
// unless the caller expects bf16 ('V2', which ml_dtypes writes, is always bf16).
#ifndef PLUMB_TENSOR_NPY_H_
#define PLUMB_TENSOR_NPY_H_

#include <optional>
#include <string>
#include <string_view>

#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

// `path` names the file (or the member of an archive) in errors.
Result<Tensor> ParseNpy(std::string_view bytes, const std::string& path, std::optional<DType> expected = {});

// What stands in front of the values.
struct NpyHead {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  Shape shape;
  size_t data_offset = 0;
  size_t element_bytes = 0;
  uint64_t ValueBytes() const { return static_cast<uint64_t>(shape.NumElements()) * element_bytes; }
};
// Of a file's first bytes. Errors: as ParseNpy's, also where the head is longer than these.
Result<NpyHead> ReadNpyHead(std::string_view bytes, const std::string& path, std::optional<DType> expected = {});
// The values alone, `head.ValueBytes()` of them.
Result<Tensor> ParseNpyValues(std::string_view values, const NpyHead& head, const std::string& path,
                              std::optional<DType> expected = {});

// Everything in front of the values, for whoever streams them (tensor.raw(), tensor.bytes() bytes).
std::string NpyHeader(DType dtype, const Shape& shape);
Status WriteNpy(const std::string& path, const Tensor& tensor);

}  // namespace plumb

#endif  // PLUMB_TENSOR_NPY_H_
