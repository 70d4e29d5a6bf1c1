// SPDX-License-Identifier: Apache-2.0
// Proposals for parameters that are not read (at their defaults), turned round, exchanged (height and width, begin and
// end), or one off.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "base/text.h"
#include "check/cause/general_ways.h"

namespace plumb {
namespace {

// One number, flag or text of a parameter struct; of a list each of its numbers.
struct FieldValue {
  enum Kind { kInt, kFloat, kBool, kText } kind = kInt;
  std::string name;
  int index = -1;  // in a list
  double number = 0;
  std::string text;
  bool operator==(const FieldValue& other) const { return number == other.number && text == other.text; }
  std::string Words() const {
    if (kind == kText) return "'" + text + "'";
    return kind == kBool ? (number != 0 ? "true" : "false") : Number(number, 6);
  }
};

// Reads all fields, or writes the ones given in the same order.
class FieldVisitor : public ParamVisitor {
 public:
  explicit FieldVisitor(const std::vector<FieldValue>* written = nullptr) : written_(written) {}
  std::vector<FieldValue> read;

  void Int(const char* name, int& value, Need) override { Visit(FieldValue::kInt, name, -1, value); }
  void Float(const char* name, float& value, Need) override { Visit(FieldValue::kFloat, name, -1, value); }
  void Bool(const char* name, bool& value, Need) override {
    Next({FieldValue::kBool, name, -1, value ? 1.0 : 0.0, ""});
    if (written_ != nullptr) value = Written().number != 0;
  }
  void Text(const char* name, std::string& value, Need) override {
    Next({FieldValue::kText, name, -1, 0, value});
    if (written_ != nullptr) value = Written().text;
  }
  void Counted(const char* name, std::vector<int>& values, Need) override { Rest(name, values); }
  void Fixed(const char* name, std::vector<int>& values, size_t, Need) override { Rest(name, values); }
  void Rest(const char* name, std::vector<int>& values) override {
    for (size_t i = 0; i < values.size(); ++i) Visit(FieldValue::kInt, name, static_cast<int>(i), values[i]);
  }
  void Ignored(const char*) override {}

 private:
  template <class T>
  void Visit(FieldValue::Kind kind, const char* name, int index, T& value) {
    Next({kind, name, index, static_cast<double>(value), ""});
    if (written_ != nullptr) value = static_cast<T>(Written().number);
  }
  void Next(FieldValue value) { read.push_back(std::move(value)); }
  const FieldValue& Written() const { return (*written_)[std::min(read.size(), written_->size()) - 1]; }

  const std::vector<FieldValue>* written_;
};

std::vector<FieldValue> FieldsOf(const OpParam& param) {
  FieldVisitor visitor;
  param.Clone()->Visit(visitor);
  return visitor.read;
}

class OtherFields {
 public:
  OtherFields(const ProposalContext& c, Proposals* proposals)
      : c_(c), proposals_(proposals), own_(FieldsOf(*c.layer.param)) {
    const auto param = GetOp(c.layer.kind).make_param();
    if (param != nullptr) defaults_ = FieldsOf(*param);
  }

  void All() {
    if (own_.empty()) return;
    Exchanged();
    for (const FieldValue& field : own_) {
      if (!Meant(field)) continue;
      const size_t at = static_cast<size_t>(&field - own_.data());
      if (field.kind == FieldValue::kBool) Replace(at, field.number != 0 ? 0 : 1);
      if (field.kind == FieldValue::kInt || field.kind == FieldValue::kFloat) Defaults(at);
      if (field.kind == FieldValue::kInt && std::abs(field.number) <= 8) {
        for (const double by : {-1, 1}) Replace(at, field.number + by);
      }
    }
  }

 private:
  // What says how the file is read, not what is computed.
  static bool Meant(const FieldValue& field) {
    for (const char* other : {"has_", "channel_shared", "kernel_index", "weight_position", "weight_input",
                              "in_channels", "out_channels", "data_type", "to"}) {
      if (field.name.rfind(other, 0) == 0) return false;
    }
    return true;
  }

  void Defaults(size_t at) {
    const FieldValue& field = own_[at];
    for (const FieldValue& other : defaults_) {
      if (other.name == field.name && other.index == field.index && !(other == field)) Replace(at, other.number);
    }
    const bool of_list = field.index >= 0 && field.name == "dilations" && field.number != 1;
    if (of_list) Replace(at, 1);
  }

  void Replace(size_t at, double number) {
    std::vector<FieldValue> other = own_;
    other[at].number = number;
    Propose(fmt::format("with {} {}", NameOf(at), other[at].Words()), own_[at].Words(), other);
  }

  // "axis" for the only one of a list of axes.
  std::string NameOf(size_t at) const {
    const FieldValue& field = own_[at];
    if (field.index < 0) return field.name;
    if (field.index == 0 && !Find(field.name, 1)) return field.name == "axes" ? "axis" : field.name;
    return fmt::format("{}[{}]", field.name, field.index);
  }

  std::optional<size_t> Find(const std::string& name, int index = -1) const {
    for (size_t i = 0; i < own_.size(); ++i) {
      if (own_[i].name == name && own_[i].index == index) return i;
    }
    return std::nullopt;
  }

  using Pairs = std::vector<std::pair<size_t, size_t>>;

  // Fields whose names differ in these words: kernel_h and kernel_w.
  Pairs Siblings(const std::string& one, const std::string& two) const {
    Pairs pairs;
    for (size_t i = 0; i < own_.size(); ++i) {
      const std::string& name = own_[i].name;
      const size_t at = name.rfind(one);
      if (at == std::string::npos || at + one.size() != name.size()) continue;
      if (const auto other = Find(name.substr(0, at) + two)) pairs.emplace_back(i, *other);
    }
    return pairs;
  }

  // The two halves of a list that has all begins, then all ends; or of two lists.
  Pairs Ends() const {
    Pairs pairs;
    int count = 0;
    while (Find("pads", count)) ++count;
    for (int i = 0; i < count / 2; ++i) pairs.emplace_back(*Find("pads", i), *Find("pads", i + count / 2));
    for (int i = 0; Find("begins", i) && Find("ends", i); ++i) pairs.emplace_back(*Find("begins", i), *Find("ends", i));
    for (const auto& [one, two] : {std::make_pair("top", "bottom"), {"left", "right"}, {"begin", "end"}}) {
      for (const auto& pair : Siblings(one, two)) pairs.push_back(pair);
    }
    return pairs;
  }

  // The first two spatial entries of each list.
  Pairs Axes() const {
    Pairs pairs = Siblings("_h", "_w");
    for (const char* list : {"kernel", "strides", "dilations"}) {
      if (Find(list, 0) && Find(list, 1) && !Find(list, 2)) pairs.emplace_back(*Find(list, 0), *Find(list, 1));
    }
    if (Find("pads", 3) && !Find("pads", 4)) {
      pairs.emplace_back(*Find("pads", 0), *Find("pads", 1));
      pairs.emplace_back(*Find("pads", 2), *Find("pads", 3));
    }
    if (const auto top = Find("pad_top"), left = Find("pad_left"); top && left) pairs.emplace_back(*top, *left);
    if (const auto bottom = Find("pad_bottom"), right = Find("pad_right"); bottom && right)
      pairs.emplace_back(*bottom, *right);
    return pairs;
  }

  void Exchanged() {
    Exchange("with height and width of its window exchanged", Axes());
    Exchange("with the pads of begin and end exchanged", Ends());
    for (const double by : {1, -1}) {
      std::vector<FieldValue> other = own_;
      bool changed = false;
      for (const auto& [begin, end] : Ends()) {
        if (own_[begin].number + own_[end].number <= 0) continue;
        other[begin].number -= by, other[end].number += by;
        changed = true;
      }
      if (changed) {
        Propose(by > 0 ? "with one pad less at every begin, one more at the end"
                       : "with one pad more at every begin, one less at the end",
                "otherwise", other);
      }
    }
    NoDilation();
    NoLimit();
  }

  // One limit of a Clip alone.
  void NoLimit() {
    constexpr double kBeyond = 3.4e38;
    if (c_.layer.kind != OpKind::kClip) return;
    for (const auto& [limit, number] : {std::make_pair("min", -kBeyond), std::make_pair("max", kBeyond)}) {
      std::vector<FieldValue> other = own_;
      other[*Find(limit)].number = number;
      Propose(fmt::format("without its {} limit", number < 0 ? "lower" : "upper"), "with it", other);
    }
  }

  void Exchange(const char* words, const Pairs& pairs) {
    std::vector<FieldValue> other = own_;
    for (const auto& [one, two] : pairs) std::swap(other[one].number, other[two].number);
    if (!(other == own_)) Propose(words, "otherwise", other);
  }

  // Of a window whose pads are lists: those of the smaller window.
  void NoDilation() {
    std::vector<FieldValue> other = own_;
    int axes = 0;
    while (Find("dilations", axes)) ++axes;
    bool changed = false;
    for (int i = 0; i < axes; ++i) {
      const auto kernel = Find("kernel", i), begin = Find("pads", i), end = Find("pads", i + axes);
      const size_t dilation = *Find("dilations", i);
      if (!kernel || !begin || !end || own_[dilation].number == 1) continue;
      const double less = (own_[dilation].number - 1) * (own_[*kernel].number - 1);
      other[dilation].number = 1;
      other[*begin].number -= std::floor(less / 2), other[*end].number -= std::ceil(less / 2);
      changed = true;
    }
    if (changed) Propose("without dilation", "with it", other);
  }

  void Propose(std::string computed, std::string says, const std::vector<FieldValue>& fields) {
    Layer altered = c_.layer;
    altered.param = c_.layer.param->Clone();
    FieldVisitor writer(&fields);
    altered.param->Visit(writer);
    proposals_->push_back({std::move(computed), std::move(says), std::move(altered), {}, "field"});
  }

  const ProposalContext& c_;
  Proposals* proposals_;
  std::vector<FieldValue> own_, defaults_;
};

// Whose parameters say how inputs are read, or which the known ways know whole.
constexpr OpKind kLeftAlone[] = {OpKind::kPlumbLSTM,
                                 OpKind::kPlumbGRU,
                                 OpKind::kPlumbRNN,
                                 OpKind::kReshape,
                                 OpKind::kPlumbDynamicQuantizeLSTM,
                                 OpKind::kStridedSlice,
                                 OpKind::kStridedSliceV2,
                                 OpKind::kSplitV,
                                 OpKind::kGather,
                                 OpKind::kPlumbGatherElements,
                                 OpKind::kExpand,
                                 OpKind::kTile,
                                 OpKind::kPlumbQuantizeLinear,
                                 OpKind::kPlumbDequantizeLinear,
                                 OpKind::kPlumbMatMulInteger,
                                 OpKind::kEinsum,
                                 OpKind::kMatMul};

}  // namespace

void ProposeOtherFields(const ProposalContext& context, Proposals* proposals) {
  const bool mod = context.layer.kind == OpKind::kPlumbMod;
  if (mod || context.layer.kind == OpKind::kPlumbFmod) {
    Layer other = context.layer;
    other.kind = mod ? OpKind::kPlumbFmod : OpKind::kPlumbMod;
    proposals->push_back({fmt::format("with the remainder's sign of the {}", mod ? "dividend" : "divisor"),
                          mod ? "of the divisor" : "of the dividend",
                          std::move(other),
                          {},
                          "field"});
  }
  if (context.layer.param == nullptr) return;
  if (std::find(std::begin(kLeftAlone), std::end(kLeftAlone), context.layer.kind) != std::end(kLeftAlone)) return;
  OtherFields(context, proposals).All();
}

}  // namespace plumb
