// SPDX-License-Identifier: Apache-2.0
// FindShapes: which sizes are tried for the dims that a model leaves open, and in which order.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstring>
#include <set>

#include "base/text.h"
#include "format/open_dims.h"

namespace plumb {
namespace {

constexpr double kSeconds = 10;

// What an open dim may be. Each kind has two rows: what is tried for the smallest size, and for a usual one.
enum Kind { kSide, kChannels, kLength, kSamples, kCount };
struct Sizes {
  std::vector<int64_t> smallest, usual;
};

const Sizes& SizesOf(Kind kind) {
  static const Sizes kSizes[kCount] = {
      {{32,  48,  64,  80,  96,  112, 128, 160, 192, 224,  256, 288, 299, 320,
        384, 416, 448, 480, 512, 608, 640, 768, 800, 1024, 28,  16,  8},
       {224, 640, 320, 256, 299, 512, 416, 384, 192, 160, 128, 96, 64}},
      {{3, 1, 4}, {3, 1, 4}},
      {{4,   8,    16,   20,   24,   32,   40,   48,   64,   76,   80,   96,   100,   128, 160,
        192, 200,  224,  256,  300,  320,  384,  400,  480,  512,  576,  600,  640,   768, 800,
        960, 1000, 1024, 1280, 1500, 1536, 1600, 1760, 2048, 3000, 4096, 8000, 16000, 2,   1},
       {128, 16, 64, 32, 256, 512}},
      {{256,   320,   400,   480,   512,   576,   640,   768,   800,  960,  1024, 1280,
        1536,  1600,  1760,  1920,  2048,  3200,  4000,  4096,  4800, 8000, 8192, 9600,
        15360, 16000, 16384, 24000, 32000, 44100, 48000, 80000, 160,  64,   16},
       {16000, 16384, 32000, 8000, 4096, 1536, 1280, 1024, 576, 512}}};
  return kSizes[kind];
}

bool IsColour(int64_t channels) { return channels == 1 || channels == 3 || channels == 4; }

Kind KindByName(const std::string& name) {
  const std::string lower = Lower(name);
  if (lower == "h" || lower == "w" || ContainsOneOf(lower, {"height", "width"})) return kSide;
  if (ContainsOneOf(lower, {"sample", "audio", "wave"})) return kSamples;
  if (lower == "c" || ContainsOneOf(lower, {"channel"})) return kChannels;
  if (lower == "t" || lower == "l" || ContainsOneOf(lower, {"seq", "len", "time", "frame", "token", "step"}))
    return kLength;
  return kCount;
}

Kind KindOf(const DeclaredInput& input, size_t i) {
  const Kind named = KindByName(input.dim_names[i]);
  if (named != kCount) return named;
  const std::vector<int64_t>& dims = input.dims;
  if (dims.size() == 4) {
    const bool last = IsColour(dims[3]) && dims[1] < 0 && dims[2] < 0;  // NHWC
    if (last) return kSide;
    if (i == 1) return kChannels;
    // One open dim behind many channels is a length (a cache of attention: [1,heads,past,64]).
    return i == 2 && dims[3] >= 0 && !IsColour(dims[1]) ? kLength : kSide;
  }
  if (dims.size() == 5) return i == 1 ? kChannels : kSide;
  const std::string text = Lower(input.name);
  const bool sound = ContainsOneOf(text, {"audio", "wave", "pcm", "speech"});
  return sound && IsFloat(input.dtype) && dims.size() <= 2 ? kSamples : kLength;
}

// One open dim, in all its places.
struct Variable {
  Kind kind;
  bool state;  // of an input that begins with a fixed dim, [2,?,128]: more likely a batch than a length
  std::vector<std::pair<size_t, size_t>> places;
  std::string name;
  std::vector<size_t> sum_of;  // variables; empty: none, a size of its own
  int64_t more = 0;            // beside them
};

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// torch names a cache's length "past_sequence_length + sequence_length", and adds numbers.
bool FindTerms(const std::vector<Variable>& all, Variable* sum) {
  std::string rest = sum->name;
  std::vector<size_t> terms;
  int64_t more = 0;
  for (size_t plus = 0; plus != std::string::npos;) {
    plus = rest.find('+');
    const std::string term = Trimmed(rest.substr(0, plus));
    rest = plus == std::string::npos ? "" : rest.substr(plus + 1);
    const auto it = std::find_if(all.begin(), all.end(), [&](const Variable& v) { return v.name == term; });
    if (it != all.end()) {
      terms.push_back(static_cast<size_t>(it - all.begin()));
    } else if (!term.empty() && term.size() < 7 && term.find_first_not_of("0123456789") == std::string::npos) {
      more += std::stoll(term);
    } else {
      return false;
    }
  }
  sum->sum_of = terms;
  sum->more = more;
  return !terms.empty();
}

// A decoder's "total_sequence_length" counts what its cache holds and what is new.
void FindSums(std::vector<Variable>* all) {
  const auto has = [&](size_t i, const char* word) { return ContainsOneOf(Lower((*all)[i].name), {word}); };
  size_t past = all->size(), fresh = all->size();
  for (size_t i = 0; i < all->size(); ++i) {
    if ((*all)[i].kind != kLength || (*all)[i].name.find('+') != std::string::npos || has(i, "total")) continue;
    size_t& slot = has(i, "past") ? past : fresh;
    if (slot == all->size()) slot = i;
  }
  for (size_t i = 0; i < all->size(); ++i) {
    Variable& v = (*all)[i];
    if (v.name.find('+') != std::string::npos) {
      FindTerms(*all, &v);
    } else if (has(i, "total") && v.kind == kLength && past < all->size() && fresh < all->size()) {
      v.sum_of = {past, fresh};
    }
  }
}

std::vector<Variable> VariablesOf(const std::vector<DeclaredInput>& inputs) {
  std::vector<Variable> variables;
  std::map<std::string, size_t> named;
  for (size_t n = 0; n < inputs.size(); ++n) {
    for (size_t i = 0; i < inputs[n].dims.size(); ++i) {
      if (inputs[n].dims[i] >= 0) continue;
      const std::string& name = inputs[n].dim_names[i];
      const auto it = name.empty() ? named.end() : named.find(name);
      if (it != named.end()) {
        variables[it->second].places.emplace_back(n, i);
        continue;
      }
      if (!name.empty()) named[name] = variables.size();
      const Kind kind = KindOf(inputs[n], i);
      const bool state = name.empty() && kind == kLength && i > 0 && inputs[n].dims.size() > 2 && inputs[n].dims[0] > 1;
      variables.push_back({kind, state, {{n, i}}, name, {}});
    }
  }
  FindSums(&variables);
  return variables;
}

// An input of any rank is tried as an image, as a sequence and as a vector.
std::vector<std::vector<DeclaredInput>> Ranked(const std::vector<DeclaredInput>& inputs) {
  if (std::all_of(inputs.begin(), inputs.end(), [](const DeclaredInput& input) { return input.has_shape; }))
    return {inputs};
  std::vector<std::vector<DeclaredInput>> all;
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1, 3, -1, -1}, {1, -1}, {-1}}) {
    all.push_back(inputs);
    for (DeclaredInput& input : all.back()) {
      if (input.has_shape) continue;
      input.has_shape = true;
      input.dims = dims;
      input.dim_names.assign(dims.size(), "");
    }
  }
  return all;
}

class Search {
 public:
  explicit Search(const TryShapes& attempt) : attempt_(attempt) {}

  // Both sizes for inputs of known rank; false when nothing ran.
  bool Run(const std::vector<DeclaredInput>& inputs, const InputValues& values, FoundShapes* found) {
    const std::vector<Variable> variables = VariablesOf(inputs);
    const bool states = std::any_of(variables.begin(), variables.end(), [](const Variable& v) { return v.state; });
    for (const bool states_are_one : {true, false}) {
      if (!states_are_one && !states) break;
      const auto first = [&](bool usual, InputShapeMap* shapes) {
        size_t steps = 1;
        for (const Variable& v : variables) steps = std::max(steps, Row(v.kind, usual).size());
        for (size_t step = 0; step < steps && !Late(values.empty() && !needed_.empty()); ++step) {
          Steps at;
          at.fill(step);
          *shapes = ShapesAt(inputs, variables, at, usual, states_are_one);
          if (!Try(*shapes, values, found)) continue;
          // Of several kinds one alone may have been what did not run: the others have their first size back.
          for (size_t kind = 0; kind < at.size() && step > 0 && !Late(); ++kind) {
            Steps first_of_kind = at;
            first_of_kind[kind] = 0;
            const InputShapeMap others = ShapesAt(inputs, variables, first_of_kind, usual, states_are_one);
            if (others == *shapes || !Try(others, values, found)) continue;
            at = first_of_kind;
            *shapes = others;
          }
          return true;
        }
        return false;
      };
      const bool runs = first(true, &found->usual);
      if (first(false, &found->smallest)) {
        if (!runs) found->usual = found->smallest;
      } else if (runs) {
        found->smallest = found->usual;
      } else {
        continue;
      }
      found->values = values;
      return true;
    }
    found->smallest.clear();
    found->usual.clear();
    return false;
  }

  // `spares`: half of the time is left for others.
  bool Late(bool spares = false) const {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    return taken.count() > (spares ? kSeconds / 2 : kSeconds);
  }
  const NeededValues& needed() const { return needed_; }

 private:
  static const std::vector<int64_t>& Row(Kind kind, bool usual) {
    return usual ? SizesOf(kind).usual : SizesOf(kind).smallest;
  }

  using Steps = std::array<size_t, kCount>;  // by kind: a place in its row

  static InputShapeMap ShapesAt(std::vector<DeclaredInput> inputs, const std::vector<Variable>& variables,
                                const Steps& steps, bool usual, bool states_are_one) {
    std::set<size_t> open;
    const auto own = [&](const Variable& v) {
      const std::vector<int64_t>& row = Row(v.kind, usual);
      if (v.state && states_are_one) return int64_t{1};
      return v.kind == kChannels ? row[0] : row[std::min(steps[v.kind], row.size() - 1)];
    };
    for (const Variable& v : variables) {
      int64_t size = v.sum_of.empty() ? own(v) : v.more;
      for (const size_t term : v.sum_of) size += own(variables[term]);
      for (const auto& [n, i] : v.places) {
        inputs[n].dims[i] = size;
        open.insert(n);
      }
    }
    InputShapeMap shapes;
    for (const size_t n : open) shapes[inputs[n].name] = Shape(inputs[n].dims);
    return shapes;
  }

  bool Try(const InputShapeMap& shapes, const InputValues& values, FoundShapes* found) {
    ShapeTrial trial = attempt_(shapes, values);
    if (trial.status.ok()) return true;
    needed_.insert(trial.needed.begin(), trial.needed.end());
    if (found->refusal.ok()) found->refusal = trial.status.AddContext("at " + found->Options(shapes));
    return false;
  }

  const TryShapes& attempt_;
  NeededValues needed_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Numbers that the import must know: sampling rates, counts, switches.
std::vector<std::vector<int64_t>> NumbersOf(const std::string& name) {
  const std::string lower = Lower(name);
  if (lower == "sr" || ContainsOneOf(lower, {"rate"})) return {{16000}, {8000}, {48000}};
  return {{1}, {0}, {16}, {16000}};
}

// Lists: the height and width that something gets (first a pair that is no usual input's), or all dims of an image.
const std::vector<std::vector<int64_t>>& ListsOfSizes() {
  static const std::vector<std::vector<int64_t>> kLists = {{256, 320},       {224, 224},       {128, 128},
                                                           {64, 64},         {32, 32},         {512, 512},
                                                           {1, 3, 224, 224}, {1, 1, 224, 224}, {64, 64, 64}};
  return kLists;
}

// Constants that the input may become, the likeliest first; none: it is no setting but data. `suits`: of NeededValues.
std::vector<Tensor> ConstantsFor(const DeclaredInput& input, const std::vector<int64_t>& suits) {
  const size_t rank = input.has_shape ? input.dims.size() : 0;
  const int64_t length = rank == 0 ? 1 : input.dims[0];
  if (rank > 1 || length > 8 || (IsFloat(input.dtype) && suits.empty())) return {};
  std::vector<std::vector<int64_t>> lists = {suits};
  const auto add = [&](const std::vector<std::vector<int64_t>>& more) {
    lists.insert(lists.end(), more.begin(), more.end());
  };
  if (length != 1) add(ListsOfSizes());
  if (length <= 1) add(NumbersOf(input.name));
  std::vector<Tensor> constants;
  for (const std::vector<int64_t>& list : lists) {
    const auto count = static_cast<int64_t>(list.size());
    if (count == 0 || (length >= 0 && count != length)) continue;
    Result<Tensor> tensor = Tensor::Create(DType::kI64, rank == 0 ? Shape{} : Shape{count});
    if (!tensor.ok()) continue;
    std::copy(list.begin(), list.end(), tensor->data<int64_t>());
    constants.push_back(std::move(*tensor));
  }
  return constants;
}

// The inputs without those that became constants.
std::vector<DeclaredInput> Without(const std::vector<DeclaredInput>& inputs, const InputValues& values) {
  std::vector<DeclaredInput> rest;
  for (const DeclaredInput& input : inputs) {
    if (values.count(input.name) == 0) rest.push_back(input);
  }
  return rest;
}

// The constants of that step for all that is needed; empty: some of it cannot be one, or there are no more.
InputValues ConstantsAt(const std::vector<DeclaredInput>& inputs, const NeededValues& needed, size_t step) {
  InputValues values;
  bool more = false;
  for (const DeclaredInput& input : inputs) {
    const auto it = needed.find(input.name);
    if (it == needed.end()) continue;
    const std::vector<Tensor> constants = ConstantsFor(input, it->second);
    if (constants.empty()) return {};
    more = more || step < constants.size();
    values[input.name] = constants[std::min(step, constants.size() - 1)];
  }
  return more && values.size() == needed.size() ? values : InputValues();
}

std::string Quoted(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || std::strchr("_-./,=:", c) != nullptr;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string FoundShapes::Options(const InputShapeMap& shapes) const {
  std::string text;
  const auto add = [&](const char* option, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", option, Quoted(value));
  };
  for (const auto& [name, shape] : shapes) {
    const std::string dims = shape.ToString();
    add("LoadOptions::input_shapes", fmt::format("{}={}", name, dims.substr(1, dims.size() - 2)));
  }
  for (const auto& [name, value] : values) {
    std::string numbers;
    for (int64_t i = 0; i < value.NumElements(); ++i)
      numbers += fmt::format("{}{}", i == 0 ? "" : ",", value.data<int64_t>()[i]);
    add("LoadOptions::input_values", name + "=" + numbers);
  }
  return text;
}

FoundShapes FindShapes(const std::vector<DeclaredInput>& inputs, const TryShapes& attempt) {
  FoundShapes found;
  Search search(attempt);
  for (const auto& ranked : Ranked(inputs)) {
    if (search.Run(ranked, {}, &found)) return found;
    for (size_t step = 0; !search.Late(); ++step) {
      const InputValues values = ConstantsAt(ranked, search.needed(), step);
      if (values.empty()) break;
      if (search.Run(Without(ranked, values), values, &found)) return found;
    }
  }
  return found;
}

Status OpenDimsError(const std::vector<DeclaredInput>& inputs, const FoundShapes& found) {
  std::string text = "network inputs have open dims:";
  std::string separator = " ";
  for (const DeclaredInput& input : inputs) {
    if (!input.open()) continue;
    text += fmt::format("{}'{}' is {} {}", separator, input.name, DTypeName(input.dtype), input.DimsText());
    separator = ", ";
  }
  if (!found.runs()) {
    text += "; give each a shape (LoadOptions::input_shapes NAME=1,3,224,224)";
    if (!found.refusal.ok()) return found.refusal.AddContext(text + "; of the usual ones none runs");
    return Status::InvalidArgument(text);
  }
  if (found.smallest == found.usual)
    return Status::InvalidArgument(fmt::format("{}; it runs with\n  {}", text, found.Options(found.usual)));
  return Status::InvalidArgument(
      fmt::format("{}; it runs with the first of these (small) and the second (usual):\n  {}\n  {}", text,
                  found.Options(found.smallest), found.Options(found.usual)));
}

}  // namespace plumb
