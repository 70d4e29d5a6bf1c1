// What adb and ssh share: a command goes there as one line for a shell, and ends with a line that says its exit code.
// Where that line is missing the connection broke, whatever the client's own exit code is: ssh says 255 for both, and
// adb before Android 7 loses the code.
#ifndef PLUMB_REMOTE_COMMAND_H_
#define PLUMB_REMOTE_COMMAND_H_

#include <string>
#include <vector>

#include "base/process.h"
#include "plumb/remote.h"

namespace plumb {

// "'cat' '/a b'; printf ..." for the shell there.
std::string CommandLineForShell(const std::vector<std::string>& arguments);
// Reads the exit code's line, and takes it away. `what`: "adb X: ./model_check".
Result<RemoteResult> EndedCommand(const std::string& what, const ProcessResult& process, const RemoteOptions& options);
// For files: OK where the client was content.
Status EndedTransfer(const std::string& what, const ProcessResult& process, const RemoteOptions& options);
// RunProcess with the timeout and the callback of the options.
ProcessResult RunClient(const std::vector<std::string>& arguments, const RemoteOptions& options,
                        ProcessOptions process = {});
// Makes a folder here for what is pulled.
Status MakeLocalFolder(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_REMOTE_COMMAND_H_
