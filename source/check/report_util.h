// What the report writers share.
#ifndef PLUMB_CHECK_REPORT_UTIL_H_
#define PLUMB_CHECK_REPORT_UTIL_H_

#include <string>
#include <vector>

#include "plumb/report.h"

namespace plumb {

// "Convolution+ReLU": the members' types in order.
std::string TypesOf(const StepInfo& step);
// "[0,3,5,7]" of a flat index.
std::string Coordinates(int64_t index, const Shape& shape);

// [N], [1,N], [1,N,1,1] with N >= 5: what people take the top-5 of.
bool IsScoreVector(const Shape& shape);
// Indices of the largest values, largest first, ties by index, NaN last.
std::vector<int64_t> TopIndices(const Tensor& tensor, int count);

struct Range {
  double min = 0, max = 0, mean = 0;
};
Range RangeOf(const Tensor& tensor);

}  // namespace plumb

#endif  // PLUMB_CHECK_REPORT_UTIL_H_
