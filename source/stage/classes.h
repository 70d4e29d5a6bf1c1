// SPDX-License-Identifier: Apache-2.0
// Class numbers, the likeliest first: where two lists differ, by how much the scores of both classes do.
#ifndef PLUMB_STAGE_CLASSES_H_
#define PLUMB_STAGE_CLASSES_H_

#include <optional>
#include <string>

#include "plumb/tensor.h"

namespace plumb {

struct ClassDifference {
  bool near_ties = false;  // wherever they differ the scores are the same by 1e-4 of the largest
  std::string cause;       // "each number is 1 more: ..."; or ""
  std::string text;        // "rank 1: class 751 and 867, whose scores differ by 0.25 in the original"
};
// `scores`: of the original, one per class; empty: not known. Nothing: they are no lists of numbers of one length, or
// the same.
std::optional<ClassDifference> CompareClasses(const Tensor& original, const Tensor& port, const Tensor& scores);

}  // namespace plumb

#endif  // PLUMB_STAGE_CLASSES_H_
