#include "device/shared/program_cache.h"

#include <fmt/core.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFile = uint64_t{1} << 28;

uint64_t HashText(const std::string& text) { return Hash(text.data(), text.size()); }

// What stands in front of the program: everything that must agree.
std::string Header(const std::string& kind, const std::string& key, const std::string& bytes) {
  return fmt::format("plumb {} 1\n{}\n{}\n{}", kind, Hex(HashText(bytes)), key.size(), key);
}

// A folder that no other user can have put programs into; empty: it cannot be had.
std::string TemporaryFolder() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) return "";
  const std::string folder = (temporary / ("plumb-" + std::to_string(geteuid()))).string();
  ::mkdir(folder.c_str(), 0700);
  struct stat found {};
  const bool ours = ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
                    (found.st_mode & 077) == 0;
  return ours ? folder : "";
}

std::string ReadCached(const std::string& path, const std::string& kind, const std::string& key, std::string* why_not) {
  const auto file = ReadFile(path, kMaxFile);
  if (!file.ok()) return *why_not = file.status().message(), "";
  const std::string text(file->text());
  const size_t header = Header(kind, key, "").size();  // the checksum's length is always the same
  std::string bytes = text.size() <= header ? "" : text.substr(header);
  if (!bytes.empty() && text.compare(0, header, Header(kind, key, bytes)) == 0) return bytes;
  return *why_not = "it is of another program or damaged", "";
}

}  // namespace

uint64_t Hash(const void* data, size_t bytes, uint64_t hash) {
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  return hash;
}

std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

bool IsWritableFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return fs::is_directory(folder, error) && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

std::string CacheFolder() {
  if (const char* own = std::getenv("PLUMB_CACHE_DIR")) return own;
  const auto inside = [](const char* variable, const char* path) {
    const char* value = std::getenv(variable);
    const std::string folder = value == nullptr || *value == 0 ? "" : std::string(value) + path;
    return folder.empty() || !IsWritableFolder(folder) ? "" : folder;
  };
  if (const std::string folder = inside("XDG_CACHE_HOME", "/plumb"); !folder.empty()) return folder;
  if (const std::string folder = inside("HOME", "/.cache/plumb"); !folder.empty()) return folder;
  return TemporaryFolder();
}

std::string CachePath(const std::string& kind, const std::string& key) {
  const std::string folder = CacheFolder();
  return folder.empty() ? "" : fmt::format("{}/{}-{}.bin", folder, kind, Hex(HashText(key)));
}

std::string LoadCached(const std::string& kind, const std::string& key) {
  const std::string path = CachePath(kind, key);
  std::string why_not;
  std::string bytes = path.empty() ? "" : ReadCached(path, kind, key, &why_not);
  if (path.empty()) {
    Log(LogLevel::kDebug,
        fmt::format("program cache: none for {}: no folder can be written, or PLUMB_CACHE_DIR is empty", kind));
  } else if (bytes.empty()) {
    Log(LogLevel::kDebug, fmt::format("program cache {}: miss: {}", path, why_not));
  } else {
    Log(LogLevel::kDebug, fmt::format("program cache {}: hit, {} bytes", path, bytes.size()));
  }
  return bytes;
}

void StoreCached(const std::string& kind, const std::string& key, const std::string& bytes) {
  const std::string path = CachePath(kind, key);
  if (path.empty() || bytes.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string own = fmt::format("{}.{}", path, getpid());  // several processes may store the same program
  const Status written = WriteFile(own, Header(kind, key, bytes) + bytes);
  if (written.ok()) fs::rename(own, path, error);
  Log(LogLevel::kDebug,
      fmt::format("program cache {}: {}", path,
                  written.ok() && !error ? fmt::format("written, {} bytes", bytes.size())
                                         : "not written: " + (error ? error.message() : written.message())));
}

}  // namespace plumb
