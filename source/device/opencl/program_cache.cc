#include "device/opencl/program_cache.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file.h"

namespace plumb::opencl {
namespace {

constexpr char kMagic[] = "plumb opencl 1\n";

// FNV-1a, 64 bits.
uint64_t Hash(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string Folder() {
  if (const char* own = std::getenv("PLUMB_CACHE_DIR")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0) return std::string(cache) + "/plumb";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) return std::string(home) + "/.cache/plumb";
  return "";
}

// What stands in front of the program: everything that must agree.
std::string Header(const std::string& key, const std::string& bytes) {
  return kMagic + Hex(Hash(bytes)) + "\n" + std::to_string(key.size()) + "\n" + key;
}

}  // namespace

std::string CachePath(const std::string& key) {
  const std::string folder = Folder();
  return folder.empty() ? "" : folder + "/opencl-" + Hex(Hash(key)) + ".bin";
}

std::string LoadCached(const std::string& key) {
  const std::string path = CachePath(key);
  if (path.empty()) return "";
  const auto file = ReadFile(path, uint64_t{1} << 28);
  if (!file.ok()) return "";
  const std::string text(file->text());
  const size_t header = Header(key, "").size();  // the checksum's length is always the same
  if (text.size() <= header) return "";
  std::string bytes = text.substr(header);
  return text.compare(0, header, Header(key, bytes)) == 0 ? bytes : "";
}

void StoreCached(const std::string& key, const std::string& bytes) {
  const std::string path = CachePath(key);
  if (path.empty() || bytes.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::string own = path + "." + std::to_string(getpid());  // several processes may store the same program
  if (!WriteFile(own, Header(key, bytes) + bytes).ok()) return;
  std::filesystem::rename(own, path, error);
}

}  // namespace plumb::opencl
