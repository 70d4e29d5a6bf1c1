// SPDX-License-Identifier: Apache-2.0
// A key, a zero byte and a program: its file gives the program back, and nothing once a byte of it is another, or is
// missing. The same bytes as a file: no program, since nobody put a checksum right.
#include <cstdlib>
#include <string>

#include "device/shared/program_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  const std::string all(reinterpret_cast<const char*>(data), size);
  const std::string key = all.substr(0, all.find('\0'));
  const std::string program = key.size() == size ? "" : all.substr(key.size() + 1);
  if (!ProgramOf(all, "opencl", key).empty()) std::abort();
  std::string file = CacheFile("opencl", key, program);
  if (ProgramOf(file, "opencl", key) != program) std::abort();
  if (!ProgramOf(file, "vulkan", key).empty() || !ProgramOf(file, "opencl", key + "x").empty()) std::abort();
  const size_t place = Hash(data, size) % file.size();
  if (!ProgramOf(std::string_view(file).substr(0, place), "opencl", key).empty()) std::abort();
  file[place] = static_cast<char>(file[place] ^ 1);
  if (!ProgramOf(file, "opencl", key).empty()) std::abort();
  return 0;
}
