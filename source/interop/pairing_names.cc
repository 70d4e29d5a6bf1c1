// SPDX-License-Identifier: Apache-2.0
// PairNames: tensors of two sides by their names alone, and the file that says what is called what.
#include <fmt/core.h>

#include <algorithm>

#include "base/file.h"
#include "dump/file_name.h"
#include "interop/pairing.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

class Pairer {
 public:
  Pairer(const std::vector<std::string>& a, const std::vector<std::string>& b)
      : a_(a), b_(b), taken_a_(a.size()), taken_b_(b.size()) {}

  Status TakeNamed(const std::map<std::string, std::string>& names) {
    for (const auto& [name_a, name_b] : names) {
      const auto i = std::find(a_.begin(), a_.end(), name_a);
      const auto j = std::find(b_.begin(), b_.end(), name_b);
      if (i == a_.end())
        return Status::InvalidArgument(
            fmt::format("PairingOptions::names: there is no tensor '{}' (first column)", name_a));
      if (j == b_.end())
        return Status::InvalidArgument(
            fmt::format("PairingOptions::names: there is no tensor '{}' (second column)", name_b));
      Take(static_cast<size_t>(i - a_.begin()), static_cast<size_t>(j - b_.begin()));
    }
    return Status::Ok();
  }

  template <class Key>
  void TakeEqual(Key key) {
    std::map<std::string, std::vector<size_t>> in_b;
    std::map<std::string, int> in_a;
    for (size_t j = 0; j < b_.size(); ++j) {
      if (!taken_b_[j]) in_b[key(b_[j])].push_back(j);
    }
    for (size_t i = 0; i < a_.size(); ++i) in_a[key(a_[i])] += !taken_a_[i];
    for (size_t i = 0; i < a_.size(); ++i) {
      const auto it = in_b.find(key(a_[i]));
      if (taken_a_[i] || it == in_b.end() || it->second.size() != 1 || in_a[key(a_[i])] != 1) continue;  // never guess
      Take(i, it->second[0]);
    }
  }

  void TakeByOrder() {
    size_t j = 0;
    for (size_t i = 0; i < a_.size(); ++i) {
      if (taken_a_[i]) continue;
      while (j < b_.size() && taken_b_[j]) ++j;
      if (j == b_.size()) return;
      result_.by_order.emplace_back(i, j);
      Take(i, j);
    }
  }

  NamePairing Done() {
    std::sort(result_.pairs.begin(), result_.pairs.end());
    for (size_t i = 0; i < a_.size(); ++i) {
      if (!taken_a_[i]) result_.only_a.push_back(i);
    }
    for (size_t j = 0; j < b_.size(); ++j) {
      if (!taken_b_[j]) result_.only_b.push_back(j);
    }
    return std::move(result_);
  }

 private:
  void Take(size_t i, size_t j) {
    taken_a_[i] = true;
    taken_b_[j] = true;
    result_.pairs.emplace_back(i, j);
  }

  const std::vector<std::string>& a_;
  const std::vector<std::string>& b_;
  std::vector<bool> taken_a_, taken_b_;
  NamePairing result_;
};

// The next field of a CSV line from `position`, which is left behind the comma. False: a quote is not closed.
bool NextField(const std::string& line, size_t* position, std::string* field) {
  field->clear();
  bool quoted = *position < line.size() && line[*position] == '"';
  for (size_t i = *position + quoted; i < line.size(); ++i) {
    if (quoted && line[i] == '"') {
      if (i + 1 < line.size() && line[i + 1] == '"') {
        *field += line[i++];
      } else {
        quoted = false;
      }
    } else if (!quoted && line[i] == ',') {
      *position = i + 1;
      return true;
    } else {
      *field += line[i];
    }
  }
  *position = std::string::npos;
  return !quoted;
}

}  // namespace

std::string LettersAndDigits(const std::string& name) {
  std::string result = name;
  for (char& c : result) {
    const bool keep = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!keep) c = '_';
  }
  return result.substr(std::min(result.find_first_not_of('_'), result.size()));
}

Result<NamePairing> PairNames(const std::vector<std::string>& a, const std::vector<std::string>& b,
                              const NameOptions& options) {
  Pairer pairer(a, b);
  PLUMB_RETURN_IF_ERROR(pairer.TakeNamed(options.names));
  pairer.TakeEqual([](const std::string& name) { return name; });
  pairer.TakeEqual(TnnName);
  pairer.TakeEqual(NameInFiles);
  pairer.TakeEqual([](const std::string& name) {
    const std::string file = TnnName(name);
    return file.substr(std::min(file.find_first_not_of('_'), file.size()));
  });
  pairer.TakeEqual(LettersAndDigits);
  if (options.by_order) pairer.TakeByOrder();
  return pairer.Done();
}

Result<std::map<std::string, std::string>> ReadNames(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path, uint64_t{64} << 20));
  return ParseNames(bytes.text(), path);
}

Result<std::map<std::string, std::string>> ParseNames(std::string_view text, const std::string& path) {
  std::map<std::string, std::string> names;
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    std::string first, second;
    size_t position = 0;
    const bool read = NextField(line, &position, &first) && position != std::string::npos &&
                      NextField(line, &position, &second) && position == std::string::npos;
    if (!read || first.empty() || second.empty()) {
      return Status::InvalidArgument(fmt::format(
          "PairingOptions::names: '{}' line {}: expected two names, NAME IN THE MODEL,NAME IN THE SUBJECT, found '{}'",
          path, number, line.substr(0, 200)));
    }
    if (!names.emplace(first, second).second) {
      return Status::InvalidArgument(
          fmt::format("PairingOptions::names: '{}' line {}: '{}' was named before", path, number, first));
    }
  }
  return names;
}

}  // namespace plumb
