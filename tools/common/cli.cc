#include "common/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "plumb/plumb.h"

namespace plumb {

struct CommandLine::Impl {
  CLI::App app;
  std::string program;  // as it was called
  std::string group = "Options";
  std::set<std::string> long_names;  // multi-letter names that gflags style writes behind one dash

  CLI::Option* Note(CLI::Option* option, const std::string& names) {
    option->group(group);
    for (const std::string& name : CLI::detail::split(names, ',')) {
      if (name.size() > 3 && name.compare(0, 2, "--") == 0) long_names.insert(name.substr(2));
    }
    return option;
  }
};

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& examples)
    : impl_(std::make_unique<Impl>()) {
  impl_->app.name(name);
  impl_->app.description(description);
  impl_->app.footer(examples);
  impl_->app.set_version_flag("--version", name + " " + Version());
  impl_->app.get_formatter()->column_width(34);
  impl_->long_names = {"help", "version"};
}

CommandLine::~CommandLine() = default;

void CommandLine::Add(const std::string& names, std::string* value, const std::string& help) {
  impl_->Note(impl_->app.add_option(names, *value, help), names)->type_name("TEXT");
  if (!value->empty()) impl_->app.get_option(CLI::detail::split(names, ',')[0])->default_str(*value);
}
void CommandLine::Add(const std::string& names, int* value, const std::string& help) {
  impl_->Note(impl_->app.add_option(names, *value, help), names)->capture_default_str();
}
void CommandLine::Add(const std::string& names, uint64_t* value, const std::string& help) {
  impl_->Note(impl_->app.add_option(names, *value, help), names)->capture_default_str();
}
void CommandLine::Add(const std::string& names, double* value, const std::string& help) {
  impl_->Note(impl_->app.add_option(names, *value, help), names)->capture_default_str();
}
void CommandLine::Add(const std::string& names, std::vector<std::string>* values, const std::string& help) {
  impl_->Note(impl_->app.add_option(names, *values, help), names)->allow_extra_args(false)->type_name("TEXT");
}
void CommandLine::Flag(const std::string& names, bool* value, const std::string& help) {
  impl_->Note(impl_->app.add_flag(names, *value, help), names);
}
void CommandLine::Positional(const std::string& name, std::string* value, const std::string& help, bool required) {
  impl_->app.add_option(name, *value, help)->required(required)->type_name("");
}
void CommandLine::Required(const std::string& name) { impl_->app.get_option(name)->required(); }
void CommandLine::Group(const std::string& title) { impl_->group = title; }

std::optional<int> CommandLine::Parse(int argc, char** argv) {
  impl_->program = argc > 0 ? argv[0] : impl_->app.get_name();
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const bool one_dash = name.size() > 2 && name[0] == '-' && name[1] != '-';
    if (one_dash && impl_->long_names.count(name.substr(1)) != 0) argument = "-" + argument;
    if (name.size() == 2 && name[0] == '-' && equals != std::string::npos) {  // -m=x
      arguments.push_back(name);
      argument = argument.substr(equals + 1);
    }
    arguments.push_back(std::move(argument));
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    impl_->app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return impl_->app.exit(error) == 0 ? kExitOk : kExitUsage;
    std::fprintf(stderr, "error: %s; see %s --help\n", error.what(), impl_->app.get_name().c_str());
    return kExitUsage;
  }
  return std::nullopt;
}

std::string CommandLine::Again(const std::vector<std::string>& without) const {
  std::string text = ShellQuoted(impl_->program);
  for (const CLI::Option* option : impl_->app.get_options()) {
    const bool left_out = std::any_of(without.begin(), without.end(), [&](const std::string& name) { return option->check_name(name); });
    if (option->count() == 0 || left_out) continue;
    const std::vector<std::string>& short_names = option->get_snames();
    const std::string name = short_names.empty() ? "--" + option->get_lnames()[0] : "-" + short_names[0];
    if (option->get_expected_max() == 0) {
      text += " " + name;
      continue;
    }
    for (const std::string& value : option->results()) {
      // A value that begins with a dash is not taken for an option behind '='.
      text += " " + name + (value.rfind("-", 0) == 0 ? "=" : " ") + ShellQuoted(value);
    }
  }
  return text;
}

std::string ShellQuoted(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=:+@%";
  if (text.find_first_not_of(kPlain) == std::string::npos && !text.empty()) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
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
      return Status::InvalidArgument(option + ": expected numbers separated by commas, found '" + text + "'");
    }
  }
  return values;
}

Result<std::map<std::string, Shape>> ParseShapes(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    std::string name, dims;
    const size_t bracket = text.rfind('[');
    const size_t equals = text.rfind('=');
    if (equals != std::string::npos) {
      name = text.substr(0, equals);
      dims = text.substr(equals + 1);
    } else if (bracket != std::string::npos && text.back() == ']') {
      name = text.substr(0, bracket);
      dims = text.substr(bracket + 1, text.size() - bracket - 2);
    }
    std::vector<int64_t> values;
    bool good = !name.empty();
    for (const std::string& part : SplitList(dims)) {
      char* end = nullptr;
      values.push_back(std::strtoll(part.c_str(), &end, 10));
      good = good && !part.empty() && *end == '\0' && values.back() >= 0;
    }
    if (!good) return Status::InvalidArgument("--shape: expected NAME=1,3,224,224, found '" + text + "'");
    shapes[name] = Shape(std::move(values));
  }
  return shapes;
}

int Fail(const Status& status) {
  const bool internal = status.code() == StatusCode::kInternal || status.code() == StatusCode::kDeviceError;
  std::fprintf(stderr, "error: %s%s\n", internal ? (std::string(StatusCodeName(status.code())) + ": ").c_str() : "",
               status.message().c_str());
  return ExitCodeOf(status);
}

bool StdoutIsTerminal() { return isatty(STDOUT_FILENO) == 1; }
bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }

namespace {
double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
}  // namespace

Progress::Progress(std::string what, int64_t total, bool quiet)
    : what_(std::move(what)), total_(total), enabled_(!quiet && StderrIsTerminal()), start_(Now()) {}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void Progress::Step(int64_t done, const std::string& detail) {
  if (!enabled_ || Now() - start_ < 2) return;
  shown_ = true;
  constexpr int kWidth = 30;
  const int filled = total_ > 0 ? static_cast<int>(kWidth * done / total_) : 0;
  const std::string bar = std::string(static_cast<size_t>(filled), '#') + std::string(static_cast<size_t>(kWidth - filled), '.');
  std::fprintf(stderr, "\r\033[K%s [%s] %lld/%lld %s", what_.c_str(), bar.c_str(), static_cast<long long>(done),
               static_cast<long long>(total_), detail.c_str());
}

}  // namespace plumb
