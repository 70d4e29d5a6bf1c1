// Whole files in and out: what is written is complete or not there.
//
// Errors are complete sentences with the path and the operating system's text.
// Threading: free functions; one writer per path at a time.
#ifndef PLUMB_FILE_H_
#define PLUMB_FILE_H_

#include <string>
#include <string_view>

#include "plumb/status.h"

namespace plumb {

// Writes `path`.part and renames it, so that nobody ever reads half a report. A path that exists and is no regular file
// (/dev/stdout, a pipe) is written directly.
Status WriteFile(const std::string& path, std::string_view bytes);

// Whether WriteFile could: tries it, and leaves nothing behind. To be asked before long work.
Status TryWriteFile(const std::string& path);

// All bytes of a file or pipe. NotFound, InvalidArgument (it cannot be opened, is a folder or device) or IoError.
Result<std::string> ReadWholeFile(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_FILE_H_
