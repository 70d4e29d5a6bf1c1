// DumpOptionsFromEnvironment: one table of the variables, from which parsing, the lists in errors and the unknown-name
// test derive. doc/dump.md describes them for users.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "dump/filter.h"
#include "plumb/dump.h"

extern char** environ;

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
  const char* values;
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
  return Status::InvalidArgument("found '" + value + "'");
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
  return Status::InvalidArgument("found '" + value + "'");
}

Status SetCompress(const std::string& value, DumpOptions* options) {
  if (value != "zstd" && value != "none" && value != "0") return Status::InvalidArgument("found '" + value + "'");
  options->zstd = value == "zstd";
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

constexpr const char* kBoolValues = "1 or 0";

const Variable kVariables[] = {
    {"DUMP_INPUT_BLOB", kBoolValues, SetFlag<&DumpOptions::inputs>},
    {"DUMP_OUTPUT_BLOB", kBoolValues, SetFlag<&DumpOptions::outputs>},
    {"DUMP_BLOB_DIR", "a folder", SetFolder},
    {"DUMP_BLOB_FORMAT", "text, text9 (printf's %.9f), npy or raw", SetFormat},
    {"DUMP_BLOB_COMPRESS", "zstd or none", SetCompress},
    {"DUMP_BLOB_LAYERS", "globs, /regular expressions/ and index ranges separated by commas", SetLayers},
    {"DUMP_BLOB_TYPES", "operator types separated by commas", SetTypes},
    {"DUMP_BLOB_FORWARDS", "numbers and ranges such as 0,5-9,20- or all", SetForwards},
    {"DUMP_BLOB_STATS", kBoolValues, SetFlag<&DumpOptions::statistics_only>},
    {"DUMP_BLOB_UNFUSE", kBoolValues, SetFlag<&DumpOptions::unfuse>},
    {"SAVE_IO_TENSORS", kBoolValues, SetFlag<&DumpOptions::save_io>},
};

bool IsOurs(std::string_view name) { return name.substr(0, 5) == "DUMP_" || name.substr(0, 8) == "SAVE_IO_"; }

Status CheckNames() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!IsOurs(name)) continue;
    bool known = false;
    std::string all;
    for (const Variable& variable : kVariables) {
      known = known || name == variable.name;
      all += std::string(all.empty() ? "" : ", ") + variable.name;
    }
    if (!known) {
      return Status::InvalidArgument("unknown environment variable " + std::string(name) + "; the variables are " +
                                     all);
    }
  }
  return Status::Ok();
}

}  // namespace

Result<DumpOptions> DumpOptionsFromEnvironment() {
  PLUMB_RETURN_IF_ERROR(CheckNames());
  DumpOptions options;
  options.inputs = kInputDefault;
  options.outputs = kOutputDefault;
  for (const Variable& variable : kVariables) {
    const char* value = std::getenv(variable.name);
    if (value == nullptr || *value == '\0') continue;  // empty is as good as unset
    const Status status = variable.set(value, &options);
    if (!status.ok()) {
      return Status::InvalidArgument("environment variable " + std::string(variable.name) + " takes " +
                                     variable.values + ": " + status.message());
    }
  }
  if (options.statistics_only && !options.inputs) options.outputs = true;  // "statistics" alone means of the outputs
  return options;
}

}  // namespace plumb
