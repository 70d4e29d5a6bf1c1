// SPDX-License-Identifier: Apache-2.0
#include "format/open_dims.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

bool NamedBatch(const std::string& name) {
  const std::string lower = Lower(name);
  return lower.find("batch") != std::string::npos || lower == "n" || lower == "b" || lower == "bs" || lower == "bsz";
}

// A name that says another meaning than a batch ("unk__12", "s6" and "dim_0" say none).
bool NamedOtherwise(const std::string& name) {
  const std::string lower = Lower(name);
  return lower == "h" || lower == "w" || lower == "t" || lower == "l" || lower == "c" ||
         ContainsOneOf(lower, {"seq", "len", "time", "frame", "sample", "height", "width", "token", "step", "point",
                               "channel", "word", "char", "num_"});
}

bool IsBatch(const DeclaredInput& input, size_t i) {
  const std::string& name = input.dim_names[i];
  return NamedBatch(name) || (i == 0 && input.dims.size() > 1 && !NamedOtherwise(name));
}

// Of the declared rank, and `strictly` with its fixed dims.
bool Fits(const DeclaredInput& input, const Shape& shape, bool strictly) {
  if (!input.has_shape) return true;
  if (shape.rank() != static_cast<int>(input.dims.size())) return false;
  for (size_t i = 0; strictly && i < input.dims.size(); ++i) {
    if (input.dims[i] >= 0 && input.dims[i] != shape[static_cast<int>(i)]) return false;
  }
  return true;
}

}  // namespace

bool DeclaredInput::open() const {
  return !has_shape || std::count_if(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }) > 0;
}

std::string DeclaredInput::DimsText() const {
  if (!has_shape) return "of any rank";
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    text += (i == 0 ? "" : ",") + (dims[i] >= 0           ? std::to_string(dims[i])
                                   : dim_names[i].empty() ? "?"
                                                          : Printable(dim_names[i]));
  }
  return text + "]";
}

Status CheckGivenShapes(const std::vector<DeclaredInput>& inputs, const InputShapeMap& shapes) {
  std::string known;
  std::vector<std::string> names;
  for (const DeclaredInput& input : inputs) {
    known += fmt::format("{}'{}' {}", known.empty() ? "" : ", ", input.name, input.DimsText());
    names.push_back(input.name);
  }
  for (const auto& [name, shape] : shapes) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end()) {
      return Status::InvalidArgument(fmt::format("a shape is given for '{}', but the network inputs are {}{}", name,
                                                 known, DidYouMean(name, names)));
    }
    const DeclaredInput& input = inputs[static_cast<size_t>(it - names.begin())];
    if (!input.has_shape || shape.rank() == static_cast<int>(input.dims.size())) continue;
    return Status::InvalidArgument(fmt::format("network input '{}' has {} dims, {}; the shape that is given has {}: {}",
                                               name, input.dims.size(), input.DimsText(), shape.rank(),
                                               shape.ToString()));
  }
  return Status::Ok();
}

std::map<std::string, std::string> OpenAmong(const std::vector<DeclaredInput>& inputs) {
  std::map<std::string, std::string> open;
  for (const DeclaredInput& input : inputs) {
    if (input.open()) open[input.name] = input.DimsText();
  }
  return open;
}

InputShapeMap GivenShapes(const std::vector<DeclaredInput>& inputs, const LoadOptions& options) {
  InputShapeMap given = options.input_shapes;
  const InputShapeMap& open_shapes = options.open_shapes;
  for (const DeclaredInput& input : inputs) {
    auto known = open_shapes.find(input.name);
    if (known == open_shapes.end() && inputs.size() == 1) known = open_shapes.find("");
    if (!input.open() || known == open_shapes.end()) continue;
    if (Fits(input, known->second, options.open_dims != OpenDims::kRefuse)) given.emplace(input.name, known->second);
  }
  return given;
}

std::vector<DeclaredInput> FillOpenDims(std::vector<DeclaredInput> inputs, const InputShapeMap& given,
                                        std::string* note) {
  std::map<std::string, int64_t> bound;
  int64_t batch = 1;
  bool batch_given = false;
  for (DeclaredInput& input : inputs) {
    const auto it = given.find(input.name);
    if (it == given.end() || (input.has_shape && it->second.rank() != static_cast<int>(input.dims.size()))) continue;
    for (size_t i = 0; i < input.dims.size(); ++i) {
      if (input.dims[i] >= 0) continue;
      if (!input.dim_names[i].empty()) bound.emplace(input.dim_names[i], it->second[static_cast<int>(i)]);
      if (!batch_given && IsBatch(input, i)) {
        batch = it->second[static_cast<int>(i)];
        batch_given = true;
      }
    }
    input.dims = it->second.dims();
    input.dim_names.resize(input.dims.size());
    input.has_shape = true;
  }
  for (const DeclaredInput& input : inputs) {
    for (size_t i = 0; i < input.dims.size(); ++i) {
      if (input.dims[i] < 0 && IsBatch(input, i) && !input.dim_names[i].empty())
        bound.emplace(input.dim_names[i], batch);
    }
  }
  std::string filled;
  for (DeclaredInput& input : inputs) {
    bool changed = false;
    for (size_t i = 0; i < input.dims.size(); ++i) {
      if (input.dims[i] >= 0) continue;
      const auto it = input.dim_names[i].empty() ? bound.end() : bound.find(input.dim_names[i]);
      if (it != bound.end())
        input.dims[i] = it->second;
      else if (IsBatch(input, i))
        input.dims[i] = batch;
      changed = changed || input.dims[i] >= 0;
    }
    if (changed && !input.open())
      filled += fmt::format("{}{}' {}", filled.empty() ? "'" : ", '", input.name, input.DimsText());
  }
  if (!batch_given && !filled.empty())
    *note = fmt::format("open batch: taken as 1, {} (LoadOptions::input_shapes gives another)", filled);
  return inputs;
}

}  // namespace plumb
