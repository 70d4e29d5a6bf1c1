// Compiled programs of GPU drivers on disk, in $PLUMB_CACHE_DIR, else $XDG_CACHE_HOME/plumb, else $HOME/.cache/plumb,
// else, where none of these can be written, in a folder of this user in the temporary one. A file holds its whole key
// and a checksum, so a corrupt or foreign file is a miss; a folder that cannot be written is no error either. `kind`
// keeps the devices apart: "opencl", "vulkan".
#ifndef PLUMB_DEVICE_SHARED_PROGRAM_CACHE_H_
#define PLUMB_DEVICE_SHARED_PROGRAM_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace plumb {

// Where programs are kept; empty: nowhere (PLUMB_CACHE_DIR is set to nothing, or no folder can be written).
std::string CacheFolder();
// The stored bytes for `key` (driver, device, options and source), or an empty string.
std::string LoadCached(const std::string& kind, const std::string& key);
void StoreCached(const std::string& kind, const std::string& key, const std::string& bytes);
// Where LoadCached looks; empty: no cache.
std::string CachePath(const std::string& kind, const std::string& key);

// Makes the folder where it is not there. Whether files can be written in it.
bool IsWritableFolder(const std::string& folder);

constexpr uint64_t kHashStart = 0xcbf29ce484222325u;  // FNV-1a, 64 bits
uint64_t Hash(const void* data, size_t bytes, uint64_t hash = kHashStart);
// 16 digits.
std::string Hex(uint64_t value);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_PROGRAM_CACHE_H_
