// SPDX-License-Identifier: Apache-2.0
// JSON from files: objects in the file's order, read in time that grows with the file and on a stack that does not.
// nlohmann's ordered_json looks each key up among all before it (100,000 of them take 14 s), and copies, compares and
// prints what is nested by recursion (a megabyte of '[' ends the process). For .cc files that read: it is a large
// header, and the index does not follow keys that are removed.
#ifndef PLUMB_BASE_JSON_H_
#define PLUMB_BASE_JSON_H_

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/json_fwd.h"
#include "plumb/status.h"

namespace plumb {

template <class Key, class T, class Less, class Allocator>
class IndexedMap : public nlohmann::ordered_map<Key, T, Less, Allocator> {
 public:
  using Base = nlohmann::ordered_map<Key, T, Less, Allocator>;
  using Base::Base;

  // What the parser calls for each key.
  T& operator[](const Key& key) {
    constexpr size_t kFewKeys = 32;  // that are found as quickly one by one
    if (this->size() < kFewKeys) return Base::operator[](key);
    if (places_.size() != this->size()) Index();
    const auto [place, fresh] = places_.emplace(key, this->size());
    if (fresh) this->push_back(typename Base::value_type(key, T{}));
    return (this->begin() + static_cast<std::ptrdiff_t>(place->second))->second;
  }

 private:
  void Index() {
    places_.clear();
    for (const auto& entry : *this) places_.emplace(entry.first, places_.size());
  }

  std::unordered_map<Key, size_t> places_;  // of all keys, or of none
};

// CorruptModel where it nests deeper than any file of ours or others does. To be asked before a text is parsed; `path`
// stands in the sentence.
inline Status CheckJsonDepth(std::string_view text, const std::string& path) {
  constexpr int kMaxDepth = 100;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
    } else if (text[i] == '[' || text[i] == '{') {
      if (++depth > kMaxDepth) return Status::CorruptModel("'" + path + "' is JSON that nests more than 100 deep");
    } else if (text[i] == ']' || text[i] == '}') {
      --depth;
    }
  }
  return Status::Ok();
}

}  // namespace plumb

#endif  // PLUMB_BASE_JSON_H_
