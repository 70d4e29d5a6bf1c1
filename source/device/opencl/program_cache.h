// Compiled programs on disk, in $PLUMB_CACHE_DIR, else $XDG_CACHE_HOME/plumb, else $HOME/.cache/plumb. A file holds its whole key
// and a checksum, so a corrupt or foreign file is a miss; a folder that cannot be written is no error either.
#ifndef PLUMB_DEVICE_OPENCL_PROGRAM_CACHE_H_
#define PLUMB_DEVICE_OPENCL_PROGRAM_CACHE_H_

#include <string>

namespace plumb::opencl {

// The stored bytes for `key` (driver, device, options and source), or an empty string.
std::string LoadCached(const std::string& key);
void StoreCached(const std::string& key, const std::string& bytes);
// Where LoadCached looks, for tests; empty: no cache.
std::string CachePath(const std::string& key);

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_PROGRAM_CACHE_H_
