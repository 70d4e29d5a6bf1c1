// SPDX-License-Identifier: Apache-2.0
#include "common/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "common/cli.h"
#include "common/command_line_impl.h"
#include "common/print.h"
#include "plumb/plumb.h"
#include "plumb/tool/environment.h"
#include "plumb/tool/printing.h"

namespace plumb {

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& examples)
    : impl_(std::make_unique<Impl>()) {
  impl_->name = name;
  impl_->description = description;
  impl_->examples = examples;
  impl_->group = "Others";
  Choice("--help", &impl_->help, {"short", "all"}, "what is used most; all: this text");
  impl_->Declare("--version", "of Plumb")->flag = true;
  Add("--max-memory", &impl_->max_memory,
      "refuse what would take more: bytes, or 500M, 8G; default 3/4 of the machine");
  Check([this] {
    if (impl_->max_memory.empty()) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes("--max-memory", impl_->max_memory));
    SetMaxMemory(bytes);
    return Status::Ok();
  });
  impl_->group = "Options";
}

CommandLine::~CommandLine() = default;

namespace {

// A part of a list without the white space and the commas around it: "0.0," and " NAIVE" of "0.0, 0.0", "X86, NAIVE".
std::string Tidy(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
             text.end());
  text.erase(0, std::min(text.find_first_not_of(','), text.size()));
  while (!text.empty() && text.back() == ',') text.pop_back();
  return text;
}

}  // namespace

void CommandLine::Add(const std::string& name, std::string* value, const std::string& help) {
  Impl::Option* option = impl_->Declare(name, help);
  option->shown_default = *value;
  option->list = option->word->values == Values::kDevices || option->word->values == Values::kNumbers;
  option->set = [value, option](const std::vector<std::string>& values) {
    value->clear();
    for (const std::string& one : values) {
      const std::string part = option->list ? Tidy(one) : one;
      *value += (value->empty() || part.empty() ? "" : ",") + part;
    }
    return Status::Ok();
  };
}

namespace {

// Reads the whole text as a number, or says what was expected.
template <class T, class F>
std::function<Status(const std::vector<std::string>&)> NumberInto(std::string name, T* value, const char* expected,
                                                                  F parse) {
  return [=](const std::vector<std::string>& values) {
    const char* text = values.back().c_str();
    char* end = nullptr;
    errno = 0;
    const auto parsed = parse(text, &end);
    if (*text == '\0' || *end != '\0' || errno == ERANGE ||
        static_cast<decltype(parsed)>(static_cast<T>(parsed)) != parsed) {
      return Status::InvalidArgument(fmt::format("{}: expected {}, found '{}'", name, expected, values.back()));
    }
    *value = static_cast<T>(parsed);
    return Status::Ok();
  };
}

}  // namespace

void CommandLine::Add(const std::string& name, int* value, const std::string& help) {
  Impl::Option* option = impl_->Declare(name, help);
  if (*value >= 0) option->shown_default = std::to_string(*value);
  option->set = NumberInto(option->Name(), value, "a whole number",
                           [](const char* t, char** e) { return std::strtoll(t, e, 10); });
}

void CommandLine::Add(const std::string& name, uint64_t* value, const std::string& help) {
  Impl::Option* option = impl_->Declare(name, help);
  option->shown_default = std::to_string(*value);
  option->set = NumberInto(option->Name(), value, "a whole number that is not negative", [](const char* t, char** e) {
    if (*t == '-') return *e = const_cast<char*>(t), 0ULL;
    return std::strtoull(t, e, 10);
  });
}

void CommandLine::Add(const std::string& name, double* value, const std::string& help) {
  Impl::Option* option = impl_->Declare(name, help);
  char text[32];
  std::snprintf(text, sizeof(text), "%g", *value);
  option->shown_default = text;
  option->set =
      NumberInto(option->Name(), value, "a number", [](const char* t, char** e) { return std::strtod(t, e); });
}

void CommandLine::Add(const std::string& name, std::vector<std::string>* values, const std::string& help) {
  Impl::Option* option = impl_->Declare(name, help);
  option->list = true;
  option->set = [=](const std::vector<std::string>& given) {
    values->clear();
    for (const std::string& one : given) {
      for (const std::string& part : SplitValues(option->word->values, one)) values->push_back(part);
    }
    return Status::Ok();
  };
}

void CommandLine::AddOptional(const std::string& name, std::string* value, const std::string& alone,
                              const std::string& help) {
  Add(name, value, help);
  impl_->Declared(name).alone = alone;
}

void CommandLine::Flag(const std::string& name, bool* value, const std::string& help) {
  Impl::Option* option = impl_->Declare(name, help);
  option->flag = true;
  option->set = [=](const std::vector<std::string>& values) {
    const std::string& text = values.back();
    *value = text == "true" || text == "1";
    if (*value || text == "false" || text == "0") return Status::Ok();
    return Status::InvalidArgument(UnknownWord(option->Name(), text, {"true", "false"}));
  };
}

void CommandLine::OneOf(const std::string& name, std::string* value, const std::vector<std::string>& words,
                        const std::string& help) {
  Impl::Option* option = impl_->Declare(name, help);
  option->words = words;
  option->set = [=](const std::vector<std::string>& values) {
    *value = values.back();
    if (std::find(words.begin(), words.end(), *value) != words.end()) return Status::Ok();
    return Status::InvalidArgument(UnknownWord(option->Name(), *value, words));
  };
}

void CommandLine::Choice(const std::string& name, std::string* value, const std::vector<std::string>& choices,
                         const std::string& help) {
  Impl::Option* option = impl_->Declare(name, help);
  option->choices = choices;
  option->set = [=](const std::vector<std::string>& values) {
    *value = values.back();
    if (std::find(choices.begin(), choices.end(), *value) != choices.end()) return Status::Ok();
    return Status::InvalidArgument(UnknownWord(option->Name(), *value, choices));
  };
}

void CommandLine::Positional(const std::string& name, std::string* value, const std::string& help, bool required) {
  impl_->places.push_back({name, help, value, required});
}
void CommandLine::Required(const std::string& name) { impl_->Declared(name).required = true; }
void CommandLine::Group(const std::string& title) { impl_->group = title; }
void CommandLine::Check(std::function<Status()> check) { impl_->checks.push_back(std::move(check)); }
void CommandLine::Brief(const std::vector<std::pair<std::string, std::string>>& options) {
  for (const auto& [name, help] : options) impl_->brief.emplace_back(&impl_->Declared(name), help);
}
bool CommandLine::Given(const std::string& name) const {
  const Impl::Option* option = impl_->Find(name);
  return option != nullptr && option->given;
}

void CommandLine::OnlyWith(const std::string& name, const std::vector<std::string>& others) {
  impl_->AddRule(name, others, /*only_with=*/true, "");
}

void CommandLine::NotWith(const std::string& name, const std::vector<std::string>& others, const std::string& why) {
  impl_->AddRule(name, others, /*only_with=*/false, why);
}

std::optional<int> CommandLine::Parse(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--generate") return impl_->Generate(argv[2]);
  impl_->program = argc > 0 ? argv[0] : impl_->name;
  Status status = impl_->Read(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  if (Given("--help")) {
    const bool all = impl_->brief.empty() || impl_->Find("--help")->values.back() == "all";
    PrintText(all ? impl_->Help() : impl_->ShortHelp());  // FinishOutput says where it was not written
    return kExitOk;
  }
  if (status.ok() && Given("--version")) {
    Print("{} {}\n", impl_->name, Version());
    return kExitOk;
  }
  if (status.ok()) status = impl_->Store();
  if (status.ok()) status = impl_->CheckRules();
  if (!status.ok())
    return Fail(Status::InvalidArgument(fmt::format("{}; see {} --help", status.message(), impl_->name)));
  status = CheckEnvironment();
  for (size_t i = 0; i < impl_->checks.size() && status.ok(); ++i) status = impl_->checks[i]();
  if (status.ok()) status = impl_->CheckOutputs();
  if (status.ok()) return std::nullopt;
  return Fail(status);
}

std::vector<std::string> CommandLine::Words(const std::vector<std::string>& without) const {
  std::vector<std::string> words = {impl_->program};
  words.insert(words.end(), impl_->positionals.begin(), impl_->positionals.end());
  for (const auto& option : impl_->options) {
    const bool left_out = std::any_of(without.begin(), without.end(),
                                      [&](const std::string& name) { return impl_->Find(name) == option.get(); });
    if (!option->given || left_out) continue;
    for (const std::string& value : option->values) {
      words.push_back(option->Short());
      if (option->flag && value == "true") continue;
      // A value that begins with a dash is not taken for an option behind '='.
      if (option->flag || (!value.empty() && value[0] == '-')) {
        words.back() += "=" + value;
      } else {
        words.push_back(value);
      }
    }
  }
  return words;
}

std::string CommandLine::Again(const std::vector<std::string>& without) const {
  std::string text;
  for (const std::string& word : Words(without)) text += (text.empty() ? "" : " ") + ShellQuoted(word);
  return text;
}

}  // namespace plumb
