// SPDX-License-Identifier: Apache-2.0
#include "plumb/inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "check/integer/made_for.h"
#include "graph/file_order.h"
#include "graph/input_ranges.h"
#include "interop/tensor_set.h"
#include "op/core/op.h"
#include "plumb/tool/printing.h"
#include "session/exercising_inputs.h"
#include "session/stage_image.h"

namespace plumb {
namespace {

bool PathExists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// A file of tensors, or what others keep inputs in: Polygraphy's JSON, safetensors, a folder (SAVE_IO_TENSORS, a dump),
// of which only what no layer wrote is looked at.
Result<std::vector<NamedTensor>> ReadInputFile(const std::string& path, const TensorHints& hints) {
  std::error_code error;
  const bool set = EndsWith(path, ".json") || EndsWith(path, ".safetensors") || EndsWith(path, ".dat.bmrt") ||
                   std::filesystem::is_directory(path, error);
  const bool described =
      EndsWith(path, ".dat") && PathExists(std::filesystem::path(path).replace_extension(".json").string());
  if (!set && !described) return ReadTensors(path, hints);
  const auto opened = TensorSet::Open(path);
  if (!opened.ok() && EndsWith(path, ".dat.bmrt"))
    return ReadTensors(path, hints);  // of one input, whose shape is known
  if (!opened.ok()) return opened.status();
  std::vector<NamedTensor> tensors;
  for (const StoredTensor& stored : opened->tensors()) {
    if (!stored.is_input) continue;
    PLUMB_ASSIGN_OR_RETURN(Tensor tensor, stored.load());
    tensors.push_back({stored.name, std::move(tensor)});
  }
  return tensors;
}

// What an array of another shape needs, in NumPy's words, where that is plain; its own shape otherwise.
std::string ShapeAdvice(const std::string& name, const Shape& wanted, const Shape& found) {
  const int rank = found.rank();
  const bool picture = wanted.rank() == 4 && wanted[1] <= 4 && wanted[1] != wanted[3];
  if (picture && rank == 3 && found[2] == wanted[1] && found[0] != wanted[1])
    return "this is HWC: give array.transpose(2, 0, 1)[None]";
  if (picture && rank == 4 && found[3] == wanted[1] && found[1] != wanted[1])
    return "this is NHWC: give array.transpose(0, 3, 1, 2)";
  if (rank + 1 == wanted.rank() && wanted[0] == 1 && (rank == 0 || found[0] == wanted[1]))
    return "the batch is missing: give array[None]";
  if (rank != wanted.rank()) return fmt::format("the model's has {} dims, this one {}", wanted.rank(), rank);
  return fmt::format("LoadOptions::input_shapes {}=... prepares the network for another one", name);
}

// [N,C,H,W] of the shape that is [N,H,W,C].
Shape ChannelsFirstOf(const Shape& shape) { return Shape{shape[0], shape[3], shape[1], shape[2]}; }

// Whether the model's images have their channels last: some of its blobs are turned.
bool HasChannelsLast(const Graph& graph, const Shape& shape) { return !graph.file_axes.empty() && shape.rank() == 4; }

Result<Tensor> WithChannelsLast(const Tensor& tensor) { return Reordered(tensor, {0, 2, 3, 1}); }
Result<Tensor> WithChannelsFirst(const Tensor& tensor) { return Reordered(tensor, {0, 3, 1, 2}); }

// Of the model's images.
std::string OwnLayout(const Graph& graph) { return IsOfTflite(graph) || !graph.file_axes.empty() ? "NHWC" : "NCHW"; }

Status CheckLayout(const std::string& layout) {
  if (layout.empty() || layout == "NHWC" || layout == "NCHW") return Status::Ok();
  return Status::InvalidArgument(fmt::format("layout '{}': expected NHWC or NCHW", layout));
}

// Integers that stand for real numbers: real = scale (q - zero).
struct InputGrid {
  double scale = 0, zero = 0, low = 0, high = 0;
};

// What the DequantizeLinear says that reads a network input, moved or not; nothing: none does, or not one number.
std::optional<InputGrid> GridOf(const Graph& graph, const std::string& input) {
  constexpr int kMostMoves = 16;
  std::string blob = input;
  const auto number = [&](const Layer& layer, size_t slot) -> std::optional<double> {
    if (slot >= layer.inputs.size()) return 0;
    const auto constant = graph.constants.find(layer.inputs[slot]);
    if (constant == graph.constants.end() || constant->second.NumElements() != 1) return std::nullopt;
    return constant->second.ValueAt(0);
  };
  for (int moves = 0; moves < kMostMoves; ++moves) {
    const auto reader = std::find_if(graph.layers.begin(), graph.layers.end(), [&](const Layer& layer) {
      return !layer.inputs.empty() && layer.inputs[0] == blob;
    });
    if (reader == graph.layers.end()) return std::nullopt;
    if (reader->kind != OpKind::kPlumbDequantizeLinear) {
      if (!GetOp(reader->kind).moves_data_only) return std::nullopt;
      blob = reader->outputs[0];
      continue;
    }
    const auto scale = number(*reader, 1), zero = number(*reader, 2);
    if (!scale.has_value() || !zero.has_value() || !(*scale > 0) || !std::isfinite(*scale)) return std::nullopt;
    switch (graph.ModelDType(input, DType::kF32)) {
      case DType::kI8: return InputGrid{*scale, *zero, -128, 127};
      case DType::kU8: return InputGrid{*scale, *zero, 0, 255};
      case DType::kI16: return InputGrid{*scale, *zero, -32768, 32767};
      default: return std::nullopt;
    }
  }
  return std::nullopt;
}

// Floats as the integers that stand for them, to an even half.
Result<Tensor> Quantised(const Tensor& tensor, const InputGrid& grid) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor reals, tensor.ConvertedTo(DType::kF32));
  PLUMB_ASSIGN_OR_RETURN(Tensor whole, Tensor::Create(DType::kI64, tensor.shape()));
  const auto scale = static_cast<float>(grid.scale);
  for (int64_t i = 0; i < whole.NumElements(); ++i) {
    const float steps = reals.data<float>()[i] / scale;
    if (std::isnan(steps)) return Status::InvalidArgument(fmt::format("its value {} is no number", i));
    const double rounded = static_cast<double>(std::nearbyint(steps)) + grid.zero;
    whole.data<int64_t>()[i] = static_cast<int64_t>(std::clamp(rounded, grid.low, grid.high));
  }
  return whole;
}

// What is given, file by file and value by value.
class Collector {
 public:
  Collector(const InputOptions& options, const Graph& graph, const BlobTable& blobs)
      : options_(options), graph_(graph), blobs_(blobs) {}

  Status AddFile(const std::string& text) {
    std::string name, path = text;
    const size_t equals = text.find('=');
    if (equals != std::string::npos && IsInput(text.substr(0, equals))) {
      name = text.substr(0, equals);
      path = text.substr(equals + 1);
    } else if (equals != std::string::npos && !PathExists(text) && PathExists(text.substr(equals + 1))) {
      return UnknownInput("InputOptions::files", text.substr(0, equals));
    }
    TensorHints hints;
    hints.image = options_.image;
    if (!name.empty() || graph_.inputs.size() == 1) {
      const BlobInfo& info = blobs_.at(name.empty() ? graph_.inputs[0].name : name);
      hints.dtype = info.dtype;
      hints.shape = info.shape;
    }
    const bool turns = IsImageFile(path) && hints.shape.has_value() && HasChannelsLast(graph_, *hints.shape);
    if (turns) hints.shape = ChannelsFirstOf(*hints.shape);
    PLUMB_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors, ReadInputFile(path, hints));
    std::string origin = path;
    if (IsImageFile(path)) {
      PLUMB_ASSIGN_OR_RETURN(const std::string used,
                             DescribeImageOptions(options_.image, tensors[0].tensor.shape()[1]));
      origin += ", " + used;
    }
    if (turns) {
      PLUMB_ASSIGN_OR_RETURN(tensors[0].tensor, WithChannelsLast(tensors[0].tensor));
      origin += ", turned to NHWC";
    }
    if (IsImageFile(path)) PLUMB_RETURN_IF_ERROR(WriteImageStages(path, options_.image, tensors[0].tensor, turns));
    of_image_ = IsImageFile(path);
    return AddTensors(tensors, name, path, origin);
  }

  Status AddValue(const std::string& name, const Tensor& value) {
    if (!IsInput(name)) return UnknownInput("InputOptions::values", name);
    of_image_ = false;
    return AddTensor(name, value, options_.name, options_.name);
  }

  NetworkInputs result;

 private:
  bool IsInput(const std::string& name) const {
    return std::any_of(graph_.inputs.begin(), graph_.inputs.end(),
                       [&](const GraphInput& input) { return input.name == name; });
  }

  Status UnknownInput(const std::string& field, const std::string& name) const {
    std::vector<std::string> names;
    for (const GraphInput& input : graph_.inputs) names.push_back(input.name);
    return Status::InvalidArgument(fmt::format("{}: there is no network input '{}', the network inputs are {}{}", field,
                                               name, InputNames(), DidYouMean(name, names)));
  }

  std::string InputNames() const {
    std::string names;
    for (const GraphInput& input : graph_.inputs)
      names += fmt::format("{}{}'", names.empty() ? "'" : ", '", input.name);
    return names;
  }

  Status AddTensors(const std::vector<NamedTensor>& tensors, const std::string& wanted, const std::string& path,
                    const std::string& origin) {
    bool used = false;
    const bool only = tensors.size() == 1 && (!wanted.empty() || graph_.inputs.size() == 1);
    for (const NamedTensor& named : tensors) {
      std::string name = named.name;
      if (only) name = wanted.empty() ? graph_.inputs[0].name : wanted;
      if (!IsInput(name) || (!wanted.empty() && name != wanted)) continue;  // other tensors of the file are not ours
      PLUMB_RETURN_IF_ERROR(AddTensor(name, named.tensor, fmt::format("file '{}'", path), origin));
      used = true;
    }
    if (used) return Status::Ok();
    return Status::InvalidArgument(
        fmt::format("file '{}' holds no tensor for the network inputs {}; say which with InputOptions::files NAME={}",
                    path, InputNames(), path));
  }

  // In the dtype that the network takes.
  Status Convert(const std::string& name, const std::string& wrong, DType wanted, Tensor* tensor,
                 std::string* origin) const {
    const DType found = tensor->dtype();
    if (found == wanted) return Status::Ok();
    const bool floats = IsFloat(found) && !IsFloat(wanted);
    const std::optional<InputGrid> grid = floats ? GridOf(graph_, name) : std::nullopt;
    if (grid.has_value()) {
      *origin += fmt::format(", {} quantised by the input's scale {} and zero point {}", DTypeName(found),
                             Number(grid->scale, 6), grid->zero);
      PLUMB_ASSIGN_OR_RETURN(*tensor, Quantised(*tensor, *grid));
    } else if (IsFloat(found) != IsFloat(wanted)) {
      return Status::InvalidArgument(fmt::format(
          "{}{}, found {}{}", wrong, DTypeName(wanted), DTypeName(found),
          floats ? "; the model says no scale that would make integers of them: give an array of integers" : ""));
    } else {
      *origin += std::string(", converted from ") + DTypeName(found);
    }
    PLUMB_ASSIGN_OR_RETURN(*tensor, tensor->ConvertedTo(wanted));
    return Status::Ok();
  }

  // In the model's own order of the axes.
  Status Turn(const Shape& wanted, Tensor* tensor, std::string* origin) const {
    if (!options_.layout.empty() && tensor->shape().rank() == 4 && !of_image_) {
      const std::string own = OwnLayout(graph_);
      if (options_.layout == own) return Status::Ok();
      PLUMB_ASSIGN_OR_RETURN(*tensor, own == "NHWC" ? WithChannelsLast(*tensor) : WithChannelsFirst(*tensor));
      *origin += fmt::format(", turned from {} to {}", options_.layout, own);
    } else if (tensor->shape() != wanted && HasChannelsLast(graph_, wanted) &&
               tensor->shape() == ChannelsFirstOf(wanted)) {
      PLUMB_ASSIGN_OR_RETURN(*tensor, WithChannelsLast(*tensor));
      *origin += ", turned from NCHW to NHWC";
    }
    return Status::Ok();
  }

  Status AddTensor(const std::string& name, Tensor tensor, const std::string& from, std::string origin) {
    const BlobInfo& info = blobs_.at(name);
    const std::string wrong = fmt::format("{}: network input '{}' expects ", from, name);
    PLUMB_RETURN_IF_ERROR(Convert(name, wrong, info.dtype, &tensor, &origin));
    PLUMB_RETURN_IF_ERROR(Turn(info.shape, &tensor, &origin));
    if (tensor.shape() != info.shape) {
      return Status::InvalidArgument(fmt::format("{}shape {}, found {}; {}", wrong, info.shape.ToString(),
                                                 tensor.shape().ToString(),
                                                 ShapeAdvice(name, info.shape, tensor.shape())));
    }
    if (!result.values.emplace(name, tensor).second) {
      return Status::InvalidArgument(fmt::format("network input '{}' is given twice", name));
    }
    result.lines.push_back(fmt::format("{} {} {}: {}", name, DTypeName(graph_.ModelDType(name, info.dtype)),
                                       info.shape.ToString(), origin));
    return Status::Ok();
  }

  const InputOptions& options_;
  const Graph& graph_;
  const BlobTable& blobs_;
  bool of_image_ = false;  // what is added
};

struct DrawnFrom {
  std::optional<InputRange> range;
  std::string why;
};

Result<std::optional<InputRange>> AskedRange(const InputOptions& options) {
  if (!options.range) return std::optional<InputRange>();
  const auto [lo, hi] = *options.range;
  if (lo <= hi && std::isfinite(lo) && std::isfinite(hi)) return std::optional<InputRange>(InputRange{lo, hi});
  return Status::InvalidArgument(fmt::format("InputOptions::range: expected LO,HI with LO <= HI, found {},{}", lo, hi));
}

// InputOptions::range, within what the graph needs; else what the graph says.
Result<DrawnFrom> RangeFor(const GraphInput& input, const std::optional<InputRange>& asked, const FoundRange* found) {
  if (found == nullptr) return DrawnFrom{asked, ""};
  if (!asked.has_value()) return DrawnFrom{found->range, found->why};
  if (!found->needed) return DrawnFrom{asked, ""};
  const InputRange both = {std::max(asked->lo, found->range.lo), std::min(asked->hi, found->range.hi),
                           found->range.whole};
  if (std::ceil(both.lo) <= std::floor(both.hi)) return DrawnFrom{both, found->why};
  char text[96];
  std::snprintf(text, sizeof(text), "%g..%g", found->range.lo, found->range.hi);
  return Status::InvalidArgument(
      fmt::format("InputOptions::range: network input '{}' must lie in {}: {}", input.name, text, found->why));
}

Status NotGiven(const InputOptions& options, const std::string& name) {
  return Status::InvalidArgument(fmt::format("network input '{}' is {}", name,
                                             options.files.empty()
                                                 ? "not among InputOptions::values"
                                                 : "in none of the files given with InputOptions::files"));
}

// Draws the generated ones anew, those that may have any value.
Status ChooseExercising(const InputOptions& options, const Graph& graph, const BlobTable& blobs,
                        const std::map<std::string, FoundRange>& ranges, NetworkInputs* inputs) {
  std::vector<std::string> fixed;
  for (const auto& [name, found] : ranges) fixed.push_back(name);
  PLUMB_ASSIGN_OR_RETURN(ExercisingInputs drawn, DrawExercisingInputs(graph, blobs, inputs->values, fixed,
                                                                      options.exercised_layers, options.seed));
  for (std::string& line : inputs->lines) {
    const std::string name = line.substr(0, line.find(' '));
    const auto before = inputs->values.find(name), after = drawn.values.find(name);
    const bool changed = before != inputs->values.end() && before->second.raw() != after->second.raw();
    if (changed) line += ", " + drawn.drawn;
  }
  inputs->values = std::move(drawn.values);
  inputs->lines.push_back(std::move(drawn.found));
  return Status::Ok();
}

}  // namespace

bool IsImageFile(const std::string& path) {
  for (const char* ending : {".png", ".jpg", ".jpeg", ".bmp"}) {
    if (EndsWith(path, ending)) return true;
  }
  return false;
}

std::map<std::string, Shape> ShapesOfFiles(const std::vector<std::string>& files) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : files) {
    const size_t equals = text.find('=');
    const bool whole = equals == std::string::npos || std::ifstream(text).good();
    const std::string name = whole ? "" : text.substr(0, equals);
    const auto tensors = ReadInputFile(whole ? text : text.substr(equals + 1), {});
    if (!tensors.ok()) continue;
    for (const NamedTensor& named : *tensors) {
      if (!named.name.empty()) shapes.emplace(named.name, named.tensor.shape());
      if (tensors->size() == 1) shapes.emplace(name, named.tensor.shape());
    }
  }
  return shapes;
}

std::map<std::string, GeneratedRange> GeneratedRanges(const Graph& graph, const BlobTable& blobs) {
  const auto found = FindInputRanges(graph, blobs);
  std::map<std::string, GeneratedRange> ranges;
  for (const GraphInput& input : graph.inputs) {
    const auto it = found.find(input.name);
    const FoundRange range = it == found.end() ? FoundRange{DefaultInputRange(input.dtype), false, ""} : it->second;
    ranges[input.name] = {range.range.lo,        range.range.hi, range.range.whole,
                          range.range.ascending, range.needed,   range.why};
  }
  return ranges;
}

Result<Tensor> InLayout(const Graph& graph, const Tensor& tensor, const std::string& layout) {
  PLUMB_RETURN_IF_ERROR(CheckLayout(layout));
  if (layout.empty() || tensor.shape().rank() != 4 || layout == OwnLayout(graph)) return tensor;
  return layout == "NHWC" ? WithChannelsLast(tensor) : WithChannelsFirst(tensor);
}

Result<NetworkInputs> PrepareInputs(const InputOptions& options, const Graph& graph, const BlobTable& blobs) {
  PLUMB_ASSIGN_OR_RETURN(const auto asked, AskedRange(options));
  const bool given = !options.files.empty() || !options.values.empty();
  if (options.exercise && given)
    return Status::InvalidArgument("InputOptions::exercise draws the network inputs, and they are given");
  PLUMB_RETURN_IF_ERROR(CheckLayout(options.layout));
  Collector collector(options, graph, blobs);
  for (const std::string& file : options.files) PLUMB_RETURN_IF_ERROR(collector.AddFile(file));
  for (const auto& [name, value] : options.values) PLUMB_RETURN_IF_ERROR(collector.AddValue(name, value));
  NetworkInputs& result = collector.result;
  const auto ranges = FindInputRanges(graph, blobs);
  for (const GraphInput& input : graph.inputs) {
    if (result.values.count(input.name) != 0) continue;
    if (given) return NotGiven(options, input.name);
    const BlobInfo& info = blobs.at(input.name);
    const auto found = ranges.find(input.name);
    PLUMB_ASSIGN_OR_RETURN(const DrawnFrom from,
                           RangeFor(input, asked, found == ranges.end() ? nullptr : &found->second));
    PLUMB_ASSIGN_OR_RETURN(result.values[input.name],
                           RandomInput(input.name, info.dtype, info.shape, options.seed, from.range));
    result.lines.push_back(fmt::format("{} {} {}: {}", input.name, DTypeName(graph.ModelDType(input.name, info.dtype)),
                                       info.shape.ToString(),
                                       DescribeRandomInput(info.dtype, options.seed, from.range, from.why)));
    result.generated = true;
  }
  if (options.exercise) PLUMB_RETURN_IF_ERROR(ChooseExercising(options, graph, blobs, ranges, &result));
  return std::move(result);
}

Result<NetworkInputs> PrepareInputs(const InputOptions& options, const Graph& graph) {
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  return PrepareInputs(options, graph, blobs);
}

Result<std::map<std::string, Tensor>> RunNetwork(Network* network, const std::map<std::string, Tensor>& inputs) {
  for (const auto& [name, value] : inputs) PLUMB_RETURN_IF_ERROR(network->SetInput(name, value));
  PLUMB_RETURN_IF_ERROR(network->Forward());
  std::map<std::string, Tensor> outputs;
  for (const std::string& name : network->graph().outputs) {
    PLUMB_ASSIGN_OR_RETURN(outputs[name], network->GetOutput(name));
  }
  return outputs;
}

}  // namespace plumb
