// SPDX-License-Identifier: Apache-2.0
#include "remote/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

namespace plumb {
namespace {

constexpr double kSecondsOfTheSilent = 3;

// What the other side and its client said, with what may help behind it.
std::string Said(const std::string& text) {
  std::string said = LastLines(text);
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  const char* help = "";
  if (has("No space left on device")) help = "; free some space there, or name another folder";
  if (has("Host key verification failed")) help = "; log in once by hand, to look at its key and accept it";
  if (has("' not found")) help = "; `adb devices` lists those that are there";
  if (has("unauthorized")) help = "; unlock the device and allow USB debugging";
  if (has("device offline")) help = "; plug it in again, or `adb disconnect` and `adb connect` it (doc/on_device.md)";
  if (has("no permissions")) help = "; this user may not open its USB port: udev rules (doc/on_device.md)";
  if (has("Permission denied (")) help = "; ssh needs a key that asks for nothing (ssh-copy-id, ssh-agent)";
  return (said.empty() ? "it said nothing" : "its last lines: " + said) + help;
}

// " (the client ended with exit code 255)": another thing than what a program there ended with.
std::string EndOf(const ProcessResult& client) {
  if (client.signal != 0) return fmt::format(" (the client was ended by signal {})", client.signal);
  return fmt::format(" (the client ended with exit code {})", client.exit_code);
}

Status NotStarted(const std::string& what, const ProcessResult& process) {
  return Status::DeviceError(
      fmt::format("{}: cannot start the program here: {}; install it (Debian: apt-get install "
                  "adb openssh-client)",
                  what, process.error));
}

}  // namespace

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

Client::Client(const RemoteOptions& options, std::vector<std::string> probe)
    : options_(options), probe_(std::move(probe)) {
  std::random_device random;
  mark_ = fmt::format("plumb-exit-{:08x}{:08x}:", random(), random());
}

std::string Client::CommandLine(const std::vector<std::string>& arguments) const {
  std::string line;
  for (const std::string& argument : arguments) line += QuotedForShell(argument) + " ";
  return fmt::format("{}; printf '\\n{}%d\\n' \"$?\"", line, mark_);
}

Status Client::GivenUp(const std::string& what) const {
  return Status::DeviceError(fmt::format("{}: given up{}", what, why_));
}

Result<RemoteResult> Client::EndedCommand(const std::string& what, const ProcessResult& process) const {
  if (!process.error.empty()) return NotStarted(what, process);
  if (process.given_up) return GivenUp(what);
  RemoteResult result;
  result.out = process.out;
  result.err = process.err;
  const size_t mark = result.out.rfind(mark_);
  if (mark == std::string::npos) {
    return Status::DeviceError(fmt::format("{}: the connection failed or broke off{}; {}", what, EndOf(process),
                                           Said(process.out + "\n" + process.err)));
  }
  result.exit_code = std::atoi(result.out.c_str() + mark + mark_.size());
  result.out.resize(mark);
  while (!result.out.empty() && (result.out.back() == '\r' || result.out.back() == '\n')) {
    const bool newline = result.out.back() == '\n';
    result.out.pop_back();
    if (newline) break;  // the one in front of the mark
  }
  return result;
}

Status Client::EndedTransfer(const std::string& what, const ProcessResult& process) const {
  if (!process.error.empty()) return NotStarted(what, process);
  if (process.given_up) return GivenUp(what);
  if (process.exit_code == 0) return Status::Ok();
  return Status::DeviceError(fmt::format("{} failed; {}", what, Said(process.out + "\n" + process.err)));
}

ProcessResult Client::Run(const std::vector<std::string>& arguments, ProcessOptions process) {
  why_.clear();
  asked_ = 0;
  process.wait = [this](double seconds, double silent) { return GoesOn(seconds, silent); };
  return RunProcess(arguments, process);
}

bool Client::GoesOn(double seconds, double silent) {
  if (options_.wait && !options_.wait(seconds)) return false;
  if (options_.timeout > 0 && seconds >= options_.timeout) {
    why_ = fmt::format(" after {} s, as the limit says", options_.timeout);
    return false;
  }
  const double limit = options_.silence;
  const bool asks = limit > 0 && !probe_.empty();
  if (is_silent_ && seconds >= kSecondsOfTheSilent) return false;
  if (!asks || is_silent_ || std::min(silent, seconds - asked_) < limit) return true;
  asked_ = seconds + limit;  // at the latest
  if (Answers()) return true;
  if (options_.wait && !options_.wait(seconds)) return false;  // it was interrupted
  is_silent_ = true;
  why_ = fmt::format(
      ": nothing came from there for {} s, and a second call got no answer in {} s; look whether it is "
      "on, awake and reachable (adb: `adb kill-server`), or give it longer with RemoteOptions::silence",
      limit, limit);
  return false;
}

bool Client::Answers() {
  ProcessOptions process;
  process.wait = [this](double seconds, double) {
    return seconds < options_.silence && (!options_.wait || options_.wait(asked_ - options_.silence + seconds));
  };
  return !RunProcess(probe_, process).given_up;
}

Status MakeLocalFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status::IoError(fmt::format("cannot make the folder '{}': {}", path, error.message())) : Status::Ok();
}

}  // namespace plumb
