// WinogradForm: how a kernel says that it computed a 3x3 convolution by Winograd's algorithm (Lavin and Gray,
// arXiv:1509.09308), which rounds more than direct sums do. The checker judges such a layer by the bound of exactly
// this form (doc/check.md, "The rule").
#ifndef PLUMB_WINOGRAD_H_
#define PLUMB_WINOGRAD_H_

#include <string>
#include <vector>

namespace plumb {

// F(m x m, 3 x 3): m x m outputs at a time from tiles of (m + 2) x (m + 2) inputs.
struct WinogradForm {
  int m = 0;                   // 0: direct sums
  std::vector<double> points;  // the m + 1 finite interpolation points; infinity is the last one
  bool used() const { return m > 0; }
  // "winograd F(4x4,3x3) points 0 1 -1 2 -2"; "" when it is not used.
  std::string Name() const;
};

}  // namespace plumb

#endif  // PLUMB_WINOGRAD_H_
