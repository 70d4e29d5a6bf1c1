// SPDX-License-Identifier: Apache-2.0
// What the OpenCV of this system does to the inputs of versions_test.py: the cases of versions.py, in C++, written by
// plumb_stage.h.
//
//   DUMP_STAGE_DIR=OUT versions_stages INPUTS FILE...
#define PLUMB_DUMP_IMPLEMENTATION
#include <plumb_stage.h>

#include <cstdio>
#include <opencv2/dnn.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

namespace {

struct Named {
  const char* name;
  int number;
};

void Write(const std::string& sample, const char* stage, const cv::Mat& after, const std::string& parameters,
           const cv::Mat* before) {
  const auto one = [](const char* name, const cv::Mat& mat, const char* color, const std::string& rest) {
    const cv::Mat dense = mat.clone();
    const int64_t dims[] = {dense.rows, dense.cols, dense.channels()};
    plumb_dump_stage(name, dense.data, dense.depth() == CV_8U ? PLUMB_U8 : PLUMB_F32, dense.channels() == 1 ? 2 : 3,
                     dims, nullptr, color, "OpenCV " CV_VERSION, rest.empty() ? nullptr : rest.c_str());
  };
  plumb_dump_sample(sample.c_str());
  if (before != nullptr) one("before", *before, nullptr, "");
  one(stage, after, before == nullptr ? "BGR" : nullptr, parameters);
}

void Resizes(const cv::Mat& photo) {
  const Named methods[] = {{"NEAREST", cv::INTER_NEAREST},  {"NEAREST_EXACT", cv::INTER_NEAREST_EXACT},
                           {"LINEAR", cv::INTER_LINEAR},    {"LINEAR_EXACT", cv::INTER_LINEAR_EXACT},
                           {"AREA", cv::INTER_AREA},        {"CUBIC", cv::INTER_CUBIC},
                           {"LANCZOS4", cv::INTER_LANCZOS4}};
  struct Size {
    const char* name;
    cv::Size size;
  };
  const Size sizes[] = {{"down", {200, 150}}, {"half", {201, 150}}, {"odd", {311, 97}}, {"up", {530, 420}}};
  cv::Mat floats;
  photo.convertTo(floats, CV_32F, 1 / 255.0);
  for (const Named& method : methods) {
    cv::Mat done;
    const std::string said = std::string("\"method\": \"INTER_") + method.name + "\"";
    for (const Size& size : sizes) {
      cv::resize(photo, done, size.size, 0, 0, method.number);
      Write(std::string(method.name) + "-" + size.name, "resize", done, said, &photo);
    }
    if (method.number == cv::INTER_LINEAR_EXACT) continue;
    cv::resize(floats, done, sizes[0].size, 0, 0, method.number);
    Write(std::string(method.name) + "-floats", "resize", done, said, &floats);
  }
}

void Colours(const cv::Mat& photo, const cv::Mat& frame) {
  cv::Mat done;
  const Named layouts[] = {{"frame-NV12", cv::COLOR_YUV2RGB_NV12},
                           {"frame-NV21", cv::COLOR_YUV2RGB_NV21},
                           {"frame-I420", cv::COLOR_YUV2RGB_I420}};
  for (const Named& layout : layouts) {
    cv::cvtColor(frame, done, layout.number);
    Write(layout.name, "frame", done, "", &frame);
  }
  cv::cvtColor(photo, done, cv::COLOR_RGB2GRAY);
  Write("grey", "grey", done, "", &photo);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string inputs = argv[1];
  cv::Mat photo = cv::imread(inputs + "/photo.png", cv::IMREAD_COLOR);
  const cv::Mat frame = cv::imread(inputs + "/frame.png", cv::IMREAD_GRAYSCALE);
  if (photo.empty() || frame.empty()) return 2;
  cv::cvtColor(photo, photo, cv::COLOR_BGR2RGB);
  Resizes(photo);
  Colours(photo, frame);
  for (int i = 2; i < argc; ++i) {
    const std::string path = inputs + "/" + argv[i];
    Write(std::string("decode-") + argv[i], "decode", cv::imread(path, cv::IMREAD_COLOR), "\"file\": \"" + path + "\"",
          nullptr);
  }
  return 0;
}
