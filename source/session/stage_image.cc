// SPDX-License-Identifier: Apache-2.0
#include "session/stage_image.h"

#include <fmt/core.h>

#include "base/text.h"
#include "plumb/stage.h"

namespace plumb {
namespace {

// [1,C,H,W] of whole numbers in floats -> [H,W,C] of bytes.
Result<Tensor> AsPixels(const Tensor& planes) {
  const Shape& shape = planes.shape();
  PLUMB_ASSIGN_OR_RETURN(Tensor pixels, Tensor::Create(DType::kU8, Shape{shape[2], shape[3], shape[1]}));
  const int64_t plane = shape.CountFrom(2);
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t c = 0; c < shape[1]; ++c)
      pixels.data<uint8_t>()[i * shape[1] + c] = static_cast<uint8_t>(planes.data<float>()[c * plane + i]);
  }
  return pixels;
}

std::vector<double> Doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

}  // namespace

Status WriteImageStages(const std::string& path, const ImageOptions& options, const Tensor& values, bool turned) {
  if (!StagesWanted()) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read, ReadTensors(path));
  PLUMB_ASSIGN_OR_RETURN(const Tensor pixels, AsPixels(read[0].tensor));
  const int64_t channels = pixels.shape()[2];
  const bool colored = channels >= 3;
  StageInfo decode;
  decode.parameters = {{"file", path}};
  decode.layout = "HWC";
  decode.color = colored ? "RGB" : "GRAY";
  decode.library = EndsWith(Lower(path), ".png") ? "libpng" : EndsWith(Lower(path), ".bmp") ? "" : "libjpeg-turbo";
  PLUMB_RETURN_IF_ERROR(Stage("decode", pixels, decode));
  StageInfo normalise;
  normalise.parameters = {{"bias", Doubles(options.bias)}, {"scale", Doubles(options.scale)}};
  normalise.layout = turned ? "NHWC" : "NCHW";
  if (colored) normalise.color = options.order == ChannelOrder::kBgr ? "BGR" : "RGB";
  normalise.library = "Plumb";
  return Stage("normalise", values, normalise);
}

}  // namespace plumb
