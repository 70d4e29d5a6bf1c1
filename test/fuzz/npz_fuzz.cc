// SPDX-License-Identifier: Apache-2.0
// Read whole and row by row: the same values, or both refuse.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tensor/npz.h"
#include "tensor/npz_rows.h"

namespace {

void CompareRows(const plumb::NpzRows& rows, const plumb::NpzRows::Array& array, const plumb::Tensor& whole) {
  if (array.shape != whole.shape()) std::abort();
  if (whole.shape().rank() == 0 || whole.bytes() == 0) return;
  const int64_t count = whole.shape()[0];
  const size_t bytes = whole.bytes() / static_cast<size_t>(count);
  for (const int64_t row : {int64_t{0}, count / 2, count - 1}) {
    const auto read = rows.Read(array, row, 1);
    if (!read.ok() || read->bytes() != bytes) std::abort();
    const auto* expected = static_cast<const uint8_t*>(whole.raw()) + static_cast<size_t>(row) * bytes;
    if (std::memcmp(read->raw(), expected, bytes) != 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto whole = plumb::ParseNpz({reinterpret_cast<const char*>(data), size}, "x.npz", 16 << 20);
  if (!whole.ok() && whole.status().code() == plumb::StatusCode::kInvalidArgument) return 0;  // more than these bytes
  const plumb::FileBytes bytes(std::shared_ptr<void>(const_cast<uint8_t*>(data), [](void*) {}), size);
  const auto rows = plumb::NpzRows::Of(plumb::FileSource(bytes), "x.npz");
  if (!whole.ok()) return 0;  // rows are parsed when they are read
  if (!rows.ok() || rows->arrays().size() != whole->size()) std::abort();
  for (size_t i = 0; i < whole->size(); ++i) CompareRows(*rows, rows->arrays()[i], (*whole)[i].tensor);
  return 0;
}
