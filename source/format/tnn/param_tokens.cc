// SPDX-License-Identifier: Apache-2.0
#include "format/tnn/param_tokens.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/from_chars.h"
#include "format/tnn/names.h"

namespace plumb::tnn {
namespace {

constexpr int kIntMin = std::numeric_limits<int>::min();
constexpr int kIntMax = std::numeric_limits<int>::max();

// from_chars takes no leading '+', C's parsers do.
std::string_view WithoutPlus(std::string_view token) {
  return token.size() > 1 && token[0] == '+' && token[1] != '-' ? token.substr(1) : token;
}

class Reader : public ParamVisitor {
 public:
  Reader(const std::vector<std::string_view>& tokens, bool escaped) : tokens_(tokens), escaped_(escaped) {}

  void Int(const char* name, int& value, Need need) override {
    if (Have(name, need, "an integer")) value = NextInt(name, kIntMin, kIntMax, value);
  }
  void Float(const char* name, float& value, Need need) override {
    if (!Have(name, need, "a number")) return;
    const Result<float> parsed = ParseFloat(tokens_[next_++]);
    if (parsed.ok()) {
      value = *parsed;
    } else {
      Fail(name, parsed.status());
    }
  }
  void Bool(const char* name, bool& value, Need need) override {
    if (Have(name, need, "0 or 1")) value = NextInt(name, 0, 1, value ? 1 : 0) != 0;
  }
  void Text(const char* name, std::string& value, Need need) override {
    if (!Have(name, need, "a text")) return;
    const std::string_view token = tokens_[next_++];
    if (!escaped_) {
      value = std::string(token);
      return;
    }
    Result<std::string> text = UnescapeName(token);
    if (text.ok()) {
      value = *std::move(text);
    } else {
      Fail(name, text.status());
    }
  }
  void Counted(const char* name, std::vector<int>& values, Need need) override {
    if (!Have(name, need, "a count")) return;
    const int count = NextInt(name, 0, kIntMax, 0);
    if (status_.ok()) Values(name, values, static_cast<size_t>(count));
  }
  void Fixed(const char* name, std::vector<int>& values, size_t count, Need need) override {
    if (count > 0 && Have(name, need, "an integer")) Values(name, values, count);
  }
  void Rest(const char* name, std::vector<int>& values) override {
    if (status_.ok()) Values(name, values, Left());
  }
  void Ignored(const char*) override {
    if (status_.ok() && Left() > 0) ++next_;
  }
  bool loading() const override { return true; }
  bool HasMore() const override { return status_.ok() && Left() > 0; }

  const Status& status() const { return status_; }
  size_t used() const { return next_; }

 private:
  size_t Left() const { return tokens_.size() - next_; }

  void Fail(const char* name, const Status& status) {
    if (status_.ok()) {
      status_ = status.AddContext(fmt::format("field '{}' (parameter {})", name, next_));
    }
  }

  bool Have(const char* name, Need need, const char* expected) {
    if (!status_.ok()) return false;
    if (Left() > 0) return true;
    if (need == kRequired) {
      ++next_;  // the number of the parameter that is missing
      Fail(name, Status::CorruptModel(fmt::format("expected {}, found the end of the line", expected)));
    }
    return false;
  }

  int NextInt(const char* name, int min, int max, int fallback) {
    const Result<int64_t> parsed = ParseInteger(tokens_[next_++], min, max);
    if (parsed.ok()) return static_cast<int>(*parsed);
    Fail(name, parsed.status());
    return fallback;
  }

  void Values(const char* name, std::vector<int>& values, size_t count) {
    if (count > Left()) {
      Fail(name, Status::CorruptModel(fmt::format("expected {} values, found {}", count, Left())));
      return;
    }
    values.assign(count, 0);
    for (int& value : values) {
      if (status_.ok()) value = NextInt(name, kIntMin, kIntMax, 0);
    }
  }

  const std::vector<std::string_view>& tokens_;
  const bool escaped_;
  size_t next_ = 0;
  Status status_;
};

class Writer : public ParamVisitor {
 public:
  void Int(const char*, int& value, Need) override { tokens.push_back(std::to_string(value)); }
  void Float(const char*, float& value, Need) override { tokens.push_back(FormatFloat(value)); }
  void Bool(const char*, bool& value, Need) override { tokens.emplace_back(value ? "1" : "0"); }
  void Text(const char*, std::string& value, Need) override {
    tokens.push_back(value);
    texts.push_back(value);
  }
  void Counted(const char*, std::vector<int>& values, Need) override {
    tokens.push_back(std::to_string(values.size()));
    Append(values);
  }
  void Fixed(const char*, std::vector<int>& values, size_t, Need) override { Append(values); }
  void Rest(const char*, std::vector<int>& values) override { Append(values); }
  void Ignored(const char* written) override { tokens.emplace_back(written); }

  std::vector<std::string> tokens;
  std::vector<std::string> texts;

 private:
  void Append(const std::vector<int>& values) {
    for (const int value : values) tokens.push_back(std::to_string(value));
  }
};

Writer Written(const Layer& layer) {
  Writer writer;
  layer.param->Visit(writer);
  return writer;
}

}  // namespace

Result<int64_t> ParseInteger(std::string_view token, int64_t min, int64_t max) {
  const std::string_view digits = WithoutPlus(token);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const std::string found = fmt::format(", found '{}'", std::string(token.substr(0, 60)));
  if (digits.empty() || end != digits.data() + digits.size() || error == std::errc::invalid_argument) {
    return Status::CorruptModel("expected an integer" + found);
  }
  if (error != std::errc() || value < min || value > max) {
    return Status::CorruptModel(fmt::format("expected an integer from {} to {}{}", min, max, found));
  }
  return value;
}

Result<float> ParseFloat(std::string_view token) {
  const std::string_view digits = WithoutPlus(token);
  const char* end = digits.data() + digits.size();
  float value = 0;
  auto [stop, error] = FromChars(digits.data(), end, &value);
  if (error == std::errc::result_out_of_range) {  // 1e-46 is 0 and 1e39 is infinite, as with C's atof
    double wide = 0;
    const auto retried = FromChars(digits.data(), end, &wide);
    stop = retried.ptr;
    error = retried.ec;
    value = static_cast<float>(wide);
  }
  if (digits.empty() || stop != end || error != std::errc()) {
    return Status::CorruptModel(fmt::format("expected a number, found '{}'", std::string(token.substr(0, 60))));
  }
  return value;
}

std::string FormatFloat(float value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  const auto result = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, result.ptr);
}

Result<size_t> ReadParams(const std::vector<std::string_view>& tokens, bool escaped, OpParam* param) {
  Reader reader(tokens, escaped);
  param->Visit(reader);
  if (!reader.status().ok()) return reader.status();
  return reader.used();
}

std::vector<std::string> ParamTokens(const Layer& layer) { return Written(layer).tokens; }

std::vector<std::string> TextParams(const Layer& layer) { return Written(layer).texts; }

}  // namespace plumb::tnn
