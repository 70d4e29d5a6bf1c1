// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/bundle.h"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "tensor/zip.h"

namespace plumb {
namespace {

namespace files = std::filesystem;

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Only whole words: "ann" is no part of "annotation", nor "/data" of "/database".
std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const auto joins = [](char a, char b) { return IsWordCharacter(a) && IsWordCharacter(b); };
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    const size_t end = at + from.size();
    const bool inside =
        (at > 0 && joins(text[at - 1], from.front())) || (end < text.size() && joins(from.back(), text[end]));
    if (inside) {
      at = end;
      continue;
    }
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

std::string WithEscapes(const std::string& text, const std::map<char, std::string>& escapes) {
  std::string escaped;
  for (const char c : text) {
    const auto it = escapes.find(c);
    escaped += it == escapes.end() ? std::string(1, c) : it->second;
  }
  return escaped;
}

// The word as it stands, quoted for a shell, and both in JSON and HTML.
std::string Without(std::string text, const std::string& from, const std::string& to) {
  static const std::map<char, std::string> kAsIs,
      kShell = {{'\'', "'\\''"}}, kJson = {{'"', "\\\""}, {'\\', "\\\\"}},
      kHtml = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  for (const auto* quoted : {&kShell, &kAsIs}) {
    for (const auto* escapes : {&kJson, &kHtml, &kAsIs}) {
      const auto as_written = [&](const std::string& word) {
        return WithEscapes(WithEscapes(word, *quoted), *escapes);
      };
      text = Replaced(std::move(text), as_written(from), as_written(to));
    }
  }
  return text;
}

// Names that stand for nobody.
bool IsSomebody(const std::string& name) {
  constexpr const char* kNobody[] = {"root", "user", "runner", "build", "localhost", "debian", "ubuntu"};
  constexpr size_t kShortest = 3;
  return name.size() >= kShortest && std::find(std::begin(kNobody), std::end(kNobody), name) == std::end(kNobody);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string MachineName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

bool StaysInside(const std::string& name) {
  const files::path path(name);
  return !name.empty() && path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

}  // namespace

std::string WithoutPrivateWords(std::string text, std::vector<std::string> paths) {
  std::error_code error;
  std::vector<std::pair<std::string, std::string>> words;
  for (const std::string& path : paths) {
    const std::string whole = files::absolute(path, error).lexically_normal().string();
    const std::string last = files::path(path).filename().string();
    for (const std::string& one : {path, whole}) {
      if (one.find('/') != std::string::npos && !last.empty()) words.emplace_back(one, last);
    }
  }
  const std::string here = files::current_path(error).string(), home = Variable("HOME");
  if (here.size() > 1) words.emplace_back(here, ".");
  if (home.size() > 1) words.emplace_back(home, "~");
  const auto longer = [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); };
  std::stable_sort(words.begin(), words.end(), longer);
  for (const auto& [from, to] : words) text = Without(std::move(text), from, to);
  for (const char* name : {"USER", "LOGNAME"}) {
    if (IsSomebody(Variable(name))) text = Without(std::move(text), Variable(name), "USER");
  }
  const std::string host = MachineName();
  return IsSomebody(host) ? Without(std::move(text), host, "HOST") : text;
}

Status WriteBundle(const std::string& path, const std::vector<BundleFile>& bundled) {
  for (const BundleFile& file : bundled) {
    if (!StaysInside(file.name))
      return Status::InvalidArgument(fmt::format("bundle '{}': '{}' is no name of a file in it", path, file.name));
  }
  if (EndsWith(path, ".zip")) {
    PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
    ZipWriter writer(&file);
    for (const BundleFile& one : bundled)
      PLUMB_RETURN_IF_ERROR(writer.Add(one.name, "", one.bytes.data(), one.bytes.size()));
    PLUMB_RETURN_IF_ERROR(writer.Finish());
    return file.Commit();
  }
  for (const BundleFile& one : bundled) {
    const files::path to = files::path(path) / one.name;
    std::error_code error;
    files::create_directories(to.parent_path(), error);
    if (error)
      return Status::IoError(fmt::format("folder '{}' cannot be made: {}", to.parent_path().string(), error.message()));
    PLUMB_RETURN_IF_ERROR(WriteFile(to.string(), one.bytes));
  }
  return Status::Ok();
}

Result<std::vector<BundleFile>> FilesBelow(const std::string& folder, const std::string& name) {
  std::vector<BundleFile> found;
  std::error_code error;
  for (auto it = files::recursive_directory_iterator(folder, error); !error && it != files::end(it);
       it.increment(error)) {
    if (!it->is_regular_file()) continue;
    PLUMB_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(it->path().string()));
    found.push_back(
        {(name.empty() ? "" : name + "/") + it->path().lexically_relative(folder).string(), std::move(bytes)});
  }
  if (error) return Status::IoError(fmt::format("folder '{}': {}", folder, error.message()));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

}  // namespace plumb
