// SPDX-License-Identifier: Apache-2.0
// For numpy_test.py: reads a tensor file and writes it again, `npy_tool IN OUT`, in OUT's format. `npy_tool IN OUT
// rows` reads an .npz row by row.
#include <cstdio>
#include <cstring>

#include "plumb/tensor_file.h"
#include "tensor/npz_rows.h"

namespace {

plumb::Result<plumb::Tensor> ByRows(const plumb::NpzRows& rows, const plumb::NpzRows::Array& array) {
  if (array.shape.rank() == 0) return *array.whole;
  PLUMB_ASSIGN_OR_RETURN(const plumb::Tensor none, rows.Read(array, 0, 0));
  PLUMB_ASSIGN_OR_RETURN(plumb::Tensor all, plumb::Tensor::Create(none.dtype(), array.shape));
  const int64_t count = array.shape[0];
  for (int64_t row = 0; row < count && all.bytes() > 0; ++row) {
    PLUMB_ASSIGN_OR_RETURN(const plumb::Tensor one, rows.Read(array, row, 1));
    std::memcpy(static_cast<char*>(all.raw()) + static_cast<size_t>(row) * one.bytes(), one.raw(), one.bytes());
  }
  return all;
}

plumb::Result<std::vector<plumb::NamedTensor>> ReadByRows(const char* path) {
  PLUMB_ASSIGN_OR_RETURN(const plumb::NpzRows rows, plumb::NpzRows::Open(path));
  std::vector<plumb::NamedTensor> tensors;
  for (const plumb::NpzRows::Array& array : rows.arrays()) {
    PLUMB_ASSIGN_OR_RETURN(plumb::Tensor all, ByRows(rows, array));
    tensors.push_back({array.name, std::move(all)});
  }
  return tensors;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  const auto tensors = argc == 4 ? ReadByRows(argv[1]) : plumb::ReadTensors(argv[1]);
  const plumb::Status status = tensors.ok() ? plumb::WriteTensors(argv[2], *tensors) : tensors.status();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
