// SPDX-License-Identifier: Apache-2.0
// Names of dumped blobs: 00001-<layer>-in-0-<blob>-dims-1-3-224-224, then the format's ending.
//
// Names are for people and for TNN's scripts; readers take them from the manifest. Index, direction and slot stand
// outside of what is replaced or cut, so two blobs of a dump never share a name, on case-insensitive disks neither. '/'
// and ':' become '_' as TNN has it; when another byte had to be replaced or a part cut, "~" and eight digits of its
// checksum follow. Everything is ASCII and the whole, its ending and ".part" included, has at most 255 bytes.
#ifndef PLUMB_DUMP_FILE_NAME_H_
#define PLUMB_DUMP_FILE_NAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "plumb/dump.h"
#include "plumb/tensor.h"

namespace plumb {

// The name without an ending.
std::string BlobFileName(int layer_index, const std::string& layer, bool output, int slot, const std::string& blob,
                         const Shape& shape);

// ".txt", ".npy", ".raw", and ".zst" behind it.
std::string BlobFileEnding(DumpOptions::Format format, bool zstd);

// What the name of a file in a dump without manifest says, TNN's or ours. Layer and blob are as they were written: '/'
// (and ':' in blobs) lost.
struct TnnFileName {
  int layer_index = 0;
  std::string layer;
  bool output = false;
  int slot = 0;
  std::string blob;
  Shape shape;
};
// Nothing when the name has not that form and one of the endings .txt .npy .raw .bin .dat, .zst behind it or not.
// REQUIRES: `name` is without a folder.
std::optional<TnnFileName> ParseTnnFileName(std::string_view name);

// "conv1-dims-1-64-112-112.raw", what a program by hand writes: all but the place of the layer.
struct NamedShape {
  std::string blob;
  Shape shape;
};
std::optional<NamedShape> ParseNamedShape(std::string_view name);

// Whether a file of that name holds values and nothing else: .raw .bin .dat .bmrt, .zst behind it or not.
bool IsRawName(std::string_view name);

// A name as TNN's file names hold it, for pairing: '/' and ':' replaced.
std::string TnnName(std::string name);
// A name as our file names hold it: also every other byte that some disk refuses, and long ones cut.
std::string NameInFiles(const std::string& name);

}  // namespace plumb

#endif  // PLUMB_DUMP_FILE_NAME_H_
