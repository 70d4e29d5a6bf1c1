// Runs another program and waits for it: started with its arguments one by one (posix_spawn), so that no shell reads
// them.
#ifndef PLUMB_SESSION_CHILD_PROCESS_H_
#define PLUMB_SESSION_CHILD_PROCESS_H_

#include <string>
#include <vector>

namespace plumb {

struct ChildResult {
  int exit_code = -1;  // -1: it could not be started (`output` says why) or was ended by a signal
  std::string output;  // what it wrote to stdout and stderr
};

// arguments[0] is the program, looked up in PATH. It reads nothing from stdin. Threading: any thread.
ChildResult RunChild(const std::vector<std::string>& arguments);

}  // namespace plumb

#endif  // PLUMB_SESSION_CHILD_PROCESS_H_
