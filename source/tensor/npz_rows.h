// SPDX-License-Identifier: Apache-2.0
// NpzRows: rows of the arrays of an .npz, read when they are asked for, so that an archive may be larger than memory.
#ifndef PLUMB_TENSOR_NPZ_ROWS_H_
#define PLUMB_TENSOR_NPZ_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "plumb/tensor.h"
#include "tensor/npy.h"
#include "tensor/zip.h"

namespace plumb {

class NpzRows {
 public:
  struct Array {
    std::string name;
    Shape shape;
    NpyHead head;
    size_t begin = 0;             // of the values, in the archive
    std::optional<Tensor> whole;  // of one that is compressed, or in Fortran's order
  };

  // Checks every byte once. Errors: those of ParseNpz, and of OpenSource.
  static Result<NpzRows> Open(const std::string& path);
  static Result<NpzRows> Of(const FileSource& source, const std::string& path);

  const std::vector<Array>& arrays() const { return arrays_; }
  // [first, first + count) of the first axis. REQUIRES: there are as many. IoError: the file was written meanwhile.
  Result<Tensor> Read(const Array& array, int64_t first, int64_t count) const;

 private:
  NpzRows(const FileSource& source, std::string path) : source_(source), path_(std::move(path)) {}
  Status Add(const ZipMember& member);
  Status AddWhole(const ZipMember& member, Array* array) const;
  Status CheckSum(const ZipMember& member) const;

  FileSource source_;
  std::string path_;
  std::vector<Array> arrays_;
};

}  // namespace plumb

#endif  // PLUMB_TENSOR_NPZ_ROWS_H_
