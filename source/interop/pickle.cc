// SPDX-License-Identifier: Apache-2.0
#include "interop/pickle.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

namespace plumb {

// The machine that a pickle is a program for: a stack, marks on it, and a memo.
class PickleMachine {
 public:
  PickleMachine(std::string_view text, Pickle* pickle) : text_(text), values_(pickle->values_) {}

  // False: it cannot go on. The value that STOP leaves is *root.
  bool Run(size_t* root) {
    while (at_ < text_.size()) {
      const auto code = static_cast<uint8_t>(text_[at_++]);
      if (code == '.') {
        if (stack_.empty()) return false;
        *root = stack_.back();
        return true;
      }
      if (!Value(code) && !Collect(code) && !Remember(code)) return false;
    }
    return false;
  }
  size_t at() const { return at_; }

 private:
  size_t New(PickleValue::Kind kind, std::string text = "", int64_t number = 0, std::vector<size_t> items = {}) {
    values_.push_back({kind, number, std::move(text), std::move(items)});
    return values_.size() - 1;
  }
  bool Push(size_t value) {
    stack_.push_back(value);
    return true;
  }
  // Leaves what lies below the last mark alone.
  bool Has(size_t count) const { return stack_.size() >= count + (marks_.empty() ? 0 : marks_.back()); }
  size_t Pop() {
    const size_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  std::optional<uint64_t> Little(size_t size) {
    if (size > text_.size() - at_ || size > sizeof(uint64_t)) return std::nullopt;
    uint64_t number = 0;
    for (size_t i = size; i-- > 0;) number = number << 8 | static_cast<uint8_t>(text_[at_ + i]);
    at_ += size;
    return number;
  }
  // The bytes behind a length of so many bytes.
  std::optional<std::string> Counted(size_t size) {
    const auto length = Little(size);
    if (!length || *length > text_.size() - at_) return std::nullopt;
    at_ += static_cast<size_t>(*length);
    return std::string(text_.substr(at_ - static_cast<size_t>(*length), static_cast<size_t>(*length)));
  }
  std::optional<std::string> Line() {
    const size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) return std::nullopt;
    std::string line(text_.substr(at_, end - at_));
    at_ = end + 1;
    return line;
  }

  // BININT, BININT1, BININT2 and LONG1, the last of up to eight bytes with a sign.
  bool Number(uint8_t code) {
    size_t size = code == 'J' ? 4 : code == 'K' ? 1 : code == 'M' ? 2 : 0;
    const bool with_sign = code == 'J' || code == 0x8A;
    if (code == 0x8A) {
      const auto bytes = Little(1);
      if (!bytes) return false;
      size = static_cast<size_t>(*bytes);
      if (size > sizeof(uint64_t)) {  // larger than any number that is asked for
        if (size > text_.size() - at_) return false;
        at_ += size;
        return Push(New(PickleValue::kOther));
      }
    }
    const auto bits = Little(size);
    if (!bits) return false;
    uint64_t value = *bits;
    if (with_sign && size > 0 && size < sizeof(uint64_t) && (value >> (8 * size - 1) & 1) != 0)
      value |= ~uint64_t{0} << 8 * size;
    return Push(New(PickleValue::kInt, "", static_cast<int64_t>(value)));
  }
  bool Text(size_t length_bytes, PickleValue::Kind kind) {
    auto text = Counted(length_bytes);
    return text && Push(New(kind, std::move(*text)));
  }
  bool Global() {
    const auto module = Line();
    const auto name = module ? Line() : std::nullopt;
    return name && Push(New(PickleValue::kGlobal, *module + " " + *name));
  }
  bool StackGlobal() {
    constexpr size_t kLongest = 64;  // of names that anybody asks for; a memo gives the same text very often
    if (!Has(2)) return false;
    const std::string &name = values_[Pop()].text, &module = values_[Pop()].text;
    const bool asked = name.size() <= kLongest && module.size() <= kLongest;
    return Push(New(PickleValue::kGlobal, asked ? module + " " + name : ""));
  }
  bool Skip(size_t bytes) {
    if (bytes > text_.size() - at_) return false;
    at_ += bytes;
    return true;
  }

  // Opcodes that push one value.
  bool Value(uint8_t code) {
    switch (code) {
      case 'J':
      case 'K':
      case 'M':
      case 0x8A: return Number(code);
      case 'X': return Text(4, PickleValue::kText);
      case 0x8C: return Text(1, PickleValue::kText);
      case 'B': return Text(4, PickleValue::kOther);
      case 'C':
      case 'U': return Text(1, PickleValue::kOther);
      case 'T': return Text(4, PickleValue::kOther);
      case 'G': return Skip(8) && Push(New(PickleValue::kOther));
      case 'N':
      case 0x88:
      case 0x89: return Push(New(PickleValue::kOther));
      case '}': return Push(New(PickleValue::kDict));
      case ']':
      case ')': return Push(New(PickleValue::kTuple));
      case 'c': return Global();
      case 0x93: return StackGlobal();
      default: return false;
    }
  }

  bool Tuple(size_t count) {
    if (!Has(count)) return false;
    std::vector<size_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return Push(New(PickleValue::kTuple, "", 0, std::move(items)));
  }
  // What lies above the last mark, which goes.
  bool Marked(std::vector<size_t>* items) {
    if (marks_.empty()) return false;
    items->assign(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }
  // Adds to the dict or list below.
  bool Extend(std::vector<size_t> items) {
    if (!Has(1)) return false;
    std::vector<size_t>& to = values_[stack_.back()].items;
    const PickleValue::Kind kind = values_[stack_.back()].kind;
    if (kind == PickleValue::kDict && items.size() % 2 != 0) return false;
    if (kind == PickleValue::kDict || kind == PickleValue::kTuple) to.insert(to.end(), items.begin(), items.end());
    return true;
  }
  bool ExtendWith(size_t count) {
    if (!Has(count + 1)) return false;
    std::vector<size_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return Extend(std::move(items));
  }
  bool ExtendMarked() {
    std::vector<size_t> items;
    return Marked(&items) && Extend(std::move(items));
  }
  bool Call() {
    if (!Has(2)) return false;
    const size_t arguments = Pop(), function = Pop();
    const bool dict = values_[function].text == "collections OrderedDict" && values_[arguments].items.empty();
    return Push(dict ? New(PickleValue::kDict) : New(PickleValue::kCall, "", 0, {function, arguments}));
  }
  // An object: its state comes later.
  bool NewObject() {
    if (!Has(2)) return false;
    Pop(), Pop();
    return Push(New(PickleValue::kDict));
  }
  bool Build() {
    if (!Has(2)) return false;
    const PickleValue& state = values_[Pop()];
    PickleValue& object = values_[stack_.back()];
    if (state.kind != PickleValue::kDict || object.kind != PickleValue::kDict) return true;
    built_ += state.items.size();
    if (built_ > text_.size()) return false;        // an object built of itself again and again
    const std::vector<size_t> items = state.items;  // the object's own, where it is built of itself
    object.items.insert(object.items.end(), items.begin(), items.end());
    return true;
  }
  bool Storage() {
    if (!Has(1)) return false;
    constexpr size_t kParts = 5;  // ("storage", torch.FloatStorage, "0", "cpu", elements)
    std::vector<size_t> id = values_[Pop()].items;
    return id.size() == kParts && Push(New(PickleValue::kStorage, "", 0, std::move(id)));
  }

  // Opcodes that make one value of several.
  bool Collect(uint8_t code) {
    std::vector<size_t> items;
    switch (code) {
      case 0x85: return Tuple(1);
      case 0x86: return Tuple(2);
      case 0x87: return Tuple(3);
      case 't':
      case 'l': return Marked(&items) && Push(New(PickleValue::kTuple, "", 0, std::move(items)));
      case 'd':
        return Marked(&items) && items.size() % 2 == 0 && Push(New(PickleValue::kDict, "", 0, std::move(items)));
      case 's': return ExtendWith(2);
      case 'a': return ExtendWith(1);
      case 'u':
      case 'e': return ExtendMarked();
      case 'R': return Call();
      case 0x81: return NewObject();
      case 'b': return Build();
      case 'Q': return Storage();
      default: return false;
    }
  }

  bool Put(std::optional<uint64_t> key) {
    if (!key || !Has(1)) return false;
    memo_[*key] = stack_.back();
    return true;
  }
  bool Get(std::optional<uint64_t> key) {
    const auto found = key ? memo_.find(*key) : memo_.end();
    return found != memo_.end() && Push(found->second);
  }

  // Opcodes of the stack, the memo and the frame.
  bool Remember(uint8_t code) {
    switch (code) {
      case 0x80: return Skip(1);
      case 0x95: return Skip(8);
      case '(': marks_.push_back(stack_.size()); return true;
      case '0': return Has(1) && (Pop(), true);
      case 'q': return Put(Little(1));
      case 'r': return Put(Little(4));
      case 0x94: return Put(memo_.size());
      case 'h': return Get(Little(1));
      case 'j': return Get(Little(4));
      default: return false;
    }
  }

  std::string_view text_;
  std::vector<PickleValue>& values_;
  size_t at_ = 0;
  size_t built_ = 0;  // items that BUILD copied
  std::vector<size_t> stack_, marks_;
  std::map<uint64_t, size_t> memo_;
};

Result<Pickle> Pickle::Parse(std::string_view text, const std::string& path) {
  Pickle pickle;
  PickleMachine machine(text, &pickle);
  if (machine.Run(&pickle.root_)) return pickle;
  return Status::CorruptModel(
      fmt::format("'{}': its pickle ends or says what a state dict does not need at byte {}", path, machine.at()));
}

}  // namespace plumb
