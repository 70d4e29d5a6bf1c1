// SPDX-License-Identifier: Apache-2.0
// DumpReader: a dump folder as a list of blobs, whoever wrote it. Folders with a manifest are read by it; TNN's own
// have none and are read by file name. blob_diff and foreign subjects go through here and never parse names themselves.
//
// Memory: the list only; Load reads one file.
#ifndef PLUMB_DUMP_READER_H_
#define PLUMB_DUMP_READER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/manifest.h"
#include "plumb/tensor.h"

namespace plumb {

struct DumpEntry {
  BlobPlace place;             // from a file name: '/' (and ':' in blobs) are lost, no type
  bool has_direction = true;   // false: a manifest by hand does not say it
  std::optional<DType> dtype;  // not known from a file name
  Shape shape;
  std::string path;        // empty: statistics only
  std::string checksum;    // XXH64 of the file, or empty
  Numerics numerics;       // how the layer computed it
  std::string stands_for;  // DumpedBlob::stands_for
  std::string order;       // DumpedBlob::order
  IntegerScale integers;   // DumpedBlob::integers
};

class DumpReader {
 public:
  // NotFound: no such folder, or neither a manifest nor a file of TNN's pattern in it. CorruptModel: a bad manifest, or
  // one that was never finished.
  static Result<DumpReader> Open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  bool has_manifest() const { return has_manifest_; }
  const Manifest& manifest() const { return manifest_; }  // default-made without one
  // By layer index, inputs first, then slot.
  const std::vector<DumpEntry>& entries() const { return entries_; }
  // The values; NotFound for statistics only, CorruptModel when the file is not the one that the manifest describes.
  // Without a dtype: whole numbers of a text are i64, raw values floats of their size.
  static Result<Tensor> Load(const DumpEntry& entry);

 private:
  Status ListManifest();
  Status ListNames();

  std::string folder_;
  bool has_manifest_ = false;
  Manifest manifest_;
  std::vector<DumpEntry> entries_;
};

// Values and nothing else, of which only the shape is known, as floats of their size: f64, f32, f16; single bytes are
// u8. CorruptModel when the file has not one of these sizes.
Result<Tensor> ParseRawOfUnknownType(std::string_view bytes, const std::string& path, const Shape& shape);

}  // namespace plumb

#endif  // PLUMB_DUMP_READER_H_
