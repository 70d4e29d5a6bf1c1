// SPDX-License-Identifier: Apache-2.0
// Tensors as text, one value per line without a header: the form of dumped blobs, and the values of TNN's text form.
//
// Floats are written with the fewest digits that read back exactly, or as printf's "%.9f" on request; f16 and bf16 as
// the float32 of the same value; bool as 0 and 1. Reading is strict: whatever is no number of the dtype is an error
// with its line. nan and inf (with a sign) are numbers; a value too small for the dtype becomes zero, one too large is
// an error.
#ifndef PLUMB_TENSOR_VALUES_TEXT_H_
#define PLUMB_TENSOR_VALUES_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/threads.h"
#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

enum class TextStyle { kShortest, kFixed9 };

// Appends the lines of elements [begin, end) to *out, on the calling thread: whoever streams takes pieces of some 10^4
// elements and keeps its memory small.
void AppendValuesText(const Tensor& tensor, int64_t begin, int64_t end, TextStyle style, std::string* out);

// The lines of elements [begin, end) in order, formatted by every thread of the pool, handed over in pieces of some 100
// KB. Stops at the first error of `sink`.
Status StreamValuesText(const Tensor& tensor, TextStyle style, FunctionRef<Status(std::string_view)> sink);

// Writes a whole file this way.
Status WriteValuesText(const std::string& path, const Tensor& tensor, TextStyle style);

// The values of a whole text, separated by any white space. With a shape their number must fit; without one it is
// [count].
Result<Tensor> ParseValuesText(std::string_view text, const std::string& path, DType dtype,
                               const std::optional<Shape>& shape);

// Walks through text token by token. Positions are kept in bytes; the line is counted when an error needs it.
class TextScanner {
 public:
  TextScanner(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  // The next run of bytes that are no white space; empty at the end.
  std::string_view Next();
  // Reads `count` values of `dtype` to `values`.
  Status ReadValues(DType dtype, int64_t count, void* values);
  // Everything that is left but white space is an error.
  Status ExpectEnd();
  size_t bytes_left() const { return text_.size() - position_; }
  // "text file 'x.txt', line 7: <what>".
  Status Error(const std::string& what) const;
  // The token as it may stand in a message: quoted, shortened, without control bytes.
  static std::string Quote(std::string_view token);

 private:
  template <class T>
  Status ReadTyped(DType dtype, int64_t count, T* values);

  std::string_view text_;
  const std::string& path_;
  size_t position_ = 0;
  size_t token_ = 0;  // where the last token began
};

}  // namespace plumb

#endif  // PLUMB_TENSOR_VALUES_TEXT_H_
