// SPDX-License-Identifier: Apache-2.0
// Which elements of the input belong to each element of a reduction's output.
#ifndef PLUMB_REFERENCE_REDUCE_TERMS_H_
#define PLUMB_REFERENCE_REDUCE_TERMS_H_

#include <vector>

#include "op/reduce.h"

namespace plumb {

class ReduceTerms {
 public:
  static Result<ReduceTerms> Of(const Layer& layer, const Shape& input) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedDims(ParamOf<ReduceParam>(layer), input.rank()));
    return ReduceTerms(Offsets(input, reduced, false), Offsets(input, reduced, true));
  }

  int64_t outputs() const { return static_cast<int64_t>(bases_.size()); }
  int64_t terms() const { return static_cast<int64_t>(terms_.size()); }
  // f(index into the input) for each term of that output, in index order.
  template <class F>
  void ForEach(int64_t output, F f) const {
    const int64_t base = bases_[static_cast<size_t>(output)];
    for (const int64_t offset : terms_) f(base + offset);
  }

 private:
  ReduceTerms(std::vector<int64_t> bases, std::vector<int64_t> terms)
      : bases_(std::move(bases)), terms_(std::move(terms)) {}

  // Offsets of all index combinations of the dims with reduced[d] == which.
  static std::vector<int64_t> Offsets(const Shape& input, const std::vector<bool>& reduced, bool which) {
    std::vector<int64_t> offsets = {0};
    for (int d = 0; d < input.rank(); ++d) {
      if (reduced[static_cast<size_t>(d)] != which) continue;
      const int64_t stride = input.CountFrom(d + 1);
      std::vector<int64_t> next;
      next.reserve(offsets.size() * static_cast<size_t>(input[d]));
      for (const int64_t offset : offsets) {
        for (int64_t i = 0; i < input[d]; ++i) next.push_back(offset + i * stride);
      }
      offsets = std::move(next);
    }
    return offsets;
  }

  std::vector<int64_t> bases_, terms_;
};

}  // namespace plumb

#endif  // PLUMB_REFERENCE_REDUCE_TERMS_H_
