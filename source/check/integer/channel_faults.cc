// SPDX-License-Identifier: Apache-2.0
// Faults of some channels alone: not written, in each other's places, with another scale.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "check/core/axis_words.h"
#include "check/integer/integer_faults.h"

namespace plumb {
namespace {

// An output whose integers differ in some entries of an axis and are right in the others.
class Channels {
 public:
  Channels(const Shape& shape, int axis, const std::vector<int64_t>& right, const std::vector<int64_t>& device)
      : right_(right), device_(device), count_(shape[axis]), inner_(shape.CountFrom(axis + 1)) {
    std::vector<bool> differs(static_cast<size_t>(count_));
    for (size_t i = 0; i < right.size(); ++i) {
      if (right[i] != device[i]) differs[static_cast<size_t>(ChannelOf(i))] = true;
    }
    for (int64_t c = 0; c < count_; ++c) {
      if (differs[static_cast<size_t>(c)]) wrong_.push_back(c);
    }
    if (!wrong_.empty()) words_ = PlaceWords(axis, shape.rank(), wrong_.front(), wrong_.back());
  }

  // All of them or most tell of no channel; those between two that are wrong are.
  bool AreFew() const {
    const auto wrong = static_cast<int64_t>(wrong_.size());
    return wrong > 0 && 2 * wrong <= count_ && wrong_.back() - wrong_.front() < wrong;
  }

  std::string Name(int64_t zero) const {
    const std::string same = NameSame(zero);
    if (!same.empty()) return same;
    if (const std::string moved = NameMoved(); !moved.empty()) return moved;
    for (const double factor : {2.0, 0.5, 4.0, 0.25}) {
      if (!IsScaled(factor, zero)) continue;
      return fmt::format("with {} times the scale of {}; the graph says the scale", factor, words_);
    }
    return "";
  }

 private:
  int64_t ChannelOf(size_t i) const { return static_cast<int64_t>(i) / inner_ % count_; }
  bool IsWrong(size_t i) const { return std::binary_search(wrong_.begin(), wrong_.end(), ChannelOf(i)); }

  template <class F>
  bool Holds(F is) const {
    for (size_t i = 0; i < right_.size(); ++i) {
      if (IsWrong(i) && !is(i)) return false;
    }
    return true;
  }

  // One integer, which is not the right one's, either.
  std::string NameSame(int64_t zero) const {
    std::optional<int64_t> all, of_right;
    bool varies = false;
    const bool same = Holds([&](size_t i) {
      if (!all.has_value()) all = device_[i], of_right = right_[i];
      varies = varies || right_[i] != *of_right;
      return device_[i] == *all;
    });
    if (!same || !varies) return "";
    return fmt::format("with {} in {}{}; the graph says others", *all, words_, *all == zero ? ", the zero point" : "");
  }

  // Each is another's.
  std::string NameMoved() const {
    if (wrong_.size() < 2) return "";
    std::vector<int64_t> from;
    for (const int64_t to : wrong_) {
      const auto source = std::find_if(wrong_.begin(), wrong_.end(), [&](int64_t c) {
        return c != to && IsCopy(c, to) && std::find(from.begin(), from.end(), c) == from.end();
      });
      if (source == wrong_.end()) return "";
      from.push_back(*source);
    }
    const bool reversed = std::is_sorted(from.rbegin(), from.rend());
    return fmt::format("with {} {}; the graph says in order", words_,
                       wrong_.size() == 2 ? "in each other's places"
                       : reversed         ? "in reverse"
                                          : "in another order");
  }

  bool IsCopy(int64_t from, int64_t to) const {
    for (size_t i = 0; i < right_.size(); ++i) {
      if (ChannelOf(i) == to &&
          device_[i] != right_[static_cast<size_t>(static_cast<int64_t>(i) + (from - to) * inner_)])
        return false;
    }
    return true;
  }

  // Within the rounding of either, or at a limit: the largest or smallest integer of the output.
  bool IsScaled(double factor, int64_t zero) const {
    const auto [low, high] = std::minmax_element(device_.begin(), device_.end());
    constexpr size_t kFewest = 8;  // that are moved, and within the limits
    size_t moved = 0;
    const bool holds = Holds([&](size_t i) {
      if (device_[i] == *low || device_[i] == *high || right_[i] == *low || right_[i] == *high) return true;
      const double from = static_cast<double>(right_[i] - zero), to = static_cast<double>(device_[i] - zero);
      moved += std::fabs(to - from) > 1 ? 1 : 0;
      return std::fabs(to - factor * from) <= std::max(factor, 1.0);
    });
    return holds && moved >= kFewest;
  }

  const std::vector<int64_t>&right_, &device_;
  const int64_t count_, inner_;
  std::vector<int64_t> wrong_;
  std::string words_;
};

}  // namespace

std::string NameChannels(const Shape& shape, const std::vector<int64_t>& right, int64_t zero,
                         const std::vector<int64_t>& device) {
  if (right.size() != device.size() || shape.rank() < 2) return "";
  for (const int axis : {1, shape.rank() - 1}) {
    const Channels channels(shape, axis, right, device);
    const std::string words = channels.AreFew() ? channels.Name(zero) : "";
    if (!words.empty()) return words;
  }
  return "";
}

}  // namespace plumb
