// SPDX-License-Identifier: Apache-2.0
// Reads the primitive encodings of a tnnmodel, never past its end. Every error has the byte offset.
#ifndef PLUMB_FORMAT_TNN_BYTE_READER_H_
#define PLUMB_FORMAT_TNN_BYTE_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "plumb/tensor.h"

namespace plumb::tnn {

class ByteReader {
 public:
  // `skip_weights`: LoadOptions::skip_weights.
  ByteReader(const FileSource& source, bool skip_weights) : source_(source), skip_weights_(skip_weights) {}

  size_t offset() const { return offset_; }
  size_t left() const { return source_.size() - offset_; }
  void Rewind(size_t offset) { offset_ = offset; }

  // `field` names what is read, for the message.
  Result<uint32_t> U32(const char* field);
  Result<int32_t> I32(const char* field);
  Result<std::string> String(const char* field);  // i32 length, then the bytes
  Result<bool> Bool8(const char* field);
  Result<bool> Bool32(const char* field);
  // A RawBuffer as a tensor of its own; an empty buffer gives shape [0]. Without dims in the file (v1, or rank 0 for
  // several elements) the shape is [count]. Its elements may be read later, with those of its neighbours: Settle()
  // before they are looked at.
  Result<Tensor> Raw(const char* field);
  Status Settle();

  // CorruptModel at this offset.
  Status Corrupt(size_t offset, const std::string& message) const;

 private:
  Status Need(size_t size, const char* field) const;
  // The next `size` bytes in memory, until the next call.
  Result<const uint8_t*> Look(size_t size, const char* field);
  Result<Shape> Dims(const char* field);

  struct Copy {
    Tensor to;
    size_t from, size;
  };

  const FileSource& source_;
  const bool skip_weights_;
  size_t offset_ = 0;
  std::vector<Copy> copies_;     // put off
  size_t put_off_ = 0;           // bytes
  std::vector<uint8_t> window_;  // bytes of the file from window_begin_ on
  size_t window_begin_ = 0;
};

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_BYTE_READER_H_
