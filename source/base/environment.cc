// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/environment.h"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/log.h"
#include "plumb/tool/printing.h"

extern char** environ;

namespace plumb {
namespace {

constexpr const char* kSwitch = "1 or 0";

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// How far a name may be from one of ours to be taken for it. PLUMB_ is nobody else's, DUMP_ may be anybody's.
int Nearness(std::string_view name) {
  if (StartsWith(name, "PLUMB_")) return std::min(4, static_cast<int>(name.size()) / 3);
  if (StartsWith(name, "DUMP_BLOB_")) return static_cast<int>(name.size());
  return 2;
}

// Nor is half of a short name of ours a misspelling: PLUMB_ROOT is not PLUMB_LOG.
int Reach(std::string_view variable) {
  return StartsWith(variable, "PLUMB_") ? static_cast<int>(variable.size() - 6) / 2 : static_cast<int>(variable.size());
}

bool HasOurPrefix(std::string_view name) {
  return StartsWith(name, "PLUMB_") || StartsWith(name, "DUMP_") || StartsWith(name, "SAVE_IO_");
}

}  // namespace

const std::vector<EnvironmentVariable>& EnvironmentVariables() {
  static const std::vector<EnvironmentVariable> variables = {
      {"DUMP_INPUT_BLOB", kSwitch, "dump every layer's inputs"},
      {"DUMP_OUTPUT_BLOB", kSwitch, "dump every layer's outputs"},
      {"DUMP_BLOB_DIR", "a folder", "where dumps go (plumb_dump)"},
      {"DUMP_BLOB_FORMAT", "text, text9 (printf's %.9f), npy or raw", "how blobs are written (text)"},
      {"DUMP_BLOB_COMPRESS", "zstd or none", "compress each dumped file (none)"},
      {"DUMP_BLOB_ORDER", "model or NCHW",
       "the axes of a .tflite's blobs: as its file says, or channels first, as our operators hold them (model)"},
      {"DUMP_BLOB_LAYERS", "globs, /regular expressions/ and index ranges separated by commas",
       "which layers are dumped (all)"},
      {"DUMP_BLOB_TYPES", "operator types separated by commas", "which types of layers are dumped (all)"},
      {"DUMP_BLOB_FORWARDS", "numbers and ranges such as 0,5-9,20- or all", "which Forwards are dumped (0)"},
      {"DUMP_BLOB_STATS", kSwitch, "statistics in the manifest only, no blob files"},
      {"DUMP_BLOB_UNFUSE", kSwitch, "prepare the network without fusion"},
      {"DUMP_STAGE_DIR", "a folder", "where the stages of a program go (none are written)"},
      {"SAVE_IO_TENSORS", kSwitch, "write the network's inputs and outputs as raw files"},
      {"BMRT_SAVE_IO_TENSORS", kSwitch, "the same, as Sophon's runtime spells it"},
      {"PLUMB_LOG", "debug, info, warn or off",
       "what is said on standard error; debug: drivers, kernels with refusals, program caches, pairings (info)"},
      {"PLUMB_MAX_CPU_ISA", "GENERIC, SSE41, AVX2, AVX512, NEON or DEFAULT", "holds the CPU kernels to an ISA"},
      {"PLUMB_CACHE_DIR", "a folder",
       "compiled GPU programs and environments of wheels ($XDG_CACHE_HOME/plumb, else ~/.cache/plumb)"},
      {"PLUMB_OPENCL_SHAPES", "cpu or gpu", "OPENCL's kernel shapes (by device type)"},
      {"PLUMB_OPENCL_WINOGRAD", "off or 4", "OPENCL's 3x3 convolutions (where Winograd pays)"},
      {"PLUMB_VULKAN_SHAPES", "cpu or gpu", "VULKAN's kernel shapes (by adapter type)"},
      {"PLUMB_VULKAN_WINOGRAD", "off, 2 or 4", "VULKAN's 3x3 convolutions (where Winograd pays)"},
      {"PLUMB_VULKAN_VALIDATION", kSwitch, "run VULKAN under the Khronos validation layer"},
      {"PLUMB_STEP_SECONDS", "a number",
       "how long judging a step of 100 layers or more may take before it is not tested; 0: any time (30)"},
      {"PLUMB_MAX_NODES", "a number",
       "how many nodes and steps functions, Loops and Scans of an ONNX model may make (200000)"},
      {"PLUMB_PYTHON", "a program",
       "the Python that runs ONNX Runtime for goldens and alignments (that of build/venv or of the wheel's "
       "environment, else python3)"},
  };
  return variables;
}

const char* EnvironmentValues(const char* name) {
  for (const EnvironmentVariable& variable : EnvironmentVariables()) {
    if (std::string_view(name) == variable.name) return variable.values;
  }
  return "";
}

Status CheckEnvironment() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!HasOurPrefix(name) || name.size() > 64) continue;
    const EnvironmentVariable* nearest = nullptr;
    int best = Nearness(name) + 1;
    for (const EnvironmentVariable& variable : EnvironmentVariables()) {
      const int distance = EditDistance(name, variable.name);
      if (distance >= best || distance > Reach(variable.name)) continue;
      best = distance;
      nearest = &variable;
    }
    if (nearest == nullptr || name == nearest->name) continue;
    return Status::InvalidArgument(fmt::format(
        "unknown environment variable {}; did you mean {}? (all of Plumb's: doc/environment.md)", name, nearest->name));
  }
  return CheckLogEnvironment();
}

}  // namespace plumb
