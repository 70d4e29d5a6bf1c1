// SPDX-License-Identifier: Apache-2.0
// Any bytes as the manifest of a dump that carries its own graph (ggml's), beside files of a few sizes: one sentence or
// a graph whose shapes can be inferred, never a crash.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fuzz_folder.h"
#include "interop/dump_graph.h"
#include "plumb/model.h"

namespace plumb {
namespace {

// b<bytes>.raw holds 0, 1, 2 ... as i64.
FuzzFolder& Folder() {
  static FuzzFolder folder;
  static const bool filled = [] {
    for (const size_t size : {4, 8, 16, 18, 20, 32, 34, 48, 64, 68, 96, 128, 144, 192, 256, 512}) {
      std::string bytes(size, '\0');
      for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % 8 == 0 ? i / 8 : 0);
      if (!WriteFile(folder.path() + "/b" + std::to_string(size) + ".raw", bytes).ok()) std::abort();
    }
    return true;
  }();
  (void)filled;
  return folder;
}

}  // namespace
}  // namespace plumb

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plumb::Folder().Write("manifest.json", data, size);
  plumb::LoadOptions options;
  options.max_bytes = int64_t{1} << 24;
  const auto found = plumb::LoadDumpGraph(plumb::Folder().path(), options);
  const std::string sentence = found.ok() ? "fine" : found.status().message();
  if (sentence.empty() || sentence.find('\n') != std::string::npos) std::abort();
  if (found.ok() && found->graph.layers.empty()) std::abort();
  return 0;
}
