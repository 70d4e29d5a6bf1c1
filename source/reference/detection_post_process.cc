// SPDX-License-Identifier: Apache-2.0
// DetectionPostProcess (op/detection_post_process.h) in f64. What stays depends on comparisons of scores and overlaps:
// where one is so near to a tie or a threshold that rounding decides, nothing is known of what follows, and tau is
// infinite. Equal scores are equal on every device: they come from equal integers.
#include "op/detection_post_process.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

using Corners = std::array<double, 4>;  // y0, x0, y1, x1

struct Found {
  int64_t box = 0, column = 0;  // of the scores
  double score = 0;
};

// Of uncertain inputs; null: they are exact.
struct DetectionTau {
  const double *codes = nullptr, *scores = nullptr, *anchors = nullptr;
};

class Detection {
 public:
  Detection(const DetectionShape& shape, const ReferenceArgs& args, const Tensor& codes, const Tensor& scores,
            const Tensor& anchors, const DetectionTau& tau)
      : s_(shape),
        tau_(tau),
        p_(ParamOf<DetectionPostProcessParam>(args.layer)),
        codes_(codes.data<double>()),
        scores_(scores.data<double>()),
        anchors_(anchors.data<double>()) {
    for (int64_t i = 0; i < s_.boxes; ++i) corners_.push_back(CornersOf(i));
  }

  std::vector<Found> Find() { return p_.use_regular_nms ? OfEachClass() : OfBestClasses(); }

  const Corners& corners(int64_t box) const { return corners_[static_cast<size_t>(box)]; }
  // Of rounding: each corner is a centre and half a side, which a handful of operations make.
  double TauOf(int64_t box, double u) const {
    double largest = 0;
    for (size_t k = 0; k < 4; ++k)
      largest = std::max({largest, std::fabs(corners(box)[k]), std::fabs(anchors_[4 * box + static_cast<int64_t>(k)])});
    const Corners& c = corners(box);
    return 48 * u * std::max({largest, std::fabs(c[2] - c[0]), std::fabs(c[3] - c[1])}) + InheritedTau(box);
  }
  double ScoreTau(const Found& found) const {
    return tau_.scores == nullptr ? 0 : tau_.scores[found.box * s_.columns + found.column];
  }
  // Whether rounding may have decided which box stays.
  bool unsure() const { return unsure_; }

 private:
  Corners CornersOf(int64_t i) const {
    const double *code = codes_ + i * s_.codes, *anchor = anchors_ + i * 4;
    const double y = code[0] / static_cast<double>(p_.y_scale) * anchor[2] + anchor[0];
    const double x = code[1] / static_cast<double>(p_.x_scale) * anchor[3] + anchor[1];
    const double h = 0.5 * std::exp(code[2] / static_cast<double>(p_.h_scale)) * anchor[2];
    const double w = 0.5 * std::exp(code[3] / static_cast<double>(p_.w_scale)) * anchor[3];
    return {y - h, x - w, y + h, x + w};
  }

  // How far the inputs' own errors carry a corner.
  double InheritedTau(int64_t box) const {
    const double scales[] = {static_cast<double>(p_.y_scale), static_cast<double>(p_.x_scale),
                             static_cast<double>(p_.h_scale), static_cast<double>(p_.w_scale)};
    const Corners& c = corners(box);
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k) {
      const double side = k % 2 == 0 ? anchors_[box * 4 + 2] : anchors_[box * 4 + 3];
      const double half = std::fabs(k % 2 == 0 ? c[2] - c[0] : c[3] - c[1]) / 2;
      const double code = codes_[box * s_.codes + k] / scales[k];
      if (tau_.codes != nullptr) sum += tau_.codes[box * s_.codes + k] / scales[k] * (k < 2 ? std::fabs(side) : half);
      if (tau_.anchors == nullptr) continue;
      // Of a centre's anchor itself; of a side what the code of the centre and of the side make of it.
      sum += tau_.anchors[box * 4 + k] * (k < 2 ? 1 : std::fabs(codes_[box * s_.codes + k - 2] / scales[k - 2]));
      if (k > 1) sum += tau_.anchors[box * 4 + k] * std::exp(code) / 2;
    }
    return sum;
  }

  static double AreaOf(const Corners& c) { return (c[2] - c[0]) * (c[3] - c[1]); }

  // Whether j overlaps i by more than the threshold.
  bool Overlaps(int64_t i, int64_t j) {
    const Corners &a = corners(i), &b = corners(j);
    if (!(AreaOf(a) > 0) || !(AreaOf(b) > 0)) return false;
    const double high = std::max(0.0, std::min(a[2], b[2]) - std::max(a[0], b[0]));
    const double wide = std::max(0.0, std::min(a[3], b[3]) - std::max(a[1], b[1]));
    const double both = high * wide, overlap = both / (AreaOf(a) + AreaOf(b) - both);
    const auto threshold = static_cast<double>(p_.nms_iou_threshold);
    constexpr double kUnsure = 1e-4;  // boxes that are small beside their place lose digits
    const double side = std::min({a[2] - a[0], a[3] - a[1], b[2] - b[0], b[3] - b[1]});
    const double moved = 8 * (InheritedTau(i) + InheritedTau(j)) / side;
    unsure_ = unsure_ || (both > 0 && std::fabs(overlap - threshold) < kUnsure + moved);
    return overlap > threshold;
  }

  // Whether the first is at least the second; notes where errors may turn that.
  bool AtLeast(double a, double b, double tau) {
    unsure_ = unsure_ || (a != b && std::fabs(a - b) <= tau);
    return a >= b;
  }

  // By falling score, those that stay. `candidates`: one for each box.
  std::vector<Found> Stay(std::vector<Found> candidates, int64_t most) {
    const auto low = [this](const Found& found) {
      return !AtLeast(found.score, static_cast<double>(p_.nms_score_threshold), ScoreTau(found));
    };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), low), candidates.end());
    Sort(&candidates);
    std::vector<Found> stay;
    for (const Found& found : candidates) {
      if (static_cast<int64_t>(stay.size()) >= most) break;
      const bool taken =
          std::any_of(stay.begin(), stay.end(), [&](const Found& other) { return Overlaps(other.box, found.box); });
      if (!taken) stay.push_back(found);
    }
    return stay;
  }

  void Sort(std::vector<Found>* found) {
    std::stable_sort(found->begin(), found->end(), [](const Found& a, const Found& b) { return a.score > b.score; });
    for (size_t i = 0; i + 1 < found->size(); ++i) {
      const Found &a = (*found)[i], &b = (*found)[i + 1];
      (void)AtLeast(a.score, b.score, ScoreTau(a) + ScoreTau(b));
    }
  }

  double ScoreAt(int64_t box, int64_t column) const { return scores_[box * s_.columns + column]; }

  // A box's best classes by falling score.
  std::vector<Found> BestOf(int64_t box, int64_t count) {
    std::vector<Found> found;
    for (int64_t column = s_.offset; column < s_.columns; ++column)
      found.push_back({box, column, ScoreAt(box, column)});
    Sort(&found);
    found.resize(static_cast<size_t>(count));
    return found;
  }

  std::vector<Found> OfBestClasses() {
    std::vector<Found> best, found;
    for (int64_t box = 0; box < s_.boxes; ++box) best.push_back(BestOf(box, 1)[0]);
    for (const Found& one : Stay(std::move(best), s_.most)) {
      for (const Found& of_class : BestOf(one.box, s_.per_box)) found.push_back(of_class);
    }
    return found;
  }

  std::vector<Found> OfEachClass() {
    std::vector<Found> found;
    for (int64_t column = s_.offset; column < s_.columns; ++column) {
      std::vector<Found> candidates;
      for (int64_t box = 0; box < s_.boxes; ++box) candidates.push_back({box, column, ScoreAt(box, column)});
      const std::vector<Found> stay = Stay(std::move(candidates), s_.per_class);
      found.insert(found.end(), stay.begin(), stay.end());
    }
    Sort(&found);
    found.resize(std::min(found.size(), static_cast<size_t>(s_.most)));
    return found;
  }

  const DetectionShape s_;
  const DetectionTau tau_;
  const DetectionPostProcessParam& p_;
  const double *codes_, *scores_, *anchors_;
  std::vector<Corners> corners_;
  bool unsure_ = false;
};

Status RunDetection(const ReferenceArgs& args, const BoundArgs* bound) {
  PLUMB_ASSIGN_OR_RETURN(const DetectionShape s, ResolveDetection(args.layer, InfosOf(args)));
  const Tensor* given = args.inputs.size() > 2 ? args.inputs[2] : args.layer.Resource("anchors");
  if (given == nullptr) return Status::InvalidArgument("it has no anchors");
  PLUMB_ASSIGN_OR_RETURN(const Tensor codes, args.inputs[0]->ConvertedTo(DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scores, args.inputs[1]->ConvertedTo(DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor anchors, given->ConvertedTo(DType::kF64));
  DetectionTau tau;
  if (bound != nullptr) tau = {InputTau(*bound, 0), InputTau(*bound, 1), InputTau(*bound, 2)};
  Detection detection(s, args, codes, scores, anchors, tau);
  const std::vector<Found> found = detection.Find();
  PLUMB_RETURN_IF_ERROR(WithStorage(args.outputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    T* out[4];
    for (size_t i = 0; i < 4; ++i) {
      out[i] = args.outputs[i]->data<T>();
      std::fill_n(out[i], args.outputs[i]->NumElements(), T{0});
    }
    for (size_t i = 0; i < found.size(); ++i) {
      for (size_t k = 0; k < 4; ++k) out[0][4 * i + k] = static_cast<T>(detection.corners(found[i].box)[k]);
      out[1][i] = static_cast<T>(found[i].column - s.offset);
      out[2][i] = static_cast<T>(found[i].score);
    }
    out[3][0] = static_cast<T>(found.size() / static_cast<size_t>(s.per_box));
    return Status::Ok();
  }));
  if (bound == nullptr) return Status::Ok();
  for (size_t i = 0; i < 4; ++i)
    std::fill_n(bound->tau[i]->data<double>(), bound->tau[i]->NumElements(), detection.unsure() ? INFINITY : 0.0);
  if (detection.unsure()) return Status::Ok();
  for (size_t i = 0; i < found.size(); ++i) {
    std::fill_n(bound->tau[0]->data<double>() + 4 * i, 4, detection.TauOf(found[i].box, bound->arithmetic.u));
    bound->tau[2]->data<double>()[i] = detection.ScoreTau(found[i]);
  }
  if (bound->device_outputs.empty()) return Status::Ok();
  const auto known = static_cast<int64_t>(found.size());
  std::fill_n(bound->tau[0]->data<double>() + 4 * known, 4 * (s.rows - known), INFINITY);
  for (size_t i = 1; i < 3; ++i) std::fill_n(bound->tau[i]->data<double>() + known, s.rows - known, INFINITY);
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferenceDetectionPostProcess() {
  ReferenceOp op{[](const ReferenceArgs& args) { return RunDetection(args, nullptr); },
                 [](const ReferenceArgs& args, const BoundArgs& bound) { return RunDetection(args, &bound); }};
  op.picks = true;  // what a device leaves behind the last detection is its own
  return op;
}

}  // namespace plumb
