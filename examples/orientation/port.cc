// SPDX-License-Identifier: Apache-2.0
// The port: original.py as somebody wrote it for a phone, in C++ with OpenCV. port PHOTO NETWORK.onnx [--mended]
//
// Three lines of it are wrong. stage_diff names each; --mended runs the lines that mend them.
#include <plumb/inputs.h>
#include <plumb/plumb.h>
#include <plumb/stage.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>

namespace {

using plumb::DType;
using plumb::Result;
using plumb::Status;
using plumb::Tensor;

constexpr int kShort = 256, kSide = 224;
constexpr float kMean[] = {0.485f, 0.456f, 0.406f}, kStd[] = {0.229f, 0.224f, 0.225f};
bool mended = false;

Status PictureStage(const std::string& name, const cv::Mat& image, const std::string& file = "") {
  plumb::StageInfo info;
  info.library = std::string("OpenCV ") + CV_VERSION, info.color = "BGR";
  if (!file.empty()) info.parameters = {{"file", file}};
  const cv::Mat dense = image.clone();
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kU8, {dense.rows, dense.cols, 3}));
  std::memcpy(tensor.raw(), dense.data, tensor.bytes());
  return plumb::Stage(name, tensor, info);
}

// [224,224,3] of floats.
Result<Tensor> Normalised(const cv::Mat& image) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kF32, {kSide, kSide, 3}));
  float* to = tensor.data<float>();
  for (int h = 0; h < kSide; ++h) {
    for (int w = 0; w < kSide; ++w) {
      const auto& pixel = image.at<cv::Vec3b>(h, w);
      for (int c = 0; c < 3; ++c) {
        const int channel = mended ? 2 - c : c;  // imread's order is BGR, the network's is RGB
        *to++ = (static_cast<float>(pixel[channel]) / 255 - kMean[c]) / kStd[c];
      }
    }
  }
  return tensor;
}

Result<Tensor> Planes(const Tensor& pixels) {
  PLUMB_ASSIGN_OR_RETURN(Tensor planes, Tensor::Create(DType::kF32, {1, 3, kSide, kSide}));
  const int64_t count = int64_t{kSide} * kSide;
  for (int64_t i = 0; i < 3 * count; ++i) planes.data<float>()[i % 3 * count + i / 3] = pixels.data<float>()[i];
  return planes;
}

Result<Tensor> Scores(const std::string& path, const Tensor& input) {
  plumb::LoadOptions load;
  load.evaluator = plumb::ReferenceEvaluator();
  load.input_shapes["x"] = input.shape();
  PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, plumb::LoadModel(path, load));
  PLUMB_ASSIGN_OR_RETURN(const auto network, plumb::CreateNetwork(std::move(graph), "X86"));
  PLUMB_ASSIGN_OR_RETURN(auto outputs, plumb::RunNetwork(network.get(), {{"x", input}}));
  return outputs.at("fetch_name_0");
}

Status Classify(const std::string& photo, const std::string& network) {
  // With IGNORE_ORIENTATION what the camera's sensor saw, not what its owner did.
  const int how = mended ? cv::IMREAD_COLOR : cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION;
  cv::Mat image = cv::imread(photo, how);
  if (image.empty()) return Status::NotFound("'" + photo + "' is no photo that OpenCV can read");
  PLUMB_RETURN_IF_ERROR(PictureStage("decode", image, photo));
  const double scale = static_cast<double>(kShort) / std::min(image.rows, image.cols);
  const cv::Size size(static_cast<int>(std::lrint(image.cols * scale)),
                      static_cast<int>(std::lrint(image.rows * scale)));
  cv::resize(image, image, size, 0, 0, mended ? cv::INTER_AREA : cv::INTER_LINEAR);  // LINEAR: no antialias
  PLUMB_RETURN_IF_ERROR(PictureStage("resize", image));
  image = image(cv::Rect((size.width - kSide) / 2, (size.height - kSide) / 2, kSide, kSide)).clone();
  PLUMB_RETURN_IF_ERROR(PictureStage("crop", image));
  PLUMB_ASSIGN_OR_RETURN(const Tensor pixels, Normalised(image));
  PLUMB_RETURN_IF_ERROR(plumb::Stage("normalise", pixels));
  PLUMB_ASSIGN_OR_RETURN(const Tensor input, Planes(pixels));
  plumb::StageInfo info;
  info.layout = "NCHW";
  PLUMB_RETURN_IF_ERROR(plumb::Stage("input", input, info));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scores, Scores(network, input));
  info = {};
  info.kind = "model";
  PLUMB_RETURN_IF_ERROR(plumb::Stage("scores", scores, info));
  const float* first = scores.data<float>();
  std::printf("port: turned by %d degrees\n", static_cast<int>(std::max_element(first, first + 4) - first) * 90);
  return Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: port PHOTO NETWORK.onnx [--mended]\n");
    return 2;
  }
  mended = argc > 3 && std::string(argv[3]) == "--mended";
  const Status status = Classify(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "port: %s\n", status.message().c_str());
  return status.ok() ? 0 : 2;
}
