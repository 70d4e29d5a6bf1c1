#include "remote/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace plumb {
namespace {

constexpr const char* kExitMark = "plumb-exit:";

// What the other side and its client said, with what may help behind it.
std::string Said(const std::string& text) {
  std::string said = LastLines(text);
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  const char* help = "";
  if (has("No space left on device")) help = "; free some space there, or name another folder";
  if (has("Host key verification failed")) help = "; log in once by hand, to look at its key and accept it";
  if (has("' not found")) help = "; `adb devices` lists those that are there";
  if (has("unauthorized")) help = "; unlock the device and allow USB debugging";
  if (has("Permission denied (")) help = "; ssh needs a key that asks for nothing (ssh-copy-id, ssh-agent)";
  return (said.empty() ? "it said nothing" : "its last lines: " + said) + help;
}

Status NotStarted(const std::string& what, const ProcessResult& process) {
  return Status::DeviceError(
      fmt::format("{}: cannot start the program here: {}; install it (Debian: apt-get install "
                  "adb openssh-client)",
                  what, process.error));
}

Status GivenUp(const std::string& what, const RemoteOptions& options) {
  const std::string limit = options.timeout > 0 ? fmt::format(" after {} s, as the limit says", options.timeout) : "";
  return Status::DeviceError(fmt::format("{}: given up{}", what, limit));
}

}  // namespace

std::string QuotedForShell(const std::string& argument) {
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string LastLines(const std::string& text, size_t lines) {
  std::vector<std::string> found;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) found.push_back(line);
    begin = end + 1;
  }
  std::string last;
  for (size_t i = found.size() - std::min(lines, found.size()); i < found.size(); ++i) {
    last += (last.empty() ? "" : " | ") + found[i];
  }
  return last;
}

std::string CommandLineForShell(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) line += QuotedForShell(argument) + " ";
  return fmt::format("{}; printf '\\n{}%d\\n' \"$?\"", line, kExitMark);
}

Result<RemoteResult> EndedCommand(const std::string& what, const ProcessResult& process, const RemoteOptions& options) {
  if (!process.error.empty()) return NotStarted(what, process);
  if (process.given_up) return GivenUp(what, options);
  RemoteResult result;
  result.out = process.out;
  result.err = process.err;
  const size_t mark = result.out.rfind(kExitMark);
  if (mark == std::string::npos) {
    return Status::DeviceError(
        fmt::format("{}: the connection failed or broke off; {}", what, Said(process.out + "\n" + process.err)));
  }
  result.exit_code = std::atoi(result.out.c_str() + mark + std::string(kExitMark).size());
  result.out.resize(mark);
  while (!result.out.empty() && (result.out.back() == '\r' || result.out.back() == '\n')) {
    const bool newline = result.out.back() == '\n';
    result.out.pop_back();
    if (newline) break;  // the one in front of the mark
  }
  return result;
}

Status EndedTransfer(const std::string& what, const ProcessResult& process, const RemoteOptions& options) {
  if (!process.error.empty()) return NotStarted(what, process);
  if (process.given_up) return GivenUp(what, options);
  if (process.exit_code == 0) return Status::Ok();
  return Status::DeviceError(fmt::format("{} failed; {}", what, Said(process.out + "\n" + process.err)));
}

ProcessResult RunClient(const std::vector<std::string>& arguments, const RemoteOptions& options,
                        ProcessOptions process) {
  process.wait = [&options](double seconds) {
    return (options.timeout <= 0 || seconds < options.timeout) && (!options.wait || options.wait(seconds));
  };
  return RunProcess(arguments, process);
}

Status MakeLocalFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status::IoError(fmt::format("cannot make the folder '{}': {}", path, error.message())) : Status::Ok();
}

}  // namespace plumb
