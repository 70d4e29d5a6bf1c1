// SPDX-License-Identifier: Apache-2.0
// The port: original.py as somebody wrote it for a phone, in C++ with OpenCV. port PHOTO FOLDER_OF_NETWORKS [--mended]
//
// Three lines of it are wrong. stage_diff names each; --mended runs the lines that mend them.
#include <plumb/inputs.h>
#include <plumb/plumb.h>
#include <plumb/stage.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

namespace {

using plumb::DType;
using plumb::Result;
using plumb::Shape;
using plumb::Status;
using plumb::Tensor;

constexpr double kSmallest = 40, kFactor = 0.709, kCell = 12, kStride = 2;
bool mended = false;

struct Row {
  float x1, y1, x2, y2, score;
};

plumb::StageInfo Info(const std::string& of, const char* kind = "", const char* layout = "") {
  plumb::StageInfo info;
  if (!of.empty()) info.parameters = {{"of", of}};
  info.kind = kind, info.layout = layout, info.library = std::string("OpenCV ") + CV_VERSION;
  return info;
}

Result<Tensor> Copied(DType dtype, const Shape& shape, const void* data) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  if (tensor.bytes() > 0) std::memcpy(tensor.raw(), data, tensor.bytes());
  return tensor;
}

Status PictureStage(const std::string& name, const cv::Mat& image, plumb::StageInfo info) {
  info.color = "BGR";
  const cv::Mat dense = image.clone();
  PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, Copied(DType::kU8, {dense.rows, dense.cols, 3}, dense.data));
  return plumb::Stage(name, tensor, info);
}

Status RowStage(const std::string& name, const std::vector<Row>& rows, const plumb::StageInfo& info) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, Copied(DType::kF32, {static_cast<int64_t>(rows.size()), 5}, rows.data()));
  return plumb::Stage(name, tensor, info);
}

double Overlap(const Row& a, const Row& b) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double shared = std::max(width, 0.0) * std::max(height, 0.0);
  const auto area = [](const Row& row) { return double{row.x2 - row.x1} * double{row.y2 - row.y1}; };
  return shared / (area(a) + area(b) - shared);
}

std::vector<Row> Suppressed(std::vector<Row> rows, double overlap) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.score > b.score; });
  std::vector<Row> kept;
  for (const Row& row : rows) {
    const auto near = [&](const Row& other) { return Overlap(row, other) > overlap; };
    if (std::none_of(kept.begin(), kept.end(), near)) kept.push_back(row);
  }
  return kept;
}

// Floats of (x - 127.5) / 128, in the order in which the network wants them: a batch of height, width, channels.
Result<Tensor> Normalised(const std::vector<cv::Mat>& images) {
  const int64_t height = images[0].rows, width = images[0].cols, count = static_cast<int64_t>(images.size());
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kF32, {count, height, width, 3}));
  float* to = tensor.data<float>();
  for (cv::Mat image : images) {
    if (mended) cv::cvtColor(image, image, cv::COLOR_BGR2RGB);  // else: the order of imread goes in
    for (int64_t h = 0; h < height; ++h) {
      const auto* row = image.ptr<uint8_t>(static_cast<int>(h));
      for (int64_t i = 0; i < width * 3; ++i) *to++ = (static_cast<float>(row[i]) - 127.5f) / 128;
    }
  }
  return tensor;
}

// The networks were trained on transposed pictures: height and width are exchanged.
Result<std::map<std::string, Tensor>> Run(const std::string& path, const std::string& input, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const Shape turned = {shape[0], shape[2], shape[1], shape[3]};
  PLUMB_ASSIGN_OR_RETURN(Tensor values, Tensor::Create(DType::kF32, turned));
  const float* from = tensor.data<float>();
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t h = 0; h < shape[1]; ++h) {
      for (int64_t w = 0; w < shape[2]; ++w, from += 3)
        std::copy_n(from, 3, values.data<float>() + ((n * shape[2] + w) * shape[1] + h) * 3);
    }
  }
  plumb::LoadOptions load;
  load.evaluator = plumb::ReferenceEvaluator();
  load.input_shapes[input] = turned;
  PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, plumb::LoadModel(path, load));
  PLUMB_ASSIGN_OR_RETURN(const auto network, plumb::CreateNetwork(std::move(graph), "X86"));
  return plumb::RunNetwork(network.get(), {{input, values}});
}

Result<std::vector<Row>> Proposals(const cv::Mat& image, double scale, int level, const std::string& folder) {
  const std::string number = std::to_string(level);
  const cv::Size size(static_cast<int>(std::ceil(image.cols * scale)), static_cast<int>(std::ceil(image.rows * scale)));
  cv::Mat small;
  cv::resize(image, small, size, 0, 0, mended ? cv::INTER_AREA : cv::INTER_LINEAR);  // LINEAR: no antialias
  PLUMB_RETURN_IF_ERROR(PictureStage("resize_" + number, small, Info("decode")));
  PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, Normalised({small}));
  PLUMB_RETURN_IF_ERROR(plumb::Stage("normalise_" + number, tensor, Info("")));
  PLUMB_ASSIGN_OR_RETURN(auto outputs, Run(folder + "/pnet.onnx", "input_1", tensor));
  const Tensor& both = outputs.at("softmax");  // 1, width, height, 2
  const int64_t width = both.shape()[1], height = both.shape()[2];
  std::vector<float> scores(static_cast<size_t>(width * height));
  std::vector<Row> rows;
  for (int64_t h = 0; h < height; ++h) {
    for (int64_t w = 0; w < width; ++w) {
      const float score = both.data<float>()[(w * height + h) * 2 + 1];
      scores[static_cast<size_t>(h * width + w)] = score;
      if (score <= 0.6f) continue;
      const double x = static_cast<double>(w) * kStride, y = static_cast<double>(h) * kStride;
      rows.push_back({static_cast<float>(x / scale), static_cast<float>(y / scale),
                      static_cast<float>((x + kCell) / scale), static_cast<float>((y + kCell) / scale), score});
    }
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor map, Copied(DType::kF32, {height, width}, scores.data()));
  PLUMB_RETURN_IF_ERROR(plumb::Stage("scores_" + number, map, Info("", "model")));
  if (rows.empty()) return rows;
  PLUMB_RETURN_IF_ERROR(RowStage("candidates_" + number, rows, Info("", "boxes", "HW")));
  rows = Suppressed(rows, mended ? 0.5 : 0.3);  // 0.5 in the original
  PLUMB_RETURN_IF_ERROR(RowStage("nms_" + number, rows, Info("", "", "HW")));
  return rows;
}

// The square around a box, of whole pixels; black where it leaves the picture.
cv::Mat Crop(const cv::Mat& image, const Row& row) {
  const double half = std::max(row.x2 - row.x1, row.y2 - row.y1) / 2.0;
  const double centre_x = (double{row.x1} + row.x2) / 2, centre_y = (double{row.y1} + row.y2) / 2;
  const int left = static_cast<int>(std::floor(centre_x - half + 0.5));
  const int top = static_cast<int>(std::floor(centre_y - half + 0.5));
  const int right = static_cast<int>(std::floor(centre_x + half + 0.5));
  const int bottom = static_cast<int>(std::floor(centre_y + half + 0.5));
  cv::Mat part(bottom - top, right - left, CV_8UC3, cv::Scalar(0, 0, 0));
  const cv::Rect inside = cv::Rect(left, top, part.cols, part.rows) & cv::Rect(0, 0, image.cols, image.rows);
  if (!inside.empty()) image(inside).copyTo(part(inside - cv::Point(left, top)));
  cv::Mat small;
  cv::resize(part, small, cv::Size(24, 24), 0, 0, mended ? cv::INTER_AREA : cv::INTER_LINEAR);
  return small;
}

Result<std::vector<Row>> Faces(const cv::Mat& image, const std::vector<Row>& rows, const std::string& folder) {
  std::vector<cv::Mat> crops;
  for (const Row& row : rows) crops.push_back(Crop(image, row));
  cv::Mat all;
  cv::vconcat(crops, all);
  PLUMB_ASSIGN_OR_RETURN(const Tensor bytes,
                         Copied(DType::kU8, {static_cast<int64_t>(crops.size()), 24, 24, 3}, all.data));
  PLUMB_RETURN_IF_ERROR(plumb::Stage("crops", bytes, Info("decode, nms_all")));
  PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, Normalised(crops));
  PLUMB_RETURN_IF_ERROR(plumb::Stage("normalise", tensor, Info("")));
  PLUMB_ASSIGN_OR_RETURN(auto outputs, Run(folder + "/rnet.onnx", "input_2", tensor));
  std::vector<float> scores;
  std::vector<Row> moved;
  for (size_t i = 0; i < rows.size(); ++i) {
    const float score = outputs.at("softmax_1").data<float>()[i * 2 + 1];
    scores.push_back(score);
    if (score <= 0.7f) continue;
    const float* move = outputs.at("dense_2").data<float>() + i * 4;
    const Row& row = rows[i];
    const float width = row.x2 - row.x1, height = row.y2 - row.y1;
    moved.push_back({row.x1 + move[0] * width, row.y1 + move[1] * height, row.x2 + move[2] * width,
                     row.y2 + move[3] * height, score});
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor column,
                         Copied(DType::kF32, {static_cast<int64_t>(scores.size()), 1}, scores.data()));
  PLUMB_RETURN_IF_ERROR(plumb::Stage("scores", column, Info("", "model")));
  PLUMB_RETURN_IF_ERROR(RowStage("boxes", moved, Info("nms_all, scores", "", "HW")));
  std::vector<Row> faces = Suppressed(moved, 0.4);
  PLUMB_RETURN_IF_ERROR(RowStage("faces", faces, Info("", "detections", "HW")));
  return faces;
}

Status Detect(const std::string& photo, const std::string& folder) {
  const cv::Mat image = cv::imread(photo, cv::IMREAD_COLOR);
  if (image.empty()) return Status::NotFound("'" + photo + "' is no photo that OpenCV can read");
  plumb::StageInfo info = Info("");
  info.parameters = {{"file", photo}};
  PLUMB_RETURN_IF_ERROR(PictureStage("decode", image, info));
  std::vector<Row> rows;
  std::string levels;
  double scale = kCell / kSmallest;
  for (int level = 0; std::min(image.rows, image.cols) * scale >= kCell; ++level, scale *= kFactor) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Row> some, Proposals(image, scale, level, folder));
    rows.insert(rows.end(), some.begin(), some.end());
    levels += (level > 0 ? ", scores_" : "scores_") + std::to_string(level);
  }
  if (rows.empty()) return Status::NotFound("no face in '" + photo + "'");
  PLUMB_RETURN_IF_ERROR(RowStage("proposals", rows, Info(levels, "boxes", "HW")));
  rows = Suppressed(rows, 0.7);
  PLUMB_RETURN_IF_ERROR(RowStage("nms_all", rows, Info("", "", "HW")));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Row> faces, Faces(image, rows, folder));
  if (faces.empty()) std::puts("port: no face");
  for (const Row& face : faces)
    std::printf("port: face %.3f at [%.0f, %.0f, %.0f, %.0f]\n", face.score, face.x1, face.y1, face.x2, face.y2);
  return Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: port PHOTO FOLDER_OF_NETWORKS [--mended]\n");
    return 2;
  }
  mended = argc > 3 && std::string(argv[3]) == "--mended";
  const Status status = Detect(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "port: %s\n", status.message().c_str());
  return status.ok() ? 0 : 2;
}
