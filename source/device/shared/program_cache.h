// SPDX-License-Identifier: Apache-2.0
// Compiled programs of GPU drivers on disk, in $PLUMB_CACHE_DIR, else $XDG_CACHE_HOME/plumb, else $HOME/.cache/plumb,
// else, where none of these can be used, in a folder of this user in the temporary one. `kind` keeps the devices apart:
// "opencl", "vulkan".
//
// A driver runs what it is given, so folder and file must be this user's own and nobody else may write to them: a
// folder where that is not so is not used, which is said once. A file holds its whole key and XXH3's 128 bits of key
// and program: whatever is damaged, cut off or of another program is a miss. No hash could tell a file that somebody
// made on purpose, who could read its key here as well; that is what the owner is for. A folder that cannot be written
// is no error.
#ifndef PLUMB_DEVICE_SHARED_PROGRAM_CACHE_H_
#define PLUMB_DEVICE_SHARED_PROGRAM_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

// Where programs are kept; empty: nowhere (PLUMB_CACHE_DIR is set to nothing, or no folder can be used).
std::string CacheFolder();
// The stored bytes for `key` (driver, device, options and source), or an empty string.
std::string LoadCached(const std::string& kind, const std::string& key);
void StoreCached(const std::string& kind, const std::string& key, const std::string& bytes);
// Where LoadCached looks; empty: no cache.
std::string CachePath(const std::string& kind, const std::string& key);
// A program's file, and the program in such a file: empty where it is another kind's or key's, or damaged.
std::string CacheFile(const std::string& kind, const std::string& key, const std::string& bytes);
std::string ProgramOf(std::string_view file, const std::string& kind, const std::string& key);

// Makes the folder, for this user alone, where it is not there. Whether programs can be kept in it: it can be written,
// and nobody else can have put any there. Where somebody can, a warning says so and what mends it, once per folder.
bool IsOwnFolder(const std::string& folder);

constexpr uint64_t kHashStart = 0xcbf29ce484222325u;  // FNV-1a, 64 bits
uint64_t Hash(const void* data, size_t bytes, uint64_t hash = kHashStart);
// 16 digits.
std::string Hex(uint64_t value);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_PROGRAM_CACHE_H_
