// DumpReader: a dump folder as a list of blobs, whoever wrote it. Folders of ours are read by their manifest; TNN's own
// have none and are read by file name. blob_diff and foreign subjects go through here and never parse names themselves.
//
// Memory: the list only; Load reads one file.
#ifndef PLUMB_DUMP_READER_H_
#define PLUMB_DUMP_READER_H_

#include <optional>
#include <string>
#include <vector>

#include "dump/manifest.h"
#include "plumb/tensor.h"

namespace plumb {

struct DumpEntry {
  BlobPlace place;             // from a file name: '/' (and ':' in blobs) are lost, no type
  std::optional<DType> dtype;  // not known from a file name
  Shape shape;
  std::string path;      // empty: statistics only
  std::string checksum;  // XXH64 of the file, or empty
};

class DumpReader {
 public:
  // NotFound: no such folder, or neither a manifest nor a file of TNN's pattern in it. CorruptModel: a bad manifest.
  static Result<DumpReader> Open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  bool has_manifest() const { return has_manifest_; }
  const Manifest& manifest() const { return manifest_; }  // default-made without one
  // By layer index, inputs first, then slot.
  const std::vector<DumpEntry>& entries() const { return entries_; }
  // The values; NotFound for statistics only, CorruptModel when the file is not the one that the manifest describes.
  static Result<Tensor> Load(const DumpEntry& entry);

 private:
  Status ListManifest();
  Status ListNames();

  std::string folder_;
  bool has_manifest_ = false;
  Manifest manifest_;
  std::vector<DumpEntry> entries_;
};

}  // namespace plumb

#endif  // PLUMB_DUMP_READER_H_
