// SPDX-License-Identifier: Apache-2.0
// Dumping: what every layer reads and writes, as files, while the network runs as it always does.
//
// Any program that links Plumb gets dumps by environment alone, because CreateNetwork (plumb/plumb.h) reads it; a
// program that wants them by code fills DumpOptions and calls AddDump. doc/dump.md has one table of all variables and
// examples, doc/dump_format.md says what a dump folder holds.
//
//   DUMP_OUTPUT_BLOB=1 DUMP_BLOB_LAYERS='conv*' ./my_program      writes plumb_dump/ and plumb_dump/manifest.json
//
// Dumping changes no bit of any result. Files are written by other threads while the layers run; Forward (or Wait)
// returns when they are complete. A full disk or an unwritable folder makes it return IoError, and the outputs are
// still valid.
#ifndef PLUMB_DUMP_H_
#define PLUMB_DUMP_H_

#include <cstddef>
#include <functional>
#include <string>

#include "plumb/network.h"
#include "plumb/status.h"

namespace plumb {

struct DumpOptions {
  enum class Format {
    kText,        // one value per line, the fewest digits that read back exactly
    kTextFixed9,  // one value per line as printf's %.9f, which is TNN's way and loses small values
    kNpy,
    kRaw,  // little-endian values and nothing else
  };
  bool inputs = false;   // DUMP_INPUT_BLOB
  bool outputs = false;  // DUMP_OUTPUT_BLOB
  bool save_io = false;  // SAVE_IO_TENSORS: the network's inputs and outputs as input_ref_data.dat, output_ref_data.dat
  bool statistics_only = false;       // DUMP_BLOB_STATS: a manifest, no blob files
  bool unfuse = false;                // DUMP_BLOB_UNFUSE: CreateNetwork prepares a network without fusion
  bool zstd = false;                  // DUMP_BLOB_COMPRESS=zstd
  bool channels_first = false;        // DUMP_BLOB_ORDER=NCHW: axes as our operators hold them, not as the file says
  Format format = Format::kText;      // DUMP_BLOB_FORMAT
  std::string folder = "plumb_dump";  // DUMP_BLOB_DIR; created; never mixed with what it holds already
  std::string
      layers;         // DUMP_BLOB_LAYERS: "conv*,/^fc[0-9]+$/,10-20": globs, regular expressions, index ranges; "": all
  std::string types;  // DUMP_BLOB_TYPES: "Convolution,Pooling", TNN's aliases too; "": all
  std::string forwards;  // DUMP_BLOB_FORWARDS: "0,5-9", "all", by number; "": the first after AddDump, which is mostly
                         // Forward 0
  size_t max_queued_bytes =
      size_t{64} << 20;  // copies of blobs that wait to be written; a single larger blob still passes
  int num_threads = 0;   // that format and write; 0: as many as the network computes with, at most 4
  // Takes what a user should read ("the dump goes to plumb_dump-2, because ..."); null: one line on standard error.
  std::function<void(const std::string&)> note;
  // Told at the end of each Forward that was dumped: the network's folder, and the files and bytes written by this
  // Forward.
  std::function<void(const std::string& folder, size_t files, size_t bytes)> written;

  // Whether there is anything to write.
  bool enabled() const { return inputs || outputs || save_io; }
};

// The options as the environment says, over what the build switched on (CMake's DUMP_INPUT_BLOB, DUMP_OUTPUT_BLOB).
// InvalidArgument for a misspelt name (close to one of doc/environment.md, and none of it) or a value that is not among
// the possible ones; the message says which is meant.
Result<DumpOptions> DumpOptionsFromEnvironment();

// Dumps this network's Forwards from now on, as the options say. NotSupported in a build with PLUMB_BLOB_HOOKS=OFF,
// InvalidArgument for a filter that cannot be read, for Forwards that are all over, for unfuse on a fused network.
Status AddDump(Network* network, const DumpOptions& options);

}  // namespace plumb

#endif  // PLUMB_DUMP_H_
