// Any bytes as the manifest of a dump that carries its own graph (ggml's), beside files of a few sizes: one sentence or
// a graph whose shapes can be inferred, never a crash.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/memory_budget.h"
#include "interop/dump_graph.h"
#include "plumb/file.h"
#include "plumb/model.h"

namespace plumb {
namespace {

// In memory: one file per input is written. b<bytes>.raw holds 0, 1, 2 ... as i64.
const std::string& Folder() {
  static const WorkFolder folder = [] {
    auto made = WorkFolder::Make("plumb-fuzz", ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "");
    if (!made.ok()) std::abort();
    for (const size_t size : {4, 8, 16, 18, 20, 32, 34, 48, 64, 68, 96, 128, 144, 192, 256, 512}) {
      std::string bytes(size, '\0');
      for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % 8 == 0 ? i / 8 : 0);
      if (!WriteFile(made->path() + "/b" + std::to_string(size) + ".raw", bytes).ok()) std::abort();
    }
    return std::move(*made);
  }();
  return folder.path();
}

}  // namespace
}  // namespace plumb

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!plumb::WriteFile(plumb::Folder() + "/manifest.json", text).ok()) std::abort();
  plumb::LoadOptions options;
  options.max_bytes = int64_t{1} << 24;
  const auto found = plumb::LoadDumpGraph(plumb::Folder(), options);
  const std::string sentence = found.ok() ? "fine" : found.status().message();
  if (sentence.empty() || sentence.find('\n') != std::string::npos) std::abort();
  if (found.ok() && found->graph.layers.empty()) std::abort();
  return 0;
}
