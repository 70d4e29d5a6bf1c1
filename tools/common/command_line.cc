#include "common/command_line.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/environment.h"
#include "base/words.h"
#include "common/cli.h"
#include "common/outputs.h"
#include "common/vocabulary.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

constexpr size_t kHelpColumn = 34, kHelpWidth = 120;

// "--device" and "-d" are "device" and "d".
std::string_view WithoutDashes(std::string_view text) {
  const size_t name = text.find_first_not_of('-');
  return name == std::string_view::npos ? std::string_view() : text.substr(name);
}

bool IsOption(const std::string& text) {
  if (text.size() < 2 || text[0] != '-') return false;
  return !ContinuesList(Values::kNumbers, text);  // -1,2 is a value
}

// Every call of the tool shows it.
[[noreturn]] void OurMistake(const std::string& tool, std::string_view option) {
  std::fprintf(stderr, "%s: option %s has no row in vocabulary.cc, or is declared never or twice\n", tool.c_str(),
               std::string(option).c_str());
  std::abort();
}

std::string Wrapped(std::string line, const std::string& text) {
  std::string out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() > kHelpColumn && line.size() + word.size() + 1 > kHelpWidth) {
      out += line + "\n";
      line.clear();
    }
    if (line.size() < kHelpColumn) line.resize(kHelpColumn, ' ');
    line += (line.back() == ' ' ? "" : " ") + word;
  }
  return out + line + "\n";
}

}  // namespace

struct CommandLine::Impl {
  struct Option {
    const Word* word;
    std::string group, help, shown_default;
    bool flag = false, list = false, required = false;
    std::vector<std::string> choices;  // of one that may stand alone
    std::function<Status(const std::vector<std::string>&)> set;
    std::vector<std::string> values;
    bool given = false;

    std::string Name() const { return "--" + word->name; }
    // As short as it can be typed.
    std::string Short() const { return word->letter.empty() ? Name() : "-" + word->letter; }
  };

  struct Place {
    std::string name, help;
    std::string* value;
    bool required;
  };

  struct Rule {
    const Option* option;
    std::vector<const Option*> others;
    bool only_with;  // else: not with
    std::string why;
  };

  std::string name, description, examples;
  std::string program;  // as it was called
  std::string group = "Options";
  std::vector<std::unique_ptr<Option>> options;
  std::vector<Place> places;
  std::vector<std::string> positionals;
  std::vector<Rule> rules;
  std::vector<std::function<Status()>> checks;

  Option* Find(std::string_view spelling) const;
  Option& Declared(std::string_view spelling) const;  // REQUIRES: the tool has it
  Option* Declare(const std::string& name, const std::string& help);
  Status Unknown(const std::string& name) const;
  Status Read(const std::vector<std::string>& arguments);
  size_t ReadOption(const std::vector<std::string>& arguments, size_t at, Status* status);
  Status Store();
  void AddRule(const std::string& name, const std::vector<std::string>& others, bool only_with, const std::string& why);
  Status CheckRules() const;
  Status CheckOutputs() const;
  std::string Help() const;
  std::string HelpOf(const Option& option) const;
};

CommandLine::Impl::Option* CommandLine::Impl::Find(std::string_view spelling) const {
  const Word* word = FindWord(WithoutDashes(spelling));
  for (const auto& option : options) {
    if (word != nullptr && option->word == word) return option.get();
  }
  return nullptr;
}

CommandLine::Impl::Option& CommandLine::Impl::Declared(std::string_view spelling) const {
  Option* option = Find(spelling);
  if (option == nullptr) OurMistake(name, spelling);
  return *option;
}

CommandLine::Impl::Option* CommandLine::Impl::Declare(const std::string& option_name, const std::string& help) {
  auto option = std::make_unique<Option>();
  option->word = FindWord(WithoutDashes(option_name));
  if (option->word == nullptr || Find(option_name) != nullptr) {
    OurMistake(name, option_name);
  }
  option->group = group;
  option->help = help;
  options.push_back(std::move(option));
  return options.back().get();
}

Status CommandLine::Impl::Unknown(const std::string& option_name) const {
  const std::string_view bare = WithoutDashes(option_name);
  if (const char* why = WhyRefused(bare); why != nullptr) {
    return Status::InvalidArgument(option_name + ": " + why);
  }
  if (const Word* word = FindWord(bare); word != nullptr) {
    return Status::InvalidArgument(name + " does not take " + option_name +
                                   (bare == word->name ? "" : " (--" + word->name + ")"));
  }
  std::vector<std::string> known;
  for (const auto& option : options) {
    known.push_back(option->word->name);
    for (const std::string& spelling : option->word->spellings) known.push_back(spelling);
  }
  const std::string nearest = NearestWord(bare, known);
  const Option* meant = nearest.empty() ? nullptr : Find(nearest);
  return Status::InvalidArgument("unknown option '" + option_name + "'" +
                                 (meant == nullptr ? "" : "; did you mean '" + meant->Name() + "'?"));
}

// Returns the place behind the option and its values.
size_t CommandLine::Impl::ReadOption(const std::vector<std::string>& arguments, size_t at, Status* status) {
  const std::string& argument = arguments[at];
  const size_t equals = argument.find('=');
  const std::string spelling = argument.substr(0, equals);
  Option* option = Find(spelling);
  size_t next = at + 1;
  if (option == nullptr) return *status = Unknown(spelling), next;
  if (option->given && !option->list) {
    *status = Status::InvalidArgument(spelling + " is given twice");
    return next;
  }
  option->given = true;
  const bool behind = next < arguments.size();
  if (equals != std::string::npos) {
    option->values.push_back(argument.substr(equals + 1));
  } else if (option->flag) {
    option->values.emplace_back("true");
  } else if (!option->choices.empty()) {
    const bool chosen =
        behind && std::find(option->choices.begin(), option->choices.end(), arguments[next]) != option->choices.end();
    option->values.push_back(chosen ? arguments[next++] : option->choices[0]);
  } else if (!behind || (IsOption(arguments[next]) && Find(arguments[next].substr(0, arguments[next].find('='))))) {
    *status = Status::InvalidArgument(spelling + " needs a value");
    return next;
  } else {
    option->values.push_back(arguments[next++]);
  }
  while (option->list && next < arguments.size() && ContinuesList(option->word->values, arguments[next])) {
    option->values.push_back(arguments[next++]);
  }
  return next;
}

Status CommandLine::Impl::Read(const std::vector<std::string>& arguments) {
  bool only_places = false;
  for (size_t i = 0; i < arguments.size();) {
    if (arguments[i] == "--" && !only_places) {
      only_places = true;
      ++i;
    } else if (only_places || !IsOption(arguments[i])) {
      positionals.push_back(arguments[i++]);
    } else {
      Status status = Status::Ok();
      i = ReadOption(arguments, i, &status);
      PLUMB_RETURN_IF_ERROR(status);
    }
  }
  if (positionals.size() > places.size()) {
    return Status::InvalidArgument(
        "what is '" + positionals[places.size()] + "'? " +
        (places.empty() ? name + " takes options only" : "too many words without an option"));
  }
  return Status::Ok();
}

// Hands the values over.
Status CommandLine::Impl::Store() {
  for (size_t i = 0; i < places.size(); ++i) {
    if (i < positionals.size()) {
      *places[i].value = positionals[i];
    } else if (places[i].required) {
      return Status::InvalidArgument(places[i].name + " is missing");
    }
  }
  for (const auto& option : options) {
    if (option->given && option->set) PLUMB_RETURN_IF_ERROR(option->set(option->values));
    if (!option->given && option->required) {
      return Status::InvalidArgument(option->Short() + " is missing: " + option->help);
    }
  }
  return Status::Ok();
}

void CommandLine::Impl::AddRule(const std::string& option_name, const std::vector<std::string>& others, bool only_with,
                                const std::string& why) {
  Rule rule{&Declared(option_name), {}, only_with, why};
  for (const std::string& other : others) rule.others.push_back(&Declared(other));
  rules.push_back(std::move(rule));
}

Status CommandLine::Impl::CheckRules() const {
  for (const Rule& rule : rules) {
    if (!rule.option->given) continue;
    std::string names;
    const Option* found = nullptr;
    for (const Option* other : rule.others) {
      if (other->given) found = other;
      names += (names.empty() ? "" : other == rule.others.back() ? " or " : ", ") + other->Short();
    }
    if (rule.only_with && found == nullptr) {
      return Status::InvalidArgument(rule.option->Short() + " does nothing without " + names);
    }
    if (!rule.only_with && found != nullptr) {
      return Status::InvalidArgument(rule.option->Short() + " does nothing with " + found->Short() + ": " + rule.why);
    }
  }
  return Status::Ok();
}

Status CommandLine::Impl::CheckOutputs() const {
  std::vector<std::pair<std::string, std::string>> paths;  // option, path
  for (const auto& option : options) {
    if (!option->given || option->word->values != Values::kOutputFile) continue;
    for (const std::string& path : option->values) {
      for (const auto& [other, same] : paths) {
        if (same != path) continue;
        return Status::InvalidArgument(other + " and " + option->Name() + " would both write '" + path + "'");
      }
      PLUMB_RETURN_IF_ERROR(CheckOutputFile(option->Name(), path));
      paths.emplace_back(option->Name(), path);
      if (path == "-") ReserveStandardOutput();
    }
  }
  return Status::Ok();
}

std::string CommandLine::Impl::HelpOf(const Option& option) const {
  const char* value = option.flag ? "" : !option.choices.empty() ? "" : option.list ? " TEXT ..." : " TEXT";
  std::string help = option.help, others;
  for (const std::string& spelling : option.word->spellings) others += (others.empty() ? "-" : ", -") + spelling;
  if (!option.shown_default.empty()) help += " [" + option.shown_default + "]";
  if (!others.empty()) help += " (also " + others + ")";
  const std::string letter = option.word->letter.empty() ? "      " : "  -" + option.word->letter + ", ";
  return Wrapped(letter + option.Name() + value + "  ", help);
}

std::string CommandLine::Impl::Help() const {
  std::string usage = "Usage: " + name + " [OPTIONS]", text;
  for (const Place& place : places) {
    usage += place.required ? " " + place.name : " [" + place.name + "]";
    text += Wrapped("  " + place.name, place.help);
  }
  text = description + "\n" + usage + "\n" + text;
  std::vector<std::string> groups;
  for (const auto& option : options) {
    if (std::find(groups.begin(), groups.end(), option->group) == groups.end()) groups.push_back(option->group);
  }
  for (const std::string& title : groups) {
    text += "\n" + title + ":\n";
    for (const auto& option : options) {
      if (option->group == title) text += HelpOf(*option);
    }
  }
  return text + "\n" + examples + (examples.empty() || examples.back() == '\n' ? "" : "\n");
}

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& examples)
    : impl_(std::make_unique<Impl>()) {
  impl_->name = name;
  impl_->description = description;
  impl_->examples = examples;
  impl_->Declare("--help", "this text")->flag = true;
  impl_->Declare("--version", "of Plumb")->flag = true;
}

CommandLine::~CommandLine() = default;

void CommandLine::Add(const std::string& name, std::string* value, const std::string& help) {
  Impl::Option* option = impl_->Declare(name, help);
  option->shown_default = *value;
  option->list = option->word->values == Values::kDevices || option->word->values == Values::kNumbers;
  option->set = [value](const std::vector<std::string>& values) {
    value->clear();
    for (const std::string& one : values) *value += (value->empty() ? "" : ",") + one;
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
      return Status::InvalidArgument(name + ": expected " + expected + ", found '" + values.back() + "'");
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
  impl_->program = argc > 0 ? argv[0] : impl_->name;
  Status status = impl_->Read(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  if (Given("--help")) return std::fputs(impl_->Help().c_str(), stdout) < 0 ? kExitFailure : kExitOk;
  if (status.ok() && Given("--version")) {
    std::printf("%s %s\n", impl_->name.c_str(), Version());
    return kExitOk;
  }
  if (status.ok()) status = impl_->Store();
  if (status.ok()) status = impl_->CheckRules();
  if (!status.ok()) return Fail(Status::InvalidArgument(status.message() + "; see " + impl_->name + " --help"));
  status = CheckEnvironmentNames();
  for (size_t i = 0; i < impl_->checks.size() && status.ok(); ++i) status = impl_->checks[i]();
  if (status.ok()) status = impl_->CheckOutputs();
  if (status.ok()) return std::nullopt;
  return Fail(status);
}

std::string CommandLine::Again(const std::vector<std::string>& without) const {
  std::string text = ShellQuoted(impl_->program);
  for (const std::string& place : impl_->positionals) text += " " + ShellQuoted(place);
  for (const auto& option : impl_->options) {
    const bool left_out = std::any_of(without.begin(), without.end(),
                                      [&](const std::string& name) { return impl_->Find(name) == option.get(); });
    if (!option->given || left_out) continue;
    for (const std::string& value : option->values) {
      text += " " + option->Short();
      if (option->flag && value == "true") continue;
      // A value that begins with a dash is not taken for an option behind '='.
      text += (value.rfind("-", 0) == 0 || option->flag ? "=" : " ") + ShellQuoted(value);
    }
  }
  return text;
}

}  // namespace plumb
