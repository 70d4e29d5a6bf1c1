// SPDX-License-Identifier: Apache-2.0
#include "names/walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace plumb {
namespace {

constexpr const char *kInput = "a network input", *kOutput = "a network output";
constexpr double kSameMark = 1e-4, kRoundedMark = 3e-2;

bool IsCommutative(const std::string& op) {
  return op == "Add" || op == "Mul" || op == "Max" || op == "Min" || op == "Sum" || op == "And" || op == "Or";
}

// Whether the same result says the same operand, the others being known: operators that keep apart what they read. A
// softmax gives the same for x and x + 1, a ReLU for x and itself.
bool TellsItsOperands(const std::string& op) {
  constexpr const char* kTelling[] = {
      "Add",       "Sub",    "Mul",        "Div",      "Neg",       "Exp",    "Log",           "Sqrt",   "Sigmoid",
      "Tanh",      "Erf",    "Reciprocal", "Softplus", "LeakyRelu", "PRelu",  "Elu",           "Selu",   "Reshape",
      "Transpose", "Concat", "Pad",        "Conv",     "Gemm",      "MatMul", "ConvTranspose", "Resize", "Upsample"};
  return std::find(std::begin(kTelling), std::end(kTelling), op) != std::end(kTelling);
}

// What both say of an attribute is the same.
bool AttributesAgree(const NameNode& a, const NameNode& b) {
  if (a.op == "Reshape" || a.op == "Mean") return true;
  return std::all_of(a.attributes.begin(), a.attributes.end(), [&](const auto& attribute) {
    const auto other = b.attributes.find(attribute.first);
    if (other == b.attributes.end()) return true;
    const onnx::AttributeIr &x = attribute.second, &y = other->second;
    return x.i == y.i && x.ints == y.ints && x.f == y.f && x.s == y.s;
  });
}

bool ConstantsAgree(const NameNode& a, const NameNode& b) {
  if (a.op == "Reshape") return true;
  return a.constants.size() == b.constants.size() &&
         std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(),
                    [](const auto& x, const auto& y) { return MarkDistance(x, y) <= kSameMark; });
}

bool SameOperation(const NameNode& a, const NameNode& b) {
  return a.op == b.op && a.activation == b.activation && a.data.size() == b.data.size() && AttributesAgree(a, b) &&
         ConstantsAgree(a, b);
}

}  // namespace

void NameWalk::PairEndsByName() {
  for (const auto& [ours, theirs, because] :
       {std::tuple(&a_.inputs, &b_.inputs, kInput), {&a_.outputs, &b_.outputs, kOutput}}) {
    for (const std::string& name : *ours) {
      if (std::find(theirs->begin(), theirs->end(), name) != theirs->end()) Pair(name, name, because);
    }
  }
}

void NameWalk::PairInputsInOrder(bool several) { PairInOrder(a_.inputs, b_.inputs, several, kInput); }

void NameWalk::PairOutputsInOrder(bool several) { PairInOrder(a_.outputs, b_.outputs, several, kOutput); }

void NameWalk::Grow() {
  if (products_.empty()) FindProducts();
  for (bool more = true; more;) {
    const size_t before = to_a_.size();
    for (const NameNode& node : b_.nodes) {
      const auto product = products_.find(&node);
      if (product != products_.end()) Product(*product->second, node);
      Forward(node);
      Backward(node);
    }
    more = to_a_.size() > before;
  }
}

const std::string* NameWalk::PartnerOf(const std::string& name) const {
  const auto found = to_a_.find(b_.Canonical(name));
  return found == to_a_.end() ? nullptr : &found->second;
}

const std::string& NameWalk::Because(const std::string& name) const { return because_.at(b_.Canonical(name)); }

bool NameWalk::Pair(const std::string& given_a, const std::string& given_b, const std::string& because) {
  const std::string a = a_.Canonical(given_a), b = b_.Canonical(given_b);
  if (to_a_.count(b) > 0 || to_b_.count(a) > 0 || a.empty() || b.empty()) return false;
  to_a_[b] = a;
  to_b_[a] = b;
  because_[b] = because;
  return true;
}

void NameWalk::PairInOrder(std::vector<std::string> a, std::vector<std::string> b, bool several, const char* because) {
  a.erase(std::remove_if(a.begin(), a.end(), [&](const auto& name) { return to_b_.count(a_.Canonical(name)) > 0; }),
          a.end());
  b.erase(std::remove_if(b.begin(), b.end(), [&](const auto& name) { return to_a_.count(b_.Canonical(name)) > 0; }),
          b.end());
  if (a.size() != b.size() || (a.size() > 1 && !several)) return;
  for (size_t i = 0; i < a.size(); ++i) Pair(a[i], b[i], because);
}

void NameWalk::FindProducts() {
  std::map<const NameNode*, std::vector<const NameNode*>> claims;
  for (const NameNode& b : b_.nodes) {
    if (!b.Weighted()) continue;
    double best = std::numeric_limits<double>::infinity(), second = best;
    const NameNode* found = nullptr;
    for (const NameNode& a : a_.nodes) {
      const bool one = a.op == b.op || (a.op == "MatMul" && b.op == "Gemm") || (a.op == "Gemm" && b.op == "MatMul");
      if (!one || !a.Weighted()) continue;
      double distance = MarkDistance(a.constants[0], b.constants[0]);
      if (a.norm != nullptr) distance = std::min(distance, MarkDistance(a.folded, b.constants[0]));
      if (distance < best) {
        second = best, best = distance, found = &a;
      } else {
        second = std::min(second, distance);
      }
    }
    const bool rounded = best <= kRoundedMark && second > 5 * best + kSameMark;
    if (found != nullptr && (best <= kSameMark ? second > 2 * kSameMark : rounded)) claims[found].push_back(&b);
  }
  for (const auto& [a, found] : claims) {
    if (found.size() == 1) products_[found[0]] = a;
  }
}

void NameWalk::Product(const NameNode& a, const NameNode& b) {
  if (a.data.empty() || b.data.empty()) return;
  const std::string because = fmt::format("read with the weights '{}'", a.constants[0].name);
  std::string mine = a.data[0], other = b.data[0];
  const auto is = [](const NameNode* node, const char* op) { return node != nullptr && node->op == op; };
  for (const char* op : {"Pad", "Reshape"}) {  // that one of the two has no longer
    const bool in_a = is(a_.Writer(mine), op), in_b = is(b_.Writer(other), op);
    if (in_a && !in_b) mine = a_.Writer(mine)->data[0];
    if (in_b && !in_a) other = b_.Writer(other)->data[0];
  }
  // One without the other was pushed through: the two may stand in another order.
  if (is(a_.Writer(mine), "Transpose") != is(b_.Writer(other), "Transpose")) return;
  Pair(mine, other, because);
  ProductOutput(a, b);
}

void NameWalk::ProductOutput(const NameNode& a, const NameNode& b) {
  const std::string because = fmt::format("made with the weights '{}'", a.constants[0].name);
  const NameNode* end = &a;
  const bool folded =
      a.norm != nullptr && MarkDistance(a.folded, b.constants[0]) < MarkDistance(a.constants[0], b.constants[0]);
  if (folded) end = a.norm;
  const NameNode* next = a_.OnlyReader(end->outputs[0]);
  const bool takes_bias = !folded && a.constants.size() == 1 && b.constants.size() == 2;
  if (takes_bias) {
    if (next == nullptr || next->op != "Add" || next->data.size() != 1) return;
    end = next;
    next = a_.OnlyReader(end->outputs[0]);
  }
  if (b.data.size() == 2 && a.data.size() == 1) {  // a sum that the node ends with
    if (next == nullptr || next->op != "Add" || next->data.size() != 2) return;
    Pair(next->data[next->data[0] == end->outputs[0] ? 1 : 0], b.data[1], because);
    end = next;
    next = a_.OnlyReader(end->outputs[0]);
  }
  if (!b.activation.empty() && b.activation != a.activation) {
    if (next == nullptr || next->op != b.activation) return;
    end = next;
  }
  const NameNode* reader = b_.OnlyReader(b.outputs[0]);  // a bias that is added behind it, on both sides or on this one
  const bool adds_later = !folded && a.constants.size() == 2 && b.constants.size() == 1;
  if (adds_later) {
    if (reader != nullptr && reader->op == "Add" && reader->data.size() == 1)
      Pair(end->outputs[0], reader->outputs[0], because);
    return;
  }
  Pair(end->outputs[0], b.outputs[0], because);
}

bool NameWalk::ReadSame(const NameNode& a, const NameNode& b) const {
  std::vector<std::string> wanted;
  for (const std::string& name : b.data) {
    const auto found = to_a_.find(name);
    if (found == to_a_.end()) return false;
    wanted.push_back(found->second);
  }
  std::vector<std::string> read = a.data;
  if (IsCommutative(b.op)) {
    std::sort(wanted.begin(), wanted.end());
    std::sort(read.begin(), read.end());
  }
  return read == wanted;
}

void NameWalk::Forward(const NameNode& b) {
  if (b.data.empty()) return;
  const auto first = to_a_.find(b.data[0]);
  const auto readers = first == to_a_.end() ? a_.readers.end() : a_.readers.find(first->second);
  if (readers == a_.readers.end()) return;
  const NameNode* found = nullptr;
  for (const NameNode* a : readers->second) {
    if (a == found || !SameOperation(*a, b) || !ReadSame(*a, b)) continue;
    if (found != nullptr) return;  // two that do the same
    found = a;
  }
  for (size_t i = 0; found != nullptr && i < std::min(found->outputs.size(), b.outputs.size()); ++i)
    Pair(found->outputs[i], b.outputs[i], b.op + " of pairs");
}

void NameWalk::Backward(const NameNode& b) {
  const auto output = b.outputs.empty() ? to_a_.end() : to_a_.find(b_.Canonical(b.outputs[0]));
  const NameNode* a = output == to_a_.end() ? nullptr : a_.Writer(output->second);
  if (!TellsItsOperands(b.op)) return;
  if (a == nullptr || a->outputs[0] != output->second || !SameOperation(*a, b)) return;
  const std::string because = fmt::format("read by the {} that makes a pair", b.op);
  std::vector<std::string> mine = a->data, other = b.data;
  for (size_t i = other.size(); i-- > 0;) {  // all but one are known
    const auto known = to_a_.find(other[i]);
    if (known == to_a_.end()) continue;
    const auto same = IsCommutative(b.op) ? std::find(mine.begin(), mine.end(), known->second)
                                          : mine.begin() + static_cast<std::ptrdiff_t>(i);
    if (same == mine.end() || *same != known->second) return;
    mine.erase(same);
    other.erase(other.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (mine.size() == 1 && other.size() == 1) Pair(mine[0], other[0], because);
}

}  // namespace plumb
