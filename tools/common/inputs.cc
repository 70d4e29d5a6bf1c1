#include "common/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>

#include "base/words.h"
#include "common/vocabulary.h"
#include "graph/input_ranges.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

Result<std::optional<InputRange>> ParseRange(const std::string& text) {
  if (text.empty()) return std::optional<InputRange>();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<double> values, ParseNumbers("--input-range", text));
  if (values.size() != 2 || !(values[0] <= values[1]) || !std::isfinite(values[0]) || !std::isfinite(values[1])) {
    return Status::InvalidArgument("--input-range: expected LO,HI with LO <= HI, found '" + text + "'");
  }
  return std::optional<InputRange>(InputRange{values[0], values[1]});
}

Result<ImageOptions> ParseImageOptions(const InputOptions& options) {
  ImageOptions image;
  PLUMB_ASSIGN_OR_RETURN(const auto bias, ParseNumbers("-n", options.bias));
  PLUMB_ASSIGN_OR_RETURN(const auto scale, ParseNumbers("-s", options.scale));
  for (double value : bias) image.bias.push_back(static_cast<float>(value));
  for (double value : scale) image.scale.push_back(static_cast<float>(value));
  if (options.channel_order != "rgb" && options.channel_order != "bgr") {
    return Status::InvalidArgument(UnknownWord("--channel-order", options.channel_order, {"rgb", "bgr"}));
  }
  image.order = options.channel_order == "rgb" ? ChannelOrder::kRgb : ChannelOrder::kBgr;
  return image;
}

bool IsImage(const std::string& path) {
  for (const char* suffix : {".png", ".jpg", ".jpeg", ".bmp"}) {
    const std::string end = suffix;
    if (path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0) return true;
  }
  return false;
}

class Collector {
 public:
  Collector(const Graph& graph, const BlobTable& blobs, ImageOptions image) : graph_(graph), blobs_(blobs), image_(std::move(image)) {}

  Status AddFile(const std::string& text) {
    std::string name, path = text;
    const size_t equals = text.find('=');
    if (equals != std::string::npos && IsInput(text.substr(0, equals))) {
      name = text.substr(0, equals);
      path = text.substr(equals + 1);
    } else if (equals != std::string::npos && !PathExists(text) && PathExists(text.substr(equals + 1))) {
      return UnknownInput(text.substr(0, equals));
    }
    TensorHints hints;
    hints.image = image_;
    if (!name.empty() || graph_.inputs.size() == 1) {
      const BlobInfo& info = blobs_.at(name.empty() ? graph_.inputs[0].name : name);
      hints.dtype = info.dtype;
      hints.shape = info.shape;
    }
    PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors, ReadTensors(path, hints));
    std::string origin = path;
    if (IsImage(path)) {
      PLUMB_ASSIGN_OR_RETURN(const std::string used, DescribeImageOptions(image_, tensors[0].tensor.shape()[1]));
      origin += ", " + used;
    }
    return AddTensors(tensors, name, path, origin);
  }

  NetworkInputs result;

 private:
  bool IsInput(const std::string& name) const {
    for (const GraphInput& input : graph_.inputs) {
      if (input.name == name) return true;
    }
    return false;
  }

  Status UnknownInput(const std::string& name) const {
    std::vector<std::string> names;
    for (const GraphInput& input : graph_.inputs) names.push_back(input.name);
    return Status::InvalidArgument("-i: there is no network input '" + name + "', the network inputs are " + InputNames() +
                                   DidYouMean(name, names));
  }

  std::string InputNames() const {
    std::string names;
    for (const GraphInput& input : graph_.inputs) names += (names.empty() ? "'" : ", '") + input.name + "'";
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
      PLUMB_RETURN_IF_ERROR(AddTensor(name, named.tensor, path, origin));
      used = true;
    }
    if (used) return Status::Ok();
    return Status::InvalidArgument("file '" + path + "' holds no tensor for the network inputs " + InputNames() +
                                   "; say which with -i NAME=" + path);
  }

  Status AddTensor(const std::string& name, Tensor tensor, const std::string& path, std::string origin) {
    const BlobInfo& info = blobs_.at(name);
    if (tensor.dtype() != info.dtype) {
      if (IsFloat(tensor.dtype()) != IsFloat(info.dtype)) {
        return Status::InvalidArgument("file '" + path + "': network input '" + name + "' expects " + DTypeName(info.dtype) +
                                       ", found " + DTypeName(tensor.dtype()));
      }
      origin += std::string(", converted from ") + DTypeName(tensor.dtype());
      PLUMB_ASSIGN_OR_RETURN(tensor, tensor.ConvertedTo(info.dtype));
    }
    if (tensor.shape() != info.shape) {
      return Status::InvalidArgument("file '" + path + "': network input '" + name + "' expects shape " + info.shape.ToString() +
                                     ", found " + tensor.shape().ToString() + "; --shape " + name +
                                     "=... prepares the network for another one");
    }
    if (!result.values.emplace(name, tensor).second) {
      return Status::InvalidArgument("network input '" + name + "' is given twice");
    }
    result.lines.push_back(name + " " + DTypeName(info.dtype) + " " + info.shape.ToString() + ": " + origin);
    return Status::Ok();
  }

  const Graph& graph_;
  const BlobTable& blobs_;
  ImageOptions image_;
};

}  // namespace

// They are of images: without one they would do nothing.
Status InputOptions::CheckImageOptions(const CommandLine& c) const {
  if (std::any_of(files.begin(), files.end(), IsImage)) return Status::Ok();
  for (const auto& [name, shown] :
       {std::pair("--bias", "-n"), {"--scale", "-s"}, {"--channel-order", "--channel-order"}}) {
    if (c.Given(name))
      return Status::InvalidArgument(std::string(shown) + " does nothing without an image: -i FILE.png");
  }
  return Status::Ok();
}

void InputOptions::AddTo(CommandLine* c) {
  c->Group("Input");
  c->Add("--input", &files,
         "input tensors: FILE or NAME=FILE; .txt (TNN), .npy, .npz, .bin/.dat, .png/.jpg; without it inputs are "
         "generated");
  c->Add("--input-range", &range, 
         "LO,HI of generated inputs; default: f32 uniform [-1,1), integers what the graph allows (indices: the rows), else 0..1");
  c->Add("--bias", &bias, "images: subtract this, one value or one per channel");
  c->Add("--scale", &scale, "images: then multiply by this");
  c->Add("--channel-order", &channel_order, "images: rgb or bgr");
  c->NotWith("--input-range", {"--input"}, "no input is generated");
  c->Check([=] { return CheckImageOptions(*c); });
}

namespace {

struct DrawnFrom {
  std::optional<InputRange> range;
  std::string why;
};

// --input-range, within what the graph needs; else what the graph says.
Result<DrawnFrom> RangeFor(const GraphInput& input, const std::optional<InputRange>& asked, const FoundRange* found) {
  if (found == nullptr) return DrawnFrom{asked, ""};
  if (!asked.has_value()) return DrawnFrom{found->range, found->why};
  if (!found->needed) return DrawnFrom{asked, ""};
  const InputRange both = {std::max(asked->lo, found->range.lo), std::min(asked->hi, found->range.hi), found->range.whole};
  if (std::ceil(both.lo) <= std::floor(both.hi)) return DrawnFrom{both, found->why};
  char text[96];
  std::snprintf(text, sizeof(text), "%g..%g", found->range.lo, found->range.hi);
  return Status::InvalidArgument("--input-range: network input '" + input.name + "' must lie in " + text + ": " + found->why);
}

}  // namespace

std::map<std::string, Shape> ShapesOfFiles(const InputOptions& options) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : options.files) {
    const size_t equals = text.find('=');
    const bool whole = equals == std::string::npos || std::ifstream(text).good();
    const std::string name = whole ? "" : text.substr(0, equals);
    const auto tensors = ReadTensors(whole ? text : text.substr(equals + 1));
    if (!tensors.ok()) continue;
    for (const NamedTensor& named : *tensors) {
      if (!named.name.empty()) shapes.emplace(named.name, named.tensor.shape());
      if (tensors->size() == 1) shapes.emplace(name, named.tensor.shape());
    }
  }
  return shapes;
}

Result<NetworkInputs> PrepareInputs(const InputOptions& options, const Graph& graph, const BlobTable& blobs, uint64_t seed) {
  PLUMB_ASSIGN_OR_RETURN(const auto range, ParseRange(options.range));
  PLUMB_ASSIGN_OR_RETURN(ImageOptions image, ParseImageOptions(options));
  Collector collector(graph, blobs, std::move(image));
  for (const std::string& file : options.files) PLUMB_RETURN_IF_ERROR(collector.AddFile(file));
  NetworkInputs& result = collector.result;
  const auto ranges = FindInputRanges(graph, blobs);
  for (const GraphInput& input : graph.inputs) {
    if (result.values.count(input.name) != 0) continue;
    if (!options.files.empty()) {
      return Status::InvalidArgument("network input '" + input.name + "' is in none of the files given with -i");
    }
    const BlobInfo& info = blobs.at(input.name);
    const auto found = ranges.find(input.name);
    PLUMB_ASSIGN_OR_RETURN(const DrawnFrom from, RangeFor(input, range, found == ranges.end() ? nullptr : &found->second));
    PLUMB_ASSIGN_OR_RETURN(result.values[input.name], RandomInput(input.name, info.dtype, info.shape, seed, from.range));
    result.lines.push_back(input.name + " " + DTypeName(info.dtype) + " " + info.shape.ToString() + ": " +
                           DescribeRandomInput(info.dtype, seed, from.range, from.why));
    result.generated = true;
  }
  return result;
}

}  // namespace plumb
