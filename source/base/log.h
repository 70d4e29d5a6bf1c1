// The few lines that the library itself tells the user, on standard error: where a dump went, say. Everything that is
// wrong is a Status; this is for what is right and should still be known. Tools print their reports themselves.
// Threading: from any thread.
#ifndef PLUMB_BASE_LOG_H_
#define PLUMB_BASE_LOG_H_

#include <string>

namespace plumb {

// "plumb: <text>" as one line.
void LogNote(const std::string& text);

}  // namespace plumb

#endif  // PLUMB_BASE_LOG_H_
