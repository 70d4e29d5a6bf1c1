// SPDX-License-Identifier: Apache-2.0
#include "common/cli.h"

#include <fmt/core.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <new>
#include <stdexcept>
#include <system_error>

#include "common/guard.h"
#include "common/option_words.h"
#include "common/print.h"
#include "plumb/tool/printing.h"

namespace plumb {

std::string ShellQuoted(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=:+@%";
  if (text.find_first_not_of(kPlain) == std::string::npos && !text.empty()) return text;
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  const bool escaped = std::any_of(text.begin(), text.end(), is_control);  // as $'...': such bytes are not printed
  std::string quoted = escaped ? "$'" : "'";
  for (char c : text) {
    char octal[8];
    std::snprintf(octal, sizeof(octal), "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
    if (escaped && (is_control(static_cast<unsigned char>(c)) || c == '\'' || c == '\\')) {
      quoted += octal;
    } else {
      quoted += c == '\'' ? "'\\''" : std::string(1, c);
    }
  }
  return quoted + "'";
}

std::vector<std::string> SplitList(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size() && !text.empty()) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<std::vector<double>> ParseNumbers(const std::string& option, const std::string& text) {
  std::vector<double> values;
  for (const std::string& part : SplitList(text)) {
    char* end = nullptr;
    values.push_back(std::strtod(part.c_str(), &end));
    if (part.empty() || *end != '\0') {
      return Status::InvalidArgument(fmt::format("{}: expected numbers separated by commas, found '{}'", option, text));
    }
  }
  return values;
}

namespace {

// One of them; false where it is none.
bool AddShape(const std::string& text, std::map<std::string, Shape>* shapes) {
  std::string name, dims;
  const size_t bracket = text.rfind('[');
  const size_t equals = text.rfind('='), colon = text.rfind(':');
  if (equals != std::string::npos) {
    name = text.substr(0, equals);
    dims = text.substr(equals + 1);
  } else if (bracket != std::string::npos && text.back() == ']') {
    name = text.substr(0, bracket);
    dims = text.substr(bracket + 1, text.size() - bracket - 2);
  } else if (colon != std::string::npos) {
    name = text.substr(0, colon);
    dims = text.substr(colon + 1);
  }
  std::vector<int64_t> values;
  bool good = !name.empty();
  for (const std::string& part : SplitList(dims)) {
    char* end = nullptr;
    values.push_back(std::strtoll(part.c_str(), &end, 10));
    good = good && !part.empty() && *end == '\0' && values.back() >= 0;
  }
  if (good) (*shapes)[name] = Shape(std::move(values));
  return good;
}

}  // namespace

Result<std::map<std::string, Shape>> ParseShapes(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    std::map<std::string, Shape> several = shapes;  // TNNTest separates by semicolons, which a name may hold, too
    bool good = text != ";";
    for (const std::string& part : SplitList(text, ';')) good = good && (part.empty() || AddShape(part, &several));
    if (good) {
      shapes = std::move(several);
    } else if (!AddShape(text, &shapes)) {
      return Status::InvalidArgument(fmt::format("--shape: expected NAME=1,3,224,224, found '{}'", text));
    }
  }
  return shapes;
}

Result<uint64_t> ParseBytes(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const bool digits = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  const std::string unit = digits ? end : "?";
  const std::string units = "KMGT";
  const size_t at = unit.size() == 1 ? units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0]))))
                                     : std::string::npos;
  const size_t shift = unit.empty() ? 0 : 10 * (at + 1);
  if ((!unit.empty() && at == std::string::npos) || number == 0 || number > UINT64_MAX >> shift) {
    return Status::InvalidArgument(
        fmt::format("{}: expected bytes, or a number with K, M, G or T behind it, found '{}'", option, text));
  }
  return static_cast<uint64_t>(number) << shift;
}

namespace {

int RunGuarded(int (*tool)(int argc, char** argv), int argc, char** argv) {
  const std::string no_memory =
      "no memory for what was asked for; give a smaller shape or model, or raise the limit (ulimit -v)";
  try {
    return tool(argc, argv);
  } catch (const std::bad_alloc&) {
    return Fail(Status::OutOfMemory(no_memory));
  } catch (const std::length_error&) {
    return Fail(Status::OutOfMemory(no_memory + " (a size beyond all limits)"));
  } catch (const std::future_error& error) {  // oneDNN's cache of primitives throws it once it had no memory
    return Fail(Status::OutOfMemory(fmt::format("no memory for a kernel (oneDNN: {})", error.what())));
  } catch (const std::system_error& error) {
    return Fail(Status::IoError(
        fmt::format("the system refuses a thread or a file: {} (ulimit -u, -n, a container's limits)", error.what())));
  } catch (const std::exception& error) {
    return Fail(Status::Internal(error.what()));
  }
}

}  // namespace

int RunTool(int (*tool)(int argc, char** argv), int argc, char** argv) {
  GuardProcess();
  return FinishOutput(RunGuarded(tool, argc, argv));
}

int Fail(const Status& status) {
  const bool internal = status.code() == StatusCode::kInternal || status.code() == StatusCode::kDeviceError;
  PrintErrorText(fmt::format("error: {}{}\n", internal ? std::string(StatusCodeName(status.code())) + ": " : "",
                             PrintableMessage(InOptionWords(status.message()))));
  return ExitCodeOf(status);
}

int FailBeforeLastLine(const Status& status) {
  struct stat output, error;
  const bool one_place = ::fstat(STDOUT_FILENO, &output) == 0 && ::fstat(STDERR_FILENO, &error) == 0 &&
                         output.st_dev == error.st_dev && output.st_ino == error.st_ino;
  const bool one_line = status.message().find('\n') == std::string::npos;  // the last line has the first of several
  return one_place && one_line ? ExitCodeOf(status) : Fail(status);
}

bool StdoutIsTerminal() { return isatty(STDOUT_FILENO) == 1; }
bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }

namespace {
double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
}  // namespace

Progress::Progress(std::string what, int64_t total, bool quiet, bool alike)
    : what_(std::move(what)),
      total_(total),
      enabled_(!quiet),
      alike_(alike),
      terminal_(StderrIsTerminal()),
      start_(Now()),
      said_(start_) {}

Progress::~Progress() { Clear(); }

void Progress::Clear() {
  if (shown_) DrawTerminalLine("");
  shown_ = false;
}

// "3 min left"
std::string Progress::TimeLeft(int64_t done) const {
  if (!alike_ || done <= 0) return "";
  const double seconds = (Now() - start_) / static_cast<double>(done) * static_cast<double>(total_ - done);
  constexpr double kMinute = 60, kHour = 3600;
  if (seconds < 2 * kMinute) return fmt::format(", {:.0f} s left", seconds);
  return seconds < 2 * kHour ? fmt::format(", {:.0f} min left", seconds / kMinute)
                             : fmt::format(", {:.1f} h left", seconds / kHour);
}

void Progress::Step(int64_t done, const std::string& detail) {
  constexpr double kSeconds = 10;
  if (!enabled_ || Now() - start_ < 2) return;
  if (!terminal_) {
    if (Now() - said_ < kSeconds) return;
    said_ = Now();
    return (void)PrintError("{}: {} of {}{} {}\n", what_, done, total_, TimeLeft(done), detail);
  }
  shown_ = true;
  constexpr int kWidth = 30;
  const int filled = total_ > 0 ? static_cast<int>(kWidth * done / total_) : 0;
  const std::string bar =
      std::string(static_cast<size_t>(filled), '#') + std::string(static_cast<size_t>(kWidth - filled), '.');
  DrawTerminalLine(fmt::format("{} [{}] {}/{}{} {}", what_, bar, done, total_, TimeLeft(done), Printable(detail)));
}

}  // namespace plumb
