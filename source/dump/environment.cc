// SPDX-License-Identifier: Apache-2.0
// DumpOptionsFromEnvironment: one row per variable of base/environment.h that is about dumping. doc/dump.md describes
// them for users.
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "dump/filter.h"
#include "plumb/dump.h"
#include "plumb/tool/environment.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

#ifdef PLUMB_DUMP_INPUT_DEFAULT
constexpr bool kInputDefault = true;
#else
constexpr bool kInputDefault = false;
#endif
#ifdef PLUMB_DUMP_OUTPUT_DEFAULT
constexpr bool kOutputDefault = true;
#else
constexpr bool kOutputDefault = false;
#endif

struct Variable {
  const char* name;
  // Not OK when the value is not among those.
  Status (*set)(const std::string& value, DumpOptions* options);
};

Status SetBool(const std::string& value, bool* field) {
  for (const char* yes : {"1", "on", "ON", "true", "TRUE", "yes"}) {
    if (value == yes) return *field = true, Status::Ok();
  }
  for (const char* no : {"0", "off", "OFF", "false", "FALSE", "no"}) {
    if (value == no) return *field = false, Status::Ok();
  }
  return Status::InvalidArgument(fmt::format("found '{}'", value));
}

template <bool DumpOptions::*field>
Status SetFlag(const std::string& value, DumpOptions* options) {
  return SetBool(value, &(options->*field));
}

Status SetFormat(const std::string& value, DumpOptions* options) {
  using Format = DumpOptions::Format;
  const std::pair<const char*, Format> formats[] = {{"text", Format::kText},
                                                    {"text9", Format::kTextFixed9},
                                                    {"%.9f", Format::kTextFixed9},
                                                    {"npy", Format::kNpy},
                                                    {"raw", Format::kRaw}};
  for (const auto& [name, format] : formats) {
    if (value == name) return options->format = format, Status::Ok();
  }
  return Status::InvalidArgument(
      fmt::format("found '{}'{}", value, DidYouMean(value, {"text", "text9", "npy", "raw"})));
}

Status SetCompress(const std::string& value, DumpOptions* options) {
  if (value != "zstd" && value != "none" && value != "0")
    return Status::InvalidArgument(fmt::format("found '{}'", value));
  options->zstd = value == "zstd";
  return Status::Ok();
}

Status SetOrder(const std::string& value, DumpOptions* options) {
  if (value != "model" && value != "NCHW") return Status::InvalidArgument(fmt::format("found '{}'", value));
  options->channels_first = value == "NCHW";
  return Status::Ok();
}

Status SetFolder(const std::string& value, DumpOptions* options) {
  options->folder = value;
  return Status::Ok();
}

Status SetLayers(const std::string& value, DumpOptions* options) {
  options->layers = value;
  return LayerFilter::Parse(value).status();
}

Status SetTypes(const std::string& value, DumpOptions* options) {
  options->types = value;
  return TypeFilter::Parse(value).status();
}

Status SetForwards(const std::string& value, DumpOptions* options) {
  options->forwards = value;
  return IndexRanges::Parse(value, "0").status();
}

const Variable kVariables[] = {
    {"DUMP_INPUT_BLOB", SetFlag<&DumpOptions::inputs>},
    {"DUMP_OUTPUT_BLOB", SetFlag<&DumpOptions::outputs>},
    {"DUMP_BLOB_DIR", SetFolder},
    {"DUMP_BLOB_FORMAT", SetFormat},
    {"DUMP_BLOB_COMPRESS", SetCompress},
    {"DUMP_BLOB_ORDER", SetOrder},
    {"DUMP_BLOB_LAYERS", SetLayers},
    {"DUMP_BLOB_TYPES", SetTypes},
    {"DUMP_BLOB_FORWARDS", SetForwards},
    {"DUMP_BLOB_STATS", SetFlag<&DumpOptions::statistics_only>},
    {"DUMP_BLOB_UNFUSE", SetFlag<&DumpOptions::unfuse>},
    {"SAVE_IO_TENSORS", SetFlag<&DumpOptions::save_io>},
    {"BMRT_SAVE_IO_TENSORS", SetFlag<&DumpOptions::save_io>},
};

}  // namespace

Result<DumpOptions> DumpOptionsFromEnvironment() {
  PLUMB_RETURN_IF_ERROR(CheckEnvironment());
  DumpOptions options;
  options.inputs = kInputDefault;
  options.outputs = kOutputDefault;
  for (const Variable& variable : kVariables) {
    const char* value = std::getenv(variable.name);
    if (value == nullptr || *value == '\0') continue;  // empty is as good as unset
    const Status status = variable.set(value, &options);
    if (!status.ok()) {
      return Status::InvalidArgument(fmt::format("environment variable {} takes {}: {}", variable.name,
                                                 EnvironmentValues(variable.name), status.message()));
    }
  }
  if (options.statistics_only && !options.inputs) options.outputs = true;  // "statistics" alone means of the outputs
  return options;
}

}  // namespace plumb
