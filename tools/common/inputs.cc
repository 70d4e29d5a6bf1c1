// SPDX-License-Identifier: Apache-2.0
#include "common/inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

Result<std::optional<std::pair<double, double>>> ParseRange(const std::string& text) {
  if (text.empty()) return std::optional<std::pair<double, double>>();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<double> values, ParseNumbers("--input-range", text));
  if (values.size() != 2 || !(values[0] <= values[1]) || !std::isfinite(values[0]) || !std::isfinite(values[1])) {
    return Status::InvalidArgument(fmt::format("--input-range: expected LO,HI with LO <= HI, found '{}'", text));
  }
  return std::optional<std::pair<double, double>>({values[0], values[1]});
}

}  // namespace

Result<InputOptions> InputArguments::Read(uint64_t seed) const {
  InputOptions options;
  options.files = files;
  options.seed = seed;
  options.name = "-i";
  options.layout = layout;
  PLUMB_ASSIGN_OR_RETURN(options.range, ParseRange(range));
  PLUMB_ASSIGN_OR_RETURN(const auto subtract, ParseNumbers("-n", bias));
  PLUMB_ASSIGN_OR_RETURN(const auto multiply, ParseNumbers("-s", scale));
  for (double value : subtract) options.image.bias.push_back(static_cast<float>(value));
  for (double value : multiply) options.image.scale.push_back(static_cast<float>(value));
  options.image.order = channel_order == "rgb" ? ChannelOrder::kRgb : ChannelOrder::kBgr;
  return options;
}

// They are of images: without one they would do nothing.
Status InputArguments::CheckImageOptions(const CommandLine& c) const {
  const bool many = samples != nullptr && !samples->empty();
  if (many || std::any_of(files.begin(), files.end(), IsImageFile)) return Status::Ok();
  for (const auto& [name, shown] :
       {std::pair("--bias", "-n"), {"--scale", "-s"}, {"--channel-order", "--channel-order"}}) {
    if (c.Given(name))
      return Status::InvalidArgument(std::string(shown) + " does nothing without an image: -i FILE.png");
  }
  return Status::Ok();
}

void InputArguments::AddTo(CommandLine* c) {
  c->Group("Input");
  c->Add("--input", &files,
         "input tensors: FILE or NAME=FILE; .txt (TNN), .npy, .npz, .bin/.dat, .png/.jpg; without it inputs are "
         "generated");
  c->Add("--input-range", &range,
         "LO,HI of generated inputs; default: f32 uniform [-1,1), integers what the graph allows (indices: the rows), "
         "else 0..1");
  c->Add("--bias", &bias, "images: subtract this, one value or one per channel");
  c->Add("--scale", &scale, "images: then multiply by this");
  c->OneOf("--channel-order", &channel_order, {"rgb", "bgr"}, "images: rgb or bgr");
  c->OneOf("--input-layout", &layout, {"NHWC", "NCHW"},
           "order of the axes of given tensors of four dims; default: the model's (NHWC of a .tflite, else NCHW)");
  c->OnlyWith("--input-layout", {"--input"});
  c->NotWith("--input-range", {"--input"}, "no input is generated");
  c->Check([=] { return CheckImageOptions(*c); });
}

}  // namespace plumb
