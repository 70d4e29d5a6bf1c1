// SPDX-License-Identifier: Apache-2.0
#include "check/judge/picture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace plumb {
namespace {

// An output as channels of positions in rows and columns: [N,C,H,W...]; what has one position a channel is one channel.
struct Positions {
  explicit Positions(const Shape& shape) {
    const int rank = shape.rank();
    for (int axis = 2; axis + 1 < rank; ++axis) height *= shape[axis];
    if (rank > 2) width = shape[rank - 1];
    if (rank > 1) channels = shape[1];
    if (height * width > 1 || rank == 0) return;
    width = rank > 1 ? channels : shape[0];
    height = rank > 1 ? shape[0] : 1;
    channels = 1;
  }
  int64_t channels = 1, height = 1, width = 1;

  int64_t ChannelOf(int64_t element) const { return element / (height * width) % channels; }
  int64_t RowOf(int64_t element) const { return element / width % height; }
  int64_t ColumnOf(int64_t element) const { return element % width; }
};

// e / tau with its sign; infinite where no bound covers the difference.
double SignedExcess(const JudgeInput& input, int64_t i) {
  const double device = input.device.ValueAt(i), reference = input.reference.ValueAt(i);
  const bool same = device == reference || (std::isnan(device) && std::isnan(reference));
  if (same) return 0;
  const double tau = i < input.tau.NumElements() ? input.tau.ValueAt(i) : 0;
  const double excess = (device - reference) / tau;
  if (std::isfinite(excess)) return excess;
  return std::isinf(tau) ? 0 : std::copysign(std::numeric_limits<double>::infinity(), device - reference);
}

class Drawing {
 public:
  Drawing(const JudgeInput& input, int cells) : input_(input), positions_(input.device.shape()) {
    const int64_t count = input.device.NumElements();
    excess_.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) excess_.push_back(SignedExcess(input, i));
    picture_.height = positions_.height;
    picture_.width = positions_.width;
    picture_.rows = std::min<int64_t>(positions_.height, cells);
    picture_.columns = std::min<int64_t>(positions_.width, cells);
  }

  ErrorPicture Draw(int channels) {
    Spread();
    if (excess_.empty()) return std::move(picture_);
    Map(-1);
    if (positions_.channels > 1) {
      for (const int64_t channel : WorstChannels(channels)) Map(channel);
    }
    return std::move(picture_);
  }

 private:
  bool HasBound(size_t i) const {
    const auto element = static_cast<int64_t>(i);
    return std::isfinite(excess_[i]) && element < input_.tau.NumElements() && input_.tau.ValueAt(element) > 0;
  }

  void Spread() {
    double largest = 1, sum = 0;
    for (size_t i = 0; i < excess_.size(); ++i) {
      if (HasBound(i)) {
        ++picture_.values;
        sum += excess_[i];
        largest = std::max(largest, std::fabs(excess_[i]));
      } else {
        ++(excess_[i] == 0 ? picture_.exact : picture_.outside);
      }
    }
    picture_.histogram.assign(ErrorPicture::kBins, 0);
    if (picture_.values == 0) return;
    constexpr double kFurthest = 8;  // where twice the threshold of "wrong" lies, and all that is further is one bin
    picture_.reach = std::min(largest, kFurthest);
    picture_.mean = 8 * sum / static_cast<double>(picture_.values);
    for (size_t i = 0; i < excess_.size(); ++i) {
      if (!HasBound(i)) continue;
      const double place = (excess_[i] / picture_.reach + 1) / 2 * ErrorPicture::kBins;
      ++picture_.histogram[static_cast<size_t>(std::clamp(place, 0.0, ErrorPicture::kBins - 1.0))];
    }
    Rank();
  }

  void Rank() {
    constexpr int64_t kSample = 65536;
    const int64_t stride = std::max<int64_t>(1, picture_.values / kSample);
    std::vector<double> sample;
    int64_t seen = 0;
    for (size_t i = 0; i < excess_.size(); ++i) {
      if (HasBound(i) && seen++ % stride == 0) sample.push_back(8 * excess_[i]);
    }
    std::sort(sample.begin(), sample.end());
    for (int i = 0; i < ErrorPicture::kQuantiles; ++i) {
      const double place = (i + 0.5) / ErrorPicture::kQuantiles * static_cast<double>(sample.size());
      picture_.quantiles.push_back(sample[std::min(static_cast<size_t>(place), sample.size() - 1)]);
    }
  }

  std::vector<int64_t> WorstChannels(int wanted) const {
    std::vector<double> largest(static_cast<size_t>(positions_.channels), 0);
    for (size_t i = 0; i < excess_.size(); ++i) {
      double& of_channel = largest[static_cast<size_t>(positions_.ChannelOf(static_cast<int64_t>(i)))];
      of_channel = std::max(of_channel, std::fabs(excess_[i]));
    }
    std::vector<int64_t> channels(largest.size());
    std::iota(channels.begin(), channels.end(), 0);
    const auto worse = [&](int64_t a, int64_t b) {
      return largest[static_cast<size_t>(a)] > largest[static_cast<size_t>(b)];
    };
    std::stable_sort(channels.begin(), channels.end(), worse);
    channels.resize(std::min(channels.size(), static_cast<size_t>(wanted)));
    return channels;
  }

  void Map(int64_t channel) {
    const auto cells = static_cast<size_t>(picture_.rows * picture_.columns);
    std::vector<int64_t> worst(cells, -1);
    for (size_t i = 0; i < excess_.size(); ++i) {
      const auto element = static_cast<int64_t>(i);
      if (channel >= 0 && positions_.ChannelOf(element) != channel) continue;
      const int64_t row = positions_.RowOf(element) * picture_.rows / positions_.height;
      const int64_t column = positions_.ColumnOf(element) * picture_.columns / positions_.width;
      int64_t& cell = worst[static_cast<size_t>(row * picture_.columns + column)];
      if (cell < 0 || std::fabs(excess_[i]) > std::fabs(excess_[static_cast<size_t>(cell)])) cell = element;
    }
    ErrorMap map;
    map.channel = channel;
    for (const int64_t element : worst) {
      map.excess.push_back(element < 0 ? 0 : std::fabs(excess_[static_cast<size_t>(element)]));
      map.device.push_back(element < 0 ? 0 : input_.device.ValueAt(element));
      map.reference.push_back(element < 0 ? 0 : input_.reference.ValueAt(element));
    }
    picture_.maps.push_back(std::move(map));
  }

  const JudgeInput& input_;
  const Positions positions_;
  std::vector<double> excess_;
  ErrorPicture picture_;
};

}  // namespace

ErrorPicture DrawErrors(const JudgeInput& input, int cells, int channels) {
  return Drawing(input, std::max(cells, 1)).Draw(channels);
}

}  // namespace plumb
