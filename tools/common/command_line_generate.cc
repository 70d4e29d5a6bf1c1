// SPDX-License-Identifier: Apache-2.0
// --generate FOLDER, which the build calls and --help does not show: the tool's manual page and its completion for
// bash, zsh and fish, where an installation's share/ has them. All of them are made of what --help is made of.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "common/cli.h"
#include "common/command_line_impl.h"
#include "plumb/plumb.h"
#include "plumb/tool/file.h"

namespace plumb {
namespace {

using Option = CommandLine::Impl::Option;

std::string Replaced(const std::string& text, const std::string& characters, const std::string& before) {
  std::string out;
  for (const char c : text) out += (characters.find(c) == std::string::npos ? "" : before) + std::string(1, c);
  return out;
}

// In single quotes of a POSIX shell: ' ends them, \' is one, ' begins them again.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// troff: a dash as it is typed, a backslash as such, no line that is taken for a command.
std::string Troff(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return out.empty() || (out[0] != '.' && out[0] != '\'') ? out : "\\&" + out;
}

// What a list shows beside a name: up to the first end of a sentence or a clause.
std::string Short(const std::string& help) {
  const std::string text = help.substr(0, help.find_first_of(";("));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// The words that may stand behind an option; nothing: any text or file.
std::vector<std::string> WordsOf(const Option& option) {
  if (option.flag) return {};
  std::vector<std::string> words = option.words.empty() ? option.choices : option.words;
  if (option.word->values != Values::kDevices) return words;
  for (const DeviceInfo& device : ListDevices()) words.push_back(device.name);
  words.emplace_back("ALL");
  return words;
}

std::string Joined(const std::vector<std::string>& words, const std::string& between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// "-d", "--device", "-dt".
std::vector<std::string> SpellingsOf(const Option& option) {
  std::vector<std::string> out = {option.Name()};
  if (!option.word->letter.empty()) out.insert(out.begin(), "-" + option.word->letter);
  for (const std::string& spelling : option.word->spellings) out.push_back("-" + spelling);
  return out;
}

std::string ManOption(const Option& option) {
  std::string names;
  for (const std::string& name : SpellingsOf(option)) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", Troff(name));
  }
  const std::string words = Joined(WordsOf(option), "|");
  if (!option.flag) names += fmt::format(" \\fI{}\\fR{}", words.empty() ? "TEXT" : words, option.list ? " ..." : "");
  const std::string standard = option.shown_default.empty() ? "" : fmt::format(" [{}]", option.shown_default);
  return fmt::format(".TP\n{}\n{}\n", names, Troff(option.help + standard));
}

// The examples as they are typed; "Exit codes: ..." is a section of its own.
std::string ManExamples(const std::string& text) {
  std::string examples, codes, line;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    if (!codes.empty() || line.rfind("Exit codes", 0) == 0) {
      codes += Troff(line) + "\n";
    } else if (line != "Examples:") {
      examples += Troff(line) + "\n";
    }
  }
  std::string out;
  if (!examples.empty()) out += fmt::format(".SH EXAMPLES\n.nf\n{}.fi\n", examples);
  if (!codes.empty()) out += ".SH EXIT STATUS\n" + codes;
  return out;
}

}  // namespace

std::string CommandLine::Impl::ManPage() const {
  std::string upper = name, usage = fmt::format(".B {}\n[\\fIOPTIONS\\fR]", name), text, section;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const Place& place : places) usage += fmt::format(place.required ? " \\fI{}\\fR" : " [\\fI{}\\fR]", place.name);
  for (const Place& place : places) text += fmt::format(".TP\n\\fI{}\\fR\n{}\n", place.name, Troff(place.help));
  for (const auto& option : options) {
    if (option->group != section) text += fmt::format(".SS {}\n", Troff(option->group));
    section = option->group;
    text += ManOption(*option);
  }
  const std::string what = description.substr(0, description.find('\n'));
  return fmt::format(
      ".TH {} 1 \"\" \"Plumb {}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n{}{}",
      upper, Version(), name, Troff(what), usage, Troff(description), text, ManExamples(examples));
}

std::string CommandLine::Impl::BashCompletion() const {
  std::string cases, names;
  for (const auto& option : options) {
    const std::vector<std::string> words = WordsOf(*option);
    for (const std::string& spelling : SpellingsOf(*option)) names += (names.empty() ? "" : " ") + spelling;
    if (words.empty()) continue;
    cases += fmt::format("    {}) words={} ;;\n", Joined(SpellingsOf(*option), "|"), Quoted(Joined(words, " ")));
  }
  return fmt::format(R"(# bash completion of {0}, written by `{0} --generate`
_plumb_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=
  if [ "$word" = = ]; then word=; elif [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  case $before in
{1}  esac
  if [ -z "$words" ] && [[ $word == -* ]]; then words='{2}'; fi
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _plumb_{0} {0}
)",
                     name, cases, names);
}

std::string CommandLine::Impl::ZshCompletion() const {
  std::string out = fmt::format("#compdef {0}\n# zsh completion of {0}, written by `{0} --generate`\n_arguments", name);
  for (const auto& option : options) {
    const std::string words = Joined(WordsOf(*option), " "), help = Replaced(Short(option->help), "[]:\\", "\\");
    const std::string value = option->flag ? "" : words.empty() ? ":value:_files" : fmt::format(":value:({})", words);
    for (const std::string& spelling : SpellingsOf(*option)) {
      const char* many = option->list ? "*" : "";
      const char* equals = option->flag ? "" : spelling[1] == '-' ? "=" : "";  // --device=X86, --device X86, -d X86
      out += fmt::format(" \\\n  {}", Quoted(fmt::format("{}{}{}[{}]{}", many, spelling, equals, help, value)));
    }
  }
  return out + " \\\n  '*:file:_files'\n";
}

std::string CommandLine::Impl::FishCompletion() const {
  std::string out = fmt::format("# fish completion of {0}, written by `{0} --generate`\n", name);
  for (const auto& option : options) {
    out += fmt::format("complete -c {} -l {}", name, option->word->name);
    if (!option->word->letter.empty()) out += " -s " + option->word->letter;
    for (const std::string& spelling : option->word->spellings) out += " -o " + spelling;
    const std::string words = Joined(WordsOf(*option), " ");
    if (!option->flag) out += words.empty() ? " -r -F" : fmt::format(" -x -a '{}'", words);
    out += fmt::format(" -d '{}'\n", Replaced(Short(option->help), "'\\", "\\"));
  }
  return out;
}

int CommandLine::Impl::Generate(const std::string& folder) const {
  const std::pair<std::string, std::string> files[] = {
      {fmt::format("man/man1/{}.1", name), ManPage()},
      {fmt::format("bash-completion/completions/{}", name), BashCompletion()},
      {fmt::format("zsh/site-functions/_{}", name), ZshCompletion()},
      {fmt::format("fish/vendor_completions.d/{}.fish", name), FishCompletion()}};
  for (const auto& [file, text] : files) {
    const std::filesystem::path path = std::filesystem::path(folder) / file;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);  // where it fails, writing says so
    if (const Status status = WriteFile(path.string(), text); !status.ok()) return Fail(status);
  }
  return kExitOk;
}

}  // namespace plumb
