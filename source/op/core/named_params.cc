// SPDX-License-Identifier: Apache-2.0
// A layer's parameters as names and values, and what it costs (plumb/tool/support.h).
#include "op/core/named_params.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "base/from_chars.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

class Lister : public ParamVisitor {
 public:
  void Int(const char* name, int& value, Need) override { Put(name, std::to_string(value)); }
  void Float(const char* name, float& value, Need) override {
    char text[32];
    Put(name, std::string(text, std::to_chars(text, text + sizeof(text), value).ptr));
  }
  void Bool(const char* name, bool& value, Need) override { Put(name, value ? "1" : "0"); }
  void Text(const char* name, std::string& value, Need) override { Put(name, value); }
  void Counted(const char* name, std::vector<int>& values, Need) override { List(name, values); }
  void Fixed(const char* name, std::vector<int>& values, size_t, Need) override { List(name, values); }
  void Rest(const char* name, std::vector<int>& values) override { List(name, values); }
  void Ignored(const char*) override {}

  std::vector<std::pair<std::string, std::string>> fields;

 private:
  void Put(const char* name, std::string value) { fields.emplace_back(name, std::move(value)); }
  void List(const char* name, const std::vector<int>& values) {
    std::string text = "[";
    for (int value : values) text += (text.size() > 1 ? "," : "") + std::to_string(value);
    Put(name, text + "]");
  }
};

// Sets the fields whose names were given, each once, in one walk: some fields follow from others.
class Setter : public ParamVisitor {
 public:
  explicit Setter(std::map<std::string, std::string> given) : given_(std::move(given)) {}

  void Int(const char* name, int& value, Need) override {
    Set(name, "an integer", [&](const std::string& text) { return ReadNumber(text, &value); });
  }
  void Float(const char* name, float& value, Need) override {
    Set(name, "a number", [&](const std::string& text) { return ReadNumber(text, &value); });
  }
  void Bool(const char* name, bool& value, Need) override {
    Set(name, "0 or 1", [&](const std::string& text) {
      value = text != "0";
      return text.empty() || text == "0" || text == "1";
    });
  }
  void Text(const char* name, std::string& value, Need) override {
    Set(name, "a text", [&](const std::string& text) {
      value = text;
      return true;
    });
  }
  void Counted(const char* name, std::vector<int>& values, Need) override { List(name, &values); }
  void Fixed(const char* name, std::vector<int>& values, size_t, Need) override { List(name, &values); }
  void Rest(const char* name, std::vector<int>& values) override { List(name, &values); }
  void Ignored(const char*) override {}
  // As if a file was read that never ends: every field is visited.
  bool loading() const override { return true; }

  const std::vector<std::string>& names() const { return names_; }
  // InvalidArgument for the first value that did not fit, or for a name that no field has.
  Status Finish() const {
    if (!status_.ok() || given_.empty()) return status_;
    const std::string& name = given_.begin()->first;
    std::string all;
    for (const std::string& known : names_) all += (all.empty() ? "" : ", ") + known;
    return Status::InvalidArgument(fmt::format("no parameter is called '{}'{}{}", name, DidYouMean(name, names_),
                                               all.empty() ? "; the operator has none" : "; there are " + all));
  }

 private:
  template <class F>
  void Set(const char* name, const char* expected, F read) {
    names_.emplace_back(name);
    const auto it = given_.find(name);
    if (it == given_.end()) return;
    if (!read(it->second) && status_.ok()) {
      status_ = Status::InvalidArgument(
          fmt::format("parameter '{}' expects {}, found '{}'", it->first, expected, it->second));
    }
    given_.erase(it);
  }

  template <class T>
  static bool ReadNumber(const std::string& text, T* value) {
    const char* end = text.data() + text.size();
    const auto read = FromChars(text.data(), end, value);
    return read.ec == std::errc() && read.ptr == end;
  }

  void List(const char* name, std::vector<int>* values) {
    Set(name, "integers as [1,2]", [&](const std::string& text) {
      if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
      values->clear();
      std::istringstream in(text.substr(1, text.size() - 2));
      for (std::string word; std::getline(in, word, ',');) {
        values->emplace_back();
        if (!ReadNumber(word, &values->back())) return false;
      }
      return true;
    });
  }

  std::map<std::string, std::string> given_;
  std::vector<std::string> names_;
  Status status_;
};

// Whether the operator has a parameter of that name.
bool HasParam(const Layer& layer, const std::string& name) {
  Setter names({});
  layer.param->Clone()->Visit(names);
  return std::find(names.names().begin(), names.names().end(), name) != names.names().end();
}

// "kernel=3x3" is "kernel_h=3 kernel_w=3" where the operator has these and no "kernel".
void AddGiven(const Layer& layer, const std::string& name, const std::string& value,
              std::map<std::string, std::string>* given) {
  if (HasParam(layer, name) || !HasParam(layer, name + "_h")) {
    (*given)[name] = value;
    return;
  }
  const size_t by = value.find('x');
  (*given)[name + "_h"] = value.substr(0, by);
  (*given)[name + "_w"] = by == std::string::npos ? value : value.substr(by + 1);
}

}  // namespace

Status SetParams(const std::string& text, Layer* layer) {
  std::map<std::string, std::string> given;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    const size_t equal = word.find('=');
    const std::string name = word.substr(0, equal);
    const size_t before = given.size();
    AddGiven(*layer, name, equal == std::string::npos ? "" : word.substr(equal + 1), &given);
    if (given.size() == before) return Status::InvalidArgument(fmt::format("parameter '{}' is given twice", name));
  }
  std::shared_ptr<OpParam> param = layer->param->Clone();
  Setter setter(std::move(given));
  param->Visit(setter);
  PLUMB_RETURN_IF_ERROR(setter.Finish());
  layer->param = std::move(param);
  return Status::Ok();
}

std::vector<std::pair<std::string, std::string>> ListParams(const Layer& layer) {
  Lister lister;
  layer.param->Visit(lister);
  return std::move(lister.fields);
}

double CountOperations(const Layer& layer, const BlobTable& blobs) {
  const OpDef& op = GetOp(layer.kind);
  if (op.moves_data_only) return 0;
  std::vector<BlobInfo> inputs, outputs;
  for (const std::string& name : layer.inputs) inputs.push_back(blobs.at(name));
  for (const std::string& name : layer.outputs) outputs.push_back(blobs.at(name));
  if (op.flops != nullptr) return op.flops(layer, inputs, outputs);
  double elements = 0;
  for (const BlobInfo& output : outputs) elements += static_cast<double>(output.shape.NumElements());
  return elements;
}

}  // namespace plumb
