// SPDX-License-Identifier: Apache-2.0
// The manifest of a dump folder: what every file holds, what is absent and why. doc/dump_format.md is its description
// for readers; this struct is the same in C++. Names of any bytes survive: one that is no UTF-8 is kept in hexadecimal.
#ifndef PLUMB_DUMP_MANIFEST_H_
#define PLUMB_DUMP_MANIFEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dump/integer_scale.h"
#include "dump/statistics.h"
#include "plumb/check.h"
#include "plumb/observer.h"
#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

constexpr const char* kManifestFormat = "plumb-dump";
constexpr int kManifestVersion = 1;

// Whose blob it is: the layer that reads or writes it, and in which slot.
struct BlobPlace {
  int layer_index = 0;
  std::string layer;
  std::string type;
  bool output = false;
  int slot = 0;
  std::string blob;
};

struct DumpedBlob {
  BlobPlace place;
  bool has_direction = true;  // false: a manifest by hand does not say who reads or writes it; place.output is a guess
  std::string file;           // in the same folder; empty: statistics only
  DType dtype = DType::kF32;
  DType model_dtype = DType::kF32;  // what the model says: a half float is dumped as it was computed
  Shape shape;
  bool constant = false;   // part of the model
  std::string stands_for;  // in the dump of a quantised copy of a model: the blob whose readers read this
  std::string order;       // of the file's dims where it is not N, C and the spatial ones: "NHWC", "NDHWC"
  IntegerScale integers;   // of quantised ones
  std::string layout;      // on the device; the file is dense in logical order
  std::string device;      // "host" for integers that follow from the shapes alone
  std::string kernel;
  std::string detail;
  Numerics numerics;  // of the kernel, of what a layer wrote
  bool fallback = false;
  int step_index = 0;              // the index that the kernel's group carries
  std::vector<std::string> fused;  // the layers that the kernel computes together, when there are several
  std::vector<std::string> nodes;  // of the layer, in the source model
  // Where the runtime knows them (plumb_dump.h): the graph that a dump carries itself.
  std::vector<std::string> layer_inputs;
  std::vector<std::string> attributes;  // name, value, name, value ...
  uint64_t bytes = 0;                   // of the file
  std::string checksum;                 // XXH64 of the file
  std::string values_checksum;          // XXH64 of the dense values, whatever the format
  Statistics statistics;
};

struct AbsentBlob {
  BlobPlace place;
  int fused_into = -1;  // index of the group in whose kernel it would have lived, or -1
  std::string fused_into_name;
  std::string reason;
};

struct IoTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t offset = 0;  // in the .dat file
};

struct Manifest {
  std::string tool;     // "Plumb 0.1.0"
  std::string created;  // UTC
  std::string model;    // the file it came from
  bool weights_generated = false;
  uint64_t weight_seed = 0;
  std::string device;
  std::string device_description;
  std::string precision;
  int num_threads = 0;
  int network = 1;  // of this process
  int forward = 0;
  std::string forwards_note;  // which Forwards are dumped, and why not more
  // Options, as their variables spell them.
  bool inputs = false, outputs = false, statistics_only = false, unfuse = false;
  std::string format, compress, order, layers, types, forwards;
  bool complete = true;
  std::vector<std::string> errors;
  std::vector<DumpedBlob> files;
  std::vector<AbsentBlob> absent;
  std::vector<std::string> io_files;  // SAVE_IO_TENSORS
  Probe probe;                        // read only: tools/python writes it
};

// Appears under its name when it is complete.
Status WriteManifest(const std::string& path, const Manifest& manifest);
// What a reader needs is `file`, `blob`, `shape` and `dtype` of every file; all else may be missing. CorruptModel names
// the manifest and everything that is missing or of the wrong kind, at once.
Result<Manifest> ReadManifest(const std::string& path);
// The same from memory; `path` stands in errors.
Result<Manifest> ParseManifest(std::string_view text, const std::string& path);

// The description beside input_ref_data.dat.
Status WriteIoDescription(const std::string& path, const std::string& data_file, const std::vector<IoTensor>& tensors);

}  // namespace plumb

#endif  // PLUMB_DUMP_MANIFEST_H_
