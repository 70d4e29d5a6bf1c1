// SPDX-License-Identifier: Apache-2.0
#include "device/shared/program_cache.h"

#include <fmt/core.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>

#define XXH_INLINE_ALL  // header only: nothing to link
#include <xxhash.h>

#include "base/file.h"
#include "base/log.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFile = uint64_t{1} << 28;

uint64_t HashText(const std::string& text) { return Hash(text.data(), text.size()); }

std::string Strong(const std::string& kind, const std::string& key, const std::string& bytes) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const std::string* part : {&kind, &key, &bytes}) {
    const uint64_t size = part->size();
    XXH3_128bits_update(&state, &size, sizeof(size));
    XXH3_128bits_update(&state, part->data(), part->size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return Hex(hash.high64) + Hex(hash.low64);
}

// What stands in front of the program: everything that must agree.
std::string Header(const std::string& kind, const std::string& key, const std::string& bytes) {
  return fmt::format("plumb {} 2\n{}\n{}\n{}", kind, Strong(kind, key, bytes), key.size(), key);
}

// Who else can have written there; "" where nobody can. `info`: of the file or folder itself.
std::string OthersWrite(const struct stat& info) {
  if (info.st_uid != geteuid()) return fmt::format("it belongs to user {}, not to user {}", info.st_uid, geteuid());
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return "";
  return fmt::format("other users may write to it (mode {:04o})", info.st_mode & 07777);
}

// Of a folder and, where it is reached by a link, of the link.
std::string OthersWriteInto(const std::string& folder) {
  struct stat link {
  }, info{};
  if (::lstat(folder.c_str(), &link) != 0 || ::stat(folder.c_str(), &info) != 0) return "";  // there is none
  if (link.st_uid != geteuid()) return OthersWrite(link);
  return OthersWrite(info);
}

// Whether it is nobody else's; says once what is wrong with it.
bool IsTrusted(const std::string& folder) {
  const std::string why = OthersWriteInto(folder);
  if (why.empty()) return true;
  static std::mutex* mutex = new std::mutex;
  static auto* said = new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(*mutex);
  if (!said->insert(folder).second) return false;
  Log(LogLevel::kWarn, fmt::format("'{}' is not used for compiled programs, because {}: what lies there may be "
                                   "anybody's; remove it, or set PLUMB_CACHE_DIR to a folder that is yours alone "
                                   "(chmod go-w)",
                                   folder, why));
  return false;
}

// Makes it for this user alone where it is not there; whether it is there.
bool MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::path path(folder);
  if (!path.has_filename()) path = path.parent_path();  // a '/' at the end
  fs::create_directories(path.parent_path(), error);
  ::mkdir(folder.c_str(), 0700);
  return fs::is_directory(folder, error);
}

std::string TemporaryFolder() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) return "";
  const std::string folder = (temporary / ("plumb-" + std::to_string(geteuid()))).string();
  return IsOwnFolder(folder) ? folder : "";
}

// A file that only this user can have written: the folder is, but the file may be older than its rules.
bool IsOwnFile(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && OthersWrite(info).empty();
}

std::string ReadCached(const std::string& path, const std::string& kind, const std::string& key, std::string* why_not) {
  const auto file = ReadFile(path, kMaxFile);
  if (!file.ok()) return *why_not = file.status().message(), "";
  if (!IsOwnFile(path)) return *why_not = "other users may have written it", "";
  std::string bytes = ProgramOf(file->text(), kind, key);
  if (bytes.empty()) *why_not = "it is of another program or damaged";
  return bytes;
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

bool IsOwnFolder(const std::string& folder) {
  return MakeFolder(folder) && ::access(folder.c_str(), W_OK | X_OK) == 0 && IsTrusted(folder);
}

std::string CacheFolder() {
  if (const char* own = std::getenv("PLUMB_CACHE_DIR")) {
    return *own != '\0' && (!MakeFolder(own) || IsTrusted(own)) ? own : "";
  }
  const auto inside = [](const char* variable, const char* path) {
    const char* value = std::getenv(variable);
    const std::string folder = value == nullptr || *value == 0 ? "" : std::string(value) + path;
    return folder.empty() || !IsOwnFolder(folder) ? "" : folder;
  };
  if (const std::string folder = inside("XDG_CACHE_HOME", "/plumb"); !folder.empty()) return folder;
  if (const std::string folder = inside("HOME", "/.cache/plumb"); !folder.empty()) return folder;
  return TemporaryFolder();
}

std::string CachePath(const std::string& kind, const std::string& key) {
  const std::string folder = CacheFolder();
  return folder.empty() ? "" : fmt::format("{}/{}-{}.bin", folder, kind, Hex(HashText(key)));
}

std::string CacheFile(const std::string& kind, const std::string& key, const std::string& bytes) {
  return Header(kind, key, bytes) + bytes;
}

std::string ProgramOf(std::string_view file, const std::string& kind, const std::string& key) {
  const size_t header = Header(kind, key, "").size();  // the checksum's length is always the same
  if (file.size() <= header) return "";
  std::string bytes(file.substr(header));
  return file.substr(0, header) == Header(kind, key, bytes) ? bytes : "";
}

std::string LoadCached(const std::string& kind, const std::string& key) {
  const std::string path = CachePath(kind, key);
  std::string why_not;
  std::string bytes = path.empty() ? "" : ReadCached(path, kind, key, &why_not);
  if (path.empty()) {
    Log(LogLevel::kDebug,
        fmt::format("program cache: none for {}: no folder can be used, or PLUMB_CACHE_DIR is empty", kind));
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
  const std::string own = fmt::format("{}.{}", path, getpid());  // several processes may store the same program
  const Status written = WriteFile(own, CacheFile(kind, key, bytes));
  if (written.ok()) fs::permissions(own, fs::perms::owner_read | fs::perms::owner_write, error);
  if (written.ok() && !error) fs::rename(own, path, error);
  Log(LogLevel::kDebug,
      fmt::format("program cache {}: {}", path,
                  written.ok() && !error ? fmt::format("written, {} bytes", bytes.size())
                                         : "not written: " + (error ? error.message() : written.message())));
}

}  // namespace plumb
