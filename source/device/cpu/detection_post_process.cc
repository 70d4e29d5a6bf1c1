// SPDX-License-Identifier: Apache-2.0
// DetectionPostProcess: the best free box again and again, in f32.
#include "op/detection_post_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/cpu/function_kernel.h"

namespace plumb::cpu {
namespace {

struct Box {
  float y0, x0, y1, x1;
  float area() const { return (y1 - y0) * (x1 - x0); }
};

struct Hit {
  int64_t box, column;
  float score;
};

bool OverlapsMore(const Box& a, const Box& b, float threshold) {
  if (!(a.area() > 0) || !(b.area() > 0)) return false;
  const float high = std::max(0.0f, std::min(a.y1, b.y1) - std::max(a.y0, b.y0));
  const float wide = std::max(0.0f, std::min(a.x1, b.x1) - std::max(a.x0, b.x0));
  const float both = high * wide;
  return both / (a.area() + b.area() - both) > threshold;
}

std::vector<Box> Decode(const DetectionPostProcessParam& p, const DetectionShape& s, const float* codes,
                        const float* anchors) {
  std::vector<Box> boxes(static_cast<size_t>(s.boxes));
  for (int64_t i = 0; i < s.boxes; ++i) {
    const float *code = codes + i * s.codes, *anchor = anchors + i * 4;
    const float y = code[0] / p.y_scale * anchor[2] + anchor[0], x = code[1] / p.x_scale * anchor[3] + anchor[1];
    const float h = 0.5f * std::exp(code[2] / p.h_scale) * anchor[2];
    const float w = 0.5f * std::exp(code[3] / p.w_scale) * anchor[3];
    boxes[static_cast<size_t>(i)] = {y - h, x - w, y + h, x + w};
  }
  return boxes;
}

// Places of the boxes that stay, the best first. score(box) is asked once for each.
template <class F>
std::vector<int64_t> Suppress(const DetectionPostProcessParam& p, const std::vector<Box>& boxes, int64_t most,
                              const F& score) {
  std::vector<std::pair<float, int64_t>> order;
  for (size_t i = 0; i < boxes.size(); ++i) {
    const float value = score(static_cast<int64_t>(i));
    if (value >= p.nms_score_threshold) order.emplace_back(value, static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<int64_t> stay;
  for (const auto& candidate : order) {
    if (static_cast<int64_t>(stay.size()) >= most) break;
    const Box& box = boxes[static_cast<size_t>(candidate.second)];
    const bool taken = std::any_of(stay.begin(), stay.end(), [&](int64_t other) {
      return OverlapsMore(boxes[static_cast<size_t>(other)], box, p.nms_iou_threshold);
    });
    if (!taken) stay.push_back(candidate.second);
  }
  return stay;
}

std::vector<Hit> OfBestClasses(const DetectionPostProcessParam& p, const DetectionShape& s,
                               const std::vector<Box>& boxes, const float* scores) {
  const auto best = [&](int64_t box) {
    const float* row = scores + box * s.columns;
    return *std::max_element(row + s.offset, row + s.columns);
  };
  std::vector<Hit> hits;
  std::vector<int64_t> columns(static_cast<size_t>(s.classes));
  for (const int64_t box : Suppress(p, boxes, s.most, best)) {
    const float* row = scores + box * s.columns;
    std::iota(columns.begin(), columns.end(), s.offset);
    std::stable_sort(columns.begin(), columns.end(), [row](int64_t a, int64_t b) { return row[a] > row[b]; });
    for (int64_t k = 0; k < s.per_box; ++k) {
      const int64_t column = columns[static_cast<size_t>(k)];
      hits.push_back({box, column, row[column]});
    }
  }
  return hits;
}

std::vector<Hit> OfEachClass(const DetectionPostProcessParam& p, const DetectionShape& s, const std::vector<Box>& boxes,
                             const float* scores) {
  std::vector<Hit> hits;
  for (int64_t column = s.offset; column < s.columns; ++column) {
    const auto score = [&](int64_t box) { return scores[box * s.columns + column]; };
    for (const int64_t box : Suppress(p, boxes, s.per_class, score)) hits.push_back({box, column, score(box)});
  }
  std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.score > b.score; });
  hits.resize(std::min(hits.size(), static_cast<size_t>(s.most)));
  return hits;
}

Status DetectionPostProcess(const Layer& layer, const std::vector<DeviceTensor>& in,
                            const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const DetectionShape s, ResolveDetection(layer, WithValues(in)));
  const auto& p = ParamOf<DetectionPostProcessParam>(layer);
  const Tensor* held = layer.Resource("anchors");
  if (in.size() < 3 && held == nullptr) return Status::InvalidArgument("it has no anchors");
  const float* anchors = in.size() > 2 ? in[2].host<float>() : held->data<float>();
  const std::vector<Box> boxes = Decode(p, s, in[0].host<float>(), anchors);
  const float* scores = in[1].host<float>();
  const std::vector<Hit> hits =
      p.use_regular_nms ? OfEachClass(p, s, boxes, scores) : OfBestClasses(p, s, boxes, scores);
  for (const DeviceTensor& output : out) std::fill_n(output.host<float>(), output.shape.NumElements(), 0.0f);
  for (size_t i = 0; i < hits.size(); ++i) {
    const Box& box = boxes[static_cast<size_t>(hits[i].box)];
    const float corners[] = {box.y0, box.x0, box.y1, box.x1};
    std::copy_n(corners, 4, out[0].host<float>() + 4 * i);
    out[1].host<float>()[i] = static_cast<float>(hits[i].column - s.offset);
    out[2].host<float>()[i] = hits[i].score;
  }
  out[3].host<float>()[0] = static_cast<float>(static_cast<int64_t>(hits.size()) / s.per_box);
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_detection_post_process = FunctionKernelOf<DetectionPostProcess, Takes::kF32>();

}  // namespace plumb::cpu
